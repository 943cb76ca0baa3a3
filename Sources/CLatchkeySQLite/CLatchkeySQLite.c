#include "CLatchkeySQLite.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

void csqlite_forgo_memory_statistics(void) {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

// Some thirty pages: a commit of several sign-ins. A longer one takes a few writes.
enum { capacity = 128 * 1024 };

/// The methods of one log, with the writes that wait. The methods come first, so that a file's `pMethods` points here.
struct coalescer {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *original;
    /// Where in the file the waiting bytes belong.
    sqlite3_int64 start;
    int count;
    unsigned char bytes[capacity];
};

static struct coalescer *coalescer(sqlite3_file *file) {
    return (struct coalescer *)file->pMethods;
}

static int write_waiting(sqlite3_file *file) {
    struct coalescer *waiting = coalescer(file);
    if (waiting->count == 0) return SQLITE_OK;
    int count = waiting->count;
    // Also after a failure: SQLite rolls the transaction back, and writes these frames anew if it tries again.
    waiting->count = 0;
    return waiting->original->xWrite(file, waiting->bytes, count, waiting->start);
}

static int log_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    struct coalescer *waiting = coalescer(file);
    if (waiting->count > 0 && (offset != waiting->start + waiting->count || count > capacity - waiting->count)) {
        int result = write_waiting(file);
        if (result != SQLITE_OK) return result;
    }
    if (count > capacity) return waiting->original->xWrite(file, bytes, count, offset);
    if (waiting->count == 0) waiting->start = offset;
    memcpy(waiting->bytes + waiting->count, bytes, (size_t)count);
    waiting->count += count;
    return SQLITE_OK;
}

static int log_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    struct coalescer *waiting = coalescer(file);
    if (offset < waiting->start + waiting->count && waiting->start < offset + count) {
        int result = write_waiting(file);
        if (result != SQLITE_OK) return result;
    }
    return waiting->original->xRead(file, bytes, count, offset);
}

static int log_sync(sqlite3_file *file, int flags) {
    int result = write_waiting(file);
    return result == SQLITE_OK ? coalescer(file)->original->xSync(file, flags) : result;
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 size) {
    int result = write_waiting(file);
    return result == SQLITE_OK ? coalescer(file)->original->xTruncate(file, size) : result;
}

static int log_size(sqlite3_file *file, sqlite3_int64 *size) {
    int result = write_waiting(file);
    return result == SQLITE_OK ? coalescer(file)->original->xFileSize(file, size) : result;
}

static int log_control(sqlite3_file *file, int operation, void *argument) {
    int result = write_waiting(file);
    return result == SQLITE_OK ? coalescer(file)->original->xFileControl(file, operation, argument) : result;
}

static int log_close(sqlite3_file *file) {
    struct coalescer *waiting = coalescer(file);
    int written = write_waiting(file);
    file->pMethods = waiting->original;
    int closed = waiting->original->xClose(file);
    free(waiting);
    return written == SQLITE_OK ? closed : written;
}

int csqlite_coalesce_log_writes(void *connection) {
    sqlite3_file *log = NULL;
    if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK) return 0;
    if (!log || !log->pMethods || log->pMethods->xWrite == log_write) return 0;
    struct coalescer *made = malloc(sizeof *made);
    if (!made) return 0;
    made->original = log->pMethods;
    made->methods = *log->pMethods;
    made->methods.xClose = log_close;
    made->methods.xRead = log_read;
    made->methods.xWrite = log_write;
    made->methods.xTruncate = log_truncate;
    made->methods.xSync = log_sync;
    made->methods.xFileSize = log_size;
    made->methods.xFileControl = log_control;
    made->start = 0;
    made->count = 0;
    log->pMethods = &made->methods;
    return 1;
}
