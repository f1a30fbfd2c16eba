// For runs with the thread sanitizer, beside its runtime: a constant that newer C libraries lack, and the slow path of
// Swift's Mutex, which lies in a library that nobody instrumented, so that the sanitizer would not see it lock.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

unsigned struct_termio_sz __asm__("_ZN11__sanitizer16struct_termio_szE") = 18;
void __tsan_acquire(void *);
void __tsan_release(void *);

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define TRY "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"

SWIFT void lockSlow(uint32_t current, SELF) __asm__(LOCK);
SWIFT void lockSlow(uint32_t current, SELF) {
    static SWIFT void (*real)(uint32_t, SELF);
    if (!real) real = dlsym(RTLD_NEXT, LOCK);
    real(current, self);
    __tsan_acquire(self);
}

SWIFT bool tryLockSlow(SELF) __asm__(TRY);
SWIFT bool tryLockSlow(SELF) {
    static SWIFT bool (*real)(SELF);
    if (!real) real = dlsym(RTLD_NEXT, TRY);
    bool locked = real(self);
    if (locked) __tsan_acquire(self);
    return locked;
}

SWIFT void unlockSlow(SELF) __asm__(UNLOCK);
SWIFT void unlockSlow(SELF) {
    static SWIFT void (*real)(SELF);
    if (!real) real = dlsym(RTLD_NEXT, UNLOCK);
    __tsan_release(self);
    real(self);
}
