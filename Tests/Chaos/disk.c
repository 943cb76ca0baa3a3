// A disk with faults, for programs that tests run: LD_PRELOAD replaces the C library's functions for files.
//
// It concerns the files of one folder (LATCHKEY_DISK_FOLDER). What they do is set in a page that is shared with the
// test (LATCHKEY_DISK_CONTROL, `struct control`), at any time. If LATCHKEY_DISK_TRACE names a file, each change and
// each sync is recorded there, so that a test can make the content that the disk would have after a loss of power.
//
//   clang -shared -fPIC -O1 -o disk.so disk.c
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// The kinds of files, as bits of `concerned`.
enum { KIND_LOG = 1, KIND_DATABASE = 2, KIND_FOLDER = 4, KIND_INDEX = 8, KIND_OTHER = 16 };

/// What the test sets and reads. Each field has eight bytes. Zero is a disk without faults.
struct control {
    /// How many events were recorded. An event with this number or a later one has not begun.
    _Atomic uint64_t events;
    /// The kinds of files that the faults concern.
    _Atomic uint64_t concerned;
    /// If not 0, writes, syncs or reads fail with this number of errno(3).
    _Atomic uint64_t write_error;
    _Atomic uint64_t sync_error;
    _Atomic uint64_t read_error;
    /// If 1, a sync succeeds without doing anything.
    _Atomic uint64_t skips_syncs;
    /// How long a sync takes, unless the test sets it to 0 meanwhile.
    _Atomic uint64_t sync_milliseconds;
    /// If 1, a write succeeds, and at most makes the file longer.
    _Atomic uint64_t skips_writes;
    /// If 1, files may grow by no more than `room` bytes, all together.
    _Atomic uint64_t is_limited;
    _Atomic int64_t room;
    /// How many calls failed, did nothing or were slow.
    _Atomic uint64_t faults;
};

/// The head of a recorded event. The path and `length` bytes of content follow it.
struct event {
    uint64_t number;
    uint64_t kind;
    /// The file's number (`st_ino`).
    uint64_t file;
    /// Where a write begins; the size after a truncation; the number of the event at which a sync began.
    uint64_t offset;
    uint64_t path_length;
    uint64_t length;
};

enum { MADE = 1, WRITTEN, TRUNCATED, SYNC_BEGAN, SYNCED, SYNC_FAILED, REMOVED, RENAMED, LINKED };

struct tracked {
    int kind;
    uint64_t file;
    char path[480];
};

enum { DESCRIPTORS = 4096 };

static struct control *control;
static char folder[400];
static size_t folder_length;
static int trace = -1;
static _Atomic(struct tracked *) tracked[DESCRIPTORS];
// Recorded events have the order of the calls.
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
    const char *named = getenv("LATCHKEY_DISK_FOLDER"), *page = getenv("LATCHKEY_DISK_CONTROL");
    if (!named || !page || strlen(named) >= sizeof folder) return;
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, page, O_RDWR | O_CLOEXEC, 0);
    if (descriptor < 0) return;
    void *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    syscall(SYS_close, descriptor);
    if (mapped == MAP_FAILED) return;
    const char *recorded = getenv("LATCHKEY_DISK_TRACE");
    if (recorded) {
        trace = (int)syscall(SYS_openat, AT_FDCWD, recorded, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    }
    strcpy(folder, named);
    folder_length = strlen(folder);
    control = mapped;
}

// Which files

static int ends_with(const char *text, const char *end) {
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/// 0 if the path is not one of the folder.
static int kind_of(const char *path) {
    if (!control || !path || strncmp(path, folder, folder_length) != 0) return 0;
    if (path[folder_length] == 0) return KIND_FOLDER;
    if (path[folder_length] != '/') return 0;
    if (ends_with(path, "-wal")) return KIND_LOG;
    if (ends_with(path, "-shm")) return KIND_INDEX;
    return ends_with(path, ".db") ? KIND_DATABASE : KIND_OTHER;
}

static struct tracked *of(int descriptor) {
    return descriptor >= 0 && descriptor < DESCRIPTORS ? atomic_load(&tracked[descriptor]) : NULL;
}

/// NULL unless the kind's faults are on.
static struct control *faults_of(int kind) {
    return control && (atomic_load(&control->concerned) & (uint64_t)kind) ? control : NULL;
}

static int failing(_Atomic uint64_t *error) {
    int number = (int)atomic_load(error);
    if (number) {
        atomic_fetch_add(&control->faults, 1);
        errno = number;
    }
    return number != 0;
}

// The trace. The caller has the lock `order`.

/// Returns the event's number.
static uint64_t record(uint64_t kind, const char *path, uint64_t file, uint64_t offset, const void *content,
                       size_t length) {
    if (trace < 0) return 0;
    int saved = errno;
    struct event event = {atomic_fetch_add(&control->events, 1), kind, file, offset, strlen(path), length};
    struct iovec parts[] = {{&event, sizeof event}, {(void *)path, event.path_length}, {(void *)content, length}};
    // A partial write would be found by the reader, as a trace that ends within an event.
    (void)syscall(SYS_writev, trace, parts, 3);
    errno = saved;
    return event.number;
}

// The index of the log is made anew after a loss of power.
static int is_recorded(const struct tracked *file) { return trace >= 0 && file->kind != KIND_INDEX; }

// Opening and closing

static int open_file(int directory, const char *path, int flags, mode_t mode) {
    int kind = directory == AT_FDCWD || path[0] == '/' ? kind_of(path) : 0;
    if (!kind) return (int)syscall(SYS_openat, directory, path, flags, mode);
    pthread_mutex_lock(&order);
    struct stat status;
    int is_new = (flags & O_CREAT) && syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) != 0;
    struct control *faults = is_new ? faults_of(KIND_FOLDER) : NULL;
    int descriptor = -1;
    if (!faults || !failing(&faults->write_error)) {
        descriptor = (int)syscall(SYS_openat, directory, path, flags, mode);
    }
    struct tracked *made = descriptor >= 0 && descriptor < DESCRIPTORS ? malloc(sizeof *made) : NULL;
    if (made && strlen(path) < sizeof made->path && syscall(SYS_fstat, descriptor, &status) == 0) {
        made->kind = kind;
        made->file = status.st_ino;
        strcpy(made->path, path);
        atomic_store(&tracked[descriptor], made);
        if (is_recorded(made)) {
            if (is_new) record(MADE, path, made->file, 0, NULL, 0);
            if ((flags & O_TRUNC) && !is_new) record(TRUNCATED, path, made->file, 0, NULL, 0);
        }
    } else {
        free(made);
    }
    pthread_mutex_unlock(&order);
    return descriptor;
}

#define WITH_MODE(flags)                            \
    mode_t mode = 0;                                \
    if ((flags) & (O_CREAT | O_TMPFILE)) {          \
        va_list list;                               \
        va_start(list, flags);                      \
        mode = (mode_t)va_arg(list, unsigned int);  \
        va_end(list);                               \
    }

int open(const char *path, int flags, ...) {
    WITH_MODE(flags)
    return open_file(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    WITH_MODE(flags)
    return open_file(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...) {
    WITH_MODE(flags)
    return open_file(directory, path, flags, mode);
}

int openat64(int directory, const char *path, int flags, ...) {
    WITH_MODE(flags)
    return open_file(directory, path, flags, mode);
}

int close(int descriptor) {
    // The memory stays: another thread may be about to read it. Few files are opened.
    if (of(descriptor)) atomic_store(&tracked[descriptor], NULL);
    return (int)syscall(SYS_close, descriptor);
}

// Reading and writing

static ssize_t read_at(int descriptor, void *bytes, size_t count, off_t offset) {
    struct tracked *file = of(descriptor);
    struct control *faults = file ? faults_of(file->kind) : NULL;
    if (faults && failing(&faults->read_error)) return -1;
    return syscall(SYS_pread64, descriptor, bytes, count, offset);
}

ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
    return read_at(descriptor, bytes, count, offset);
}

ssize_t pread64(int descriptor, void *bytes, size_t count, off64_t offset) {
    return read_at(descriptor, bytes, count, offset);
}

ssize_t read(int descriptor, void *bytes, size_t count) {
    struct tracked *file = of(descriptor);
    struct control *faults = file ? faults_of(file->kind) : NULL;
    if (faults && failing(&faults->read_error)) return -1;
    return syscall(SYS_read, descriptor, bytes, count);
}

/// How many bytes of a write fit on the disk; -1 if none.
static ssize_t fitting(struct control *faults, int descriptor, size_t count, off_t offset) {
    struct stat status;
    if (!atomic_load(&faults->is_limited) || syscall(SYS_fstat, descriptor, &status) != 0) return (ssize_t)count;
    int64_t growth = (int64_t)offset + (int64_t)count - (int64_t)status.st_size;
    if (growth <= 0) return (ssize_t)count;
    int64_t missing = growth - atomic_load(&faults->room);
    if (missing <= 0) {
        atomic_fetch_sub(&faults->room, growth);
        return (ssize_t)count;
    }
    atomic_fetch_add(&faults->faults, 1);
    if (missing >= (int64_t)count) {
        errno = ENOSPC;
        return -1;
    }
    atomic_store(&faults->room, 0);
    return (ssize_t)count - (ssize_t)missing;
}

static ssize_t write_at(int descriptor, struct tracked *file, const void *bytes, size_t count, off_t offset) {
    struct control *faults = faults_of(file->kind);
    if (faults && failing(&faults->write_error)) return -1;
    pthread_mutex_lock(&order);
    ssize_t written = faults ? fitting(faults, descriptor, count, offset) : (ssize_t)count;
    if (written > 0 && faults && atomic_load(&faults->skips_writes)) {
        atomic_fetch_add(&faults->faults, 1);
        struct stat status;
        int64_t end = (int64_t)offset + written;
        if (syscall(SYS_fstat, descriptor, &status) == 0 && status.st_size < end) {
            syscall(SYS_ftruncate, descriptor, end);
        }
    } else if (written > 0) {
        written = syscall(SYS_pwrite64, descriptor, bytes, written, offset);
    }
    if (written > 0 && is_recorded(file)) {
        record(WRITTEN, file->path, file->file, (uint64_t)offset, bytes, (size_t)written);
    }
    pthread_mutex_unlock(&order);
    return written;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    struct tracked *file = of(descriptor);
    if (file) return write_at(descriptor, file, bytes, count, offset);
    return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    return pwrite(descriptor, bytes, count, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    struct tracked *file = of(descriptor);
    if (!file) return syscall(SYS_write, descriptor, bytes, count);
    off_t offset = syscall(SYS_lseek, descriptor, 0, SEEK_CUR);
    ssize_t written = write_at(descriptor, file, bytes, count, offset);
    if (written > 0) syscall(SYS_lseek, descriptor, offset + written, SEEK_SET);
    return written;
}

int ftruncate(int descriptor, off_t size) {
    struct tracked *file = of(descriptor);
    if (!file) return (int)syscall(SYS_ftruncate, descriptor, size);
    struct control *faults = faults_of(file->kind);
    if (faults && failing(&faults->write_error)) return -1;
    pthread_mutex_lock(&order);
    int result = (int)syscall(SYS_ftruncate, descriptor, size);
    if (result == 0 && is_recorded(file)) record(TRUNCATED, file->path, file->file, (uint64_t)size, NULL, 0);
    pthread_mutex_unlock(&order);
    return result;
}

int ftruncate64(int descriptor, off64_t size) { return ftruncate(descriptor, size); }

// Syncs

static int sync_file(int descriptor, long call) {
    struct tracked *file = of(descriptor);
    if (!file) return (int)syscall(call, descriptor);
    struct control *faults = faults_of(file->kind);
    if (faults && atomic_load(&faults->skips_syncs)) {
        atomic_fetch_add(&faults->faults, 1);
        return 0;
    }
    uint64_t began = 0;
    if (is_recorded(file)) {
        pthread_mutex_lock(&order);
        began = record(SYNC_BEGAN, file->path, file->file, 0, NULL, 0);
        pthread_mutex_unlock(&order);
    }
    // What was written stays in the page cache, as after a failed sync of Linux.
    int result = faults && failing(&faults->sync_error) ? -1 : (int)syscall(call, descriptor);
    int error = errno;
    if (is_recorded(file)) {
        pthread_mutex_lock(&order);
        record(result == 0 ? SYNCED : SYNC_FAILED, file->path, file->file, began, NULL, 0);
        pthread_mutex_unlock(&order);
    }
    uint64_t milliseconds = faults ? atomic_load(&faults->sync_milliseconds) : 0;
    if (milliseconds) {
        atomic_fetch_add(&faults->faults, 1);
        struct timespec pause = {0, 10 * 1000000};
        for (uint64_t slept = 0; slept < milliseconds && atomic_load(&faults->sync_milliseconds); slept += 10) {
            nanosleep(&pause, NULL);
        }
    }
    errno = error;
    return result;
}

int fsync(int descriptor) { return sync_file(descriptor, SYS_fsync); }

int fdatasync(int descriptor) { return sync_file(descriptor, SYS_fdatasync); }

// Names

static int change_names(uint64_t kind, const char *path, const char *other, long call) {
    int place = kind_of(path);
    if (!place) return other ? (int)syscall(call, path, other) : (int)syscall(call, path);
    struct control *faults = faults_of(KIND_FOLDER);
    if (faults && failing(&faults->write_error)) return -1;
    pthread_mutex_lock(&order);
    int result = other ? (int)syscall(call, path, other) : (int)syscall(call, path);
    if (result == 0 && trace >= 0 && place != KIND_INDEX) {
        record(kind, path, 0, 0, other ? other : "", other ? strlen(other) : 0);
    }
    pthread_mutex_unlock(&order);
    return result;
}

int unlink(const char *path) { return change_names(REMOVED, path, NULL, SYS_unlink); }

int rename(const char *path, const char *other) { return change_names(RENAMED, path, other, SYS_rename); }

int link(const char *path, const char *other) { return change_names(LINKED, path, other, SYS_link); }
