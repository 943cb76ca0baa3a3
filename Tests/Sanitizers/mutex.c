// Tells ThreadSanitizer when a thread gets and gives up a Mutex of Swift that others wait for.
//
// The uncontended case is compiled into the program and is seen. The contended one is in Swift's library, which has no
// instrumentation, so that everything that a contended Mutex protects would be reported as a race. These functions take
// the place of the library's, and call them. (Synchronization/Mutex/LinuxImpl.swift in Swift's standard library)
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define METHOD __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *

void __tsan_acquire(void *address);
void __tsan_release(void *address);

METHOD void lock_slow(uint32_t thread, SELF mutex) __asm__(LOCK);
METHOD void unlock_slow(SELF mutex) __asm__(UNLOCK);

static METHOD void (*original_lock)(uint32_t thread, SELF mutex);
static METHOD void (*original_unlock)(SELF mutex);

__attribute__((constructor)) static void find_originals(void) {
    *(void **)&original_lock = dlsym(RTLD_NEXT, LOCK);
    *(void **)&original_unlock = dlsym(RTLD_NEXT, UNLOCK);
    // Another version of Swift: mend this file.
    if (original_lock == NULL || original_unlock == NULL) abort();
}

METHOD void lock_slow(uint32_t thread, SELF mutex) {
    original_lock(thread, mutex);
    __tsan_acquire(mutex);
}

METHOD void unlock_slow(SELF mutex) {
    __tsan_release(mutex);
    original_unlock(mutex);
}
