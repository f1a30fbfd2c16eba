// Bridges to the C library's variadic functions, which Swift cannot call.
#ifndef CPROCESS_SHIM_H
#define CPROCESS_SHIM_H

#ifdef __linux__
#include <sys/prctl.h>
#endif

// No core file, and no other process of the same user may read this one's memory
// (PR_SET_DUMPABLE, prctl(2)). Zero, or -1 where the kernel refuses.
static inline int cprocess_forbid_dumps(void) {
#ifdef __linux__
    return prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L);
#else
    return 0;
#endif
}

#endif
