#define _GNU_SOURCE
#include "CLatchkeySystem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<linux/openat2.h>) && defined(SYS_openat2)
#include <linux/openat2.h>
#define HAS_OPENAT2 1
#endif

int csystem_accept(int listener, struct sockaddr *address, socklen_t *length) {
    return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int csystem_unsent(int socket) {
    int count = 0;
    if (ioctl(socket, SIOCOUTQ, &count) != 0) { return -1; }
    if (count == 0) { return 0; }
    // After a reset or a timeout the system has dropped the bytes, and still counts them.
    struct tcp_info info;
    socklen_t length = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) { return count; }
    return info.tcpi_state == TCP_CLOSE ? 0 : count;
}

_Thread_local void *csystem_loop_of_thread;

void csystem_name_thread(const char *name) { prctl(PR_SET_NAME, name); }

int csystem_allow_dumps(int isAllowed) {
    return prctl(PR_SET_DUMPABLE, isAllowed ? 1 : 0, 0, 0, 0) == 0 ? 0 : errno;
}

static const int folder_flags = O_PATH | O_DIRECTORY | O_CLOEXEC;

// Without O_NONBLOCK opening a pipe would wait for a writer.
static const int file_flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

int csystem_open_folder(const char *path) { return open(path, folder_flags); }

// Opens folder after folder, without symbolic links and without `..`.
int csystem_open_without_links(int folder, const char *path) {
    char name[NAME_MAX + 1];
    int at = folder;
    for (;;) {
        size_t length = strcspn(path, "/");
        int isLast = path[length] == '\0';
        int opened = -1;
        if (length == 0 || length > NAME_MAX) {
            errno = ENOENT;
        } else {
            memcpy(name, path, length);
            name[length] = '\0';
            if (strcmp(name, "..") == 0) {
                errno = ENOENT;
            } else {
                opened = openat(at, name, (isLast ? file_flags : folder_flags) | O_NOFOLLOW);
            }
        }
        int number = errno;
        if (at != folder) close(at);
        errno = number;
        if (opened < 0 || isLast) return opened;
        at = opened;
        path += length + 1;
    }
}

int csystem_open_beneath(int folder, const char *path) {
#if defined(HAS_OPENAT2)
    struct open_how how = {.flags = (uint64_t)file_flags, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    // A concurrent rename: the kernel could not be sure, so try again.
    for (int tries = 0; tries < 8; tries++) {
        long opened = syscall(SYS_openat2, folder, path, &how, sizeof how);
        if (opened >= 0) return (int)opened;
        if (errno == ENOSYS || errno == EPERM) return csystem_open_without_links(folder, path);
        if (errno != EAGAIN) return -1;
    }
    return -1;
#else
    return csystem_open_without_links(folder, path);
#endif
}

void csystem_limit_heaps(int count, int largest, int kept) {
    mallopt(M_ARENA_MAX, count);
    mallopt(M_MMAP_THRESHOLD, largest);
    mallopt(M_TRIM_THRESHOLD, kept);
}
