// libcurl for the Fetch room. Its variadic functions get one typed bridge per argument kind.
#pragma once

#include <curl/curl.h>
