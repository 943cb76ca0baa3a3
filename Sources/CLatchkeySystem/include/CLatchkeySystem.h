// System calls that Swift's view of the C library leaves out, or shows only as macros.
#ifndef LATCHKEY_CSYSTEM_H
#define LATCHKEY_CSYSTEM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#if defined(__linux__)
#include <sys/epoll.h>
#endif

/// Accepts a connection as a non-blocking, close-on-exec descriptor; -1 and errno as accept(2).
int csystem_accept(int listener, struct sockaddr *address, socklen_t *length);

/// Has the C library's allocator keep no more than so many heaps, and in them no blocks of so many bytes or more; does
/// nothing where it has no such limits.
void csystem_limit_heaps(int count, int largest);

/// Opens a file for reading, close-on-exec and without waiting, by a path that has to end below a folder: neither `..`
/// nor a symbolic link leads out of it. Where the system cannot see to that, a path with any symbolic link is refused.
/// Returns a descriptor, or -1 and errno.
int csystem_open_beneath(int folder, const char *path);

/// Opens a folder to look for files below it; -1 and errno as open(2).
int csystem_open_folder(const char *path);

/// Fills a buffer from the system's cryptographic random source; 0, or -1 and errno.
int csystem_random(void *buffer, size_t count);

#endif
