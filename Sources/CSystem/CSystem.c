#define _GNU_SOURCE
#include "CSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#if defined(__linux__)
#include <malloc.h>
#include <sys/random.h>
#endif

int csystem_accept(int listener, struct sockaddr *address, socklen_t *length) {
#if defined(__linux__)
    return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
#else
    int descriptor = accept(listener, address, length);
    if (descriptor >= 0) {
        fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
        fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    }
    return descriptor;
#endif
}

void csystem_limit_heaps(int count, int largest) {
#if defined(M_ARENA_MAX) && defined(M_MMAP_THRESHOLD)
    mallopt(M_ARENA_MAX, count);
    mallopt(M_MMAP_THRESHOLD, largest);
#else
    (void)count;
    (void)largest;
#endif
}

int csystem_random(void *buffer, size_t count) {
#if defined(__linux__)
    unsigned char *next = buffer;
    while (count > 0) {
        ssize_t filled = getrandom(next, count, 0);
        if (filled < 0) {
            if (errno == EINTR) continue;
            return -1;
        }
        next += filled;
        count -= (size_t)filled;
    }
#else
    arc4random_buf(buffer, count);
#endif
    return 0;
}
