// For runs with the address sanitizer, beside its runtime: leaks are looked for when exit(3) runs what was
// registered with it, and the proxy leaves with _exit(2), so that nobody would look.
#include <sys/syscall.h>
#include <unistd.h>

void __lsan_do_leak_check(void);

// From 128 up it is a second signal's handler that leaves, which may not do anything else.
_Noreturn void _exit(int status) {
    if (status < 128) __lsan_do_leak_check();
    for (;;) syscall(SYS_exit_group, status);
}
