// Bridges to what Swift cannot reach in the C library: variadic functions and mutable globals.
#ifndef CPROCESS_SHIM_H
#define CPROCESS_SHIM_H

#ifdef __linux__
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#endif

extern char **environ;

// The process's environment, NAME=value strings behind one another and a null (environ(7)). Nothing in
// this program changes it.
static inline char *const *cprocess_environment(void) {
    return environ;
}

// The cores that this process may run on, which a container may have narrowed (get_nprocs(3)).
static inline int cprocess_core_count(void) {
#ifdef __linux__
    return get_nprocs();
#else
    return 1;
#endif
}

// Sets how many files another process of ours may open (RLIMIT_NOFILE, prlimit(2)); its hard limit stays. Zero,
// or -1 where the kernel refuses.
static inline int cprocess_limit_files(int process, unsigned long long soft) {
#ifdef __linux__
    struct { unsigned long long soft, hard; } limit;
    if (syscall(SYS_prlimit64, process, RLIMIT_NOFILE, (void *)0, &limit) != 0) return -1;
    limit.soft = soft < limit.hard ? soft : limit.hard;
    return (int)syscall(SYS_prlimit64, process, RLIMIT_NOFILE, &limit, (void *)0);
#else
    return 0;
#endif
}

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
