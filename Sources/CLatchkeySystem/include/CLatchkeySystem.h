// System calls that Swift's import of the C library lacks, or has only as macros.
#ifndef LATCHKEY_CSYSTEM_H
#define LATCHKEY_CSYSTEM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/// Accepts a connection as a non-blocking, close-on-exec descriptor; -1 and errno as accept(2).
int csystem_accept(int listener, struct sockaddr *address, socklen_t *length);

/// The bytes in a TCP socket's send queue that the peer has not acknowledged, 0 once the connection is over; -1 and
/// errno as ioctl(2).
int csystem_unsent(int socket);

extern _Thread_local void *csystem_loop_of_thread;

/// The event loop that the calling thread runs, or NULL.
static inline void *csystem_current_loop(void) { return csystem_loop_of_thread; }
static inline void csystem_set_current_loop(void *loop) { csystem_loop_of_thread = loop; }

/// Names the calling thread; the system keeps 15 bytes.
void csystem_name_thread(const char *name);

/// Limits the heaps of the C library's allocator and the size of the blocks in them, and sets how many free bytes at
/// the end of a heap are kept.
void csystem_limit_heaps(int count, int largest, int kept);

/// Lets core dumps and debuggers of the same user read the process's memory, or not.
/// - Returns: 0, or an errno.
int csystem_allow_dumps(int isAllowed);

/// Opens a file for reading, close-on-exec and non-blocking, by a path that must end below a folder: neither `..` nor a
/// symbolic link leads out of it. Without kernel support for that, a path with any symbolic link is refused.
/// Returns a descriptor, or -1 and errno.
int csystem_open_beneath(int folder, const char *path);

/// As csystem_open_beneath; a path with any symbolic link is refused.
int csystem_open_without_links(int folder, const char *path);

/// Opens a folder to look for files below it; -1 and errno as open(2).
int csystem_open_folder(const char *path);

#endif
