// nghttp2 for the HTTP2Wire room.
#pragma once

#include <nghttp2/nghttp2.h>
