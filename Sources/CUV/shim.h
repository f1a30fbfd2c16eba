// libuv for the Reactor room.
#pragma once

#include <uv.h>

// A socket option call whose level and name are macros in some headers and enums in others.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
