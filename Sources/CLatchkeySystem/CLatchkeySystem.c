#define _GNU_SOURCE
#include "CLatchkeySystem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <link.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#if __has_include(<linux/openat2.h>) && defined(SYS_openat2)
#include <linux/openat2.h>
#define HAS_OPENAT2 1
#endif
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

#if defined(__linux__)
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
#endif

_Thread_local void *csystem_loop_of_thread;

void csystem_name_thread(const char *name) {
#if defined(__linux__)
    prctl(PR_SET_NAME, name);
#else
    (void)name;
#endif
}

int csystem_allow_dumps(int isAllowed) {
#if defined(__linux__)
    return prctl(PR_SET_DUMPABLE, isAllowed ? 1 : 0, 0, 0, 0) == 0 ? 0 : errno;
#else
    (void)isAllowed;
    return 0;
#endif
}

#if defined(O_PATH)
static const int folder_flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
#else
static const int folder_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
#endif

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
#if defined(M_ARENA_MAX) && defined(M_MMAP_THRESHOLD) && defined(M_TRIM_THRESHOLD)
    mallopt(M_ARENA_MAX, count);
    mallopt(M_MMAP_THRESHOLD, largest);
    mallopt(M_TRIM_THRESHOLD, kept);
#else
    (void)count;
    (void)largest;
    (void)kept;
#endif
}

#if defined(__linux__)
// Whether the dynamic linker has written into the object's code: with its pages, its relocations would be lost.
static int has_relocated_code(const struct dl_phdr_info *object) {
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        if (segment->p_type != PT_DYNAMIC) continue;
        const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(object->dlpi_addr + segment->p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++) {
            if (entry->d_tag == DT_TEXTREL) return 1;
            if (entry->d_tag == DT_FLAGS && entry->d_un.d_val & DF_TEXTREL) return 1;
        }
    }
    return 0;
}

// Other segments that may not be written, those of code and constants, have what their file has, so nothing is lost
// with their pages. A debugger does write into them: its breakpoints, which are in private copies of pages, are lost.
static int release_code(struct dl_phdr_info *object, size_t size, void *context) {
    (void)size;
    if (has_relocated_code(object)) return 0;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
        uintptr_t start = (object->dlpi_addr + segment->p_vaddr + page - 1) & ~(page - 1);
        uintptr_t end = (object->dlpi_addr + segment->p_vaddr + segment->p_memsz) & ~(page - 1);
        if (start < end) madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}
#endif

void csystem_release_code(void) {
#if defined(__linux__)
    dl_iterate_phdr(release_code, NULL);
#endif
}

struct thread_start {
    void (*body)(void *context);
    void *context;
    char name[16];
};

static void *run_thread(void *argument) {
    struct thread_start start = *(struct thread_start *)argument;
    free(argument);
    csystem_name_thread(start.name);
    start.body(start.context);
    return NULL;
}

int csystem_start_thread(const char *name, void (*body)(void *context), void *context) {
    struct thread_start *start = malloc(sizeof *start);
    if (!start) return ENOMEM;
    start->body = body;
    start->context = context;
    strncpy(start->name, name, sizeof start->name - 1);
    start->name[sizeof start->name - 1] = 0;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error) {
        free(start);
        return error;
    }
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    // A thread inherits the mask of its creator. Synchronous faults stay unblocked: blocked, they would end the process
    // without a backtrace.
    sigset_t blocked, previous;
    sigfillset(&blocked);
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT};
    for (size_t index = 0; index < sizeof faults / sizeof *faults; index++) sigdelset(&blocked, faults[index]);
    pthread_sigmask(SIG_SETMASK, &blocked, &previous);
    pthread_t thread;
    error = pthread_create(&thread, &attributes, run_thread, start);
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    pthread_attr_destroy(&attributes);
    if (error) free(start);
    return error;
}

#if defined(__linux__)
enum { random_block = 1024, random_most = 256 };

// Bytes drawn ahead for one thread; the last `left` of them were not handed out yet.
static _Thread_local struct {
    unsigned char bytes[random_block];
    size_t left;
    // The mark of the process that drew them.
    unsigned long process;
} drawn;

// Differs between a process and its children: they must not hand out the same bytes. 0 in a new child, because the
// kernel clears the page, also after _Fork and clone, and because fork runs a handler, also before Linux 4.14.
static _Atomic unsigned long *process_mark;
static _Atomic unsigned long last_mark;

static pthread_once_t children_once = PTHREAD_ONCE_INIT;
static int children_are_marked;

static void clear_mark(void) { *process_mark = 0; }

static void mark_children(void) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    process_mark = page;
#if defined(MADV_WIPEONFORK)
    madvise(page, size, MADV_WIPEONFORK);
#endif
    children_are_marked = pthread_atfork(NULL, NULL, clear_mark) == 0;
}

static unsigned long mark_of_process(void) {
    unsigned long mark = *process_mark;
    if (mark == 0) {
        // `last_mark` is a copy of the parent's, so this mark is new. Two threads that set different marks draw once
        // more than they need.
        mark = ++last_mark;
        *process_mark = mark;
    }
    return mark;
}

static int draw(unsigned char *next, size_t count) {
    while (count > 0) {
        ssize_t filled = getrandom(next, count, 0);
        if (filled < 0) {
            if (errno == EINTR) continue;
            return -1;
        }
        next += filled;
        count -= (size_t)filled;
    }
    return 0;
}

int csystem_random(void *buffer, size_t count) {
    pthread_once(&children_once, mark_children);
    if (count > random_most || !children_are_marked) return draw(buffer, count);
    unsigned long process = mark_of_process();
    if (drawn.process != process) drawn.left = 0;
    if (drawn.left < count) {
        drawn.left = 0;
        if (draw(drawn.bytes, random_block) != 0) return -1;
        drawn.left = random_block;
        drawn.process = process;
    }
    unsigned char *next = drawn.bytes + random_block - drawn.left;
    memcpy(buffer, next, count);
    explicit_bzero(next, count);
    drawn.left -= count;
    return 0;
}

const void *csystem_random_drawn(size_t *count, size_t *left) {
    *count = random_block;
    *left = drawn.left;
    return drawn.bytes;
}
#else
int csystem_random(void *buffer, size_t count) {
    arc4random_buf(buffer, count);
    return 0;
}
#endif
