// libuv for the Reactor room.
#pragma once

#include <uv.h>
