// libyaml for the Configuration room.
#pragma once

#include <yaml.h>
