#include "CLatchkeySQLite.h"

#include <stdlib.h>
#include <string.h>

void csqlite_forgo_memory_statistics(void) {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

void csqlite_refuse_double_quoted_texts(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
}

// Some thirty pages: a commit of several sign-ins. A longer one takes a few writes.
enum { capacity = 128 * 1024 };

/// The methods of one database file. Methods come first, so that a file's `pMethods` points here.
struct lock_watcher {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *original;
    /// NULL once the log is closed.
    struct coalescer *log;
};

/// The methods of one log, with the writes that wait.
struct coalescer {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *original;
    struct lock_watcher *watcher;
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
    struct coalescer *closed = coalescer(file);
    if (closed->watcher) closed->watcher->log = NULL;
    file->pMethods = closed->original;
    free(closed);
    return file->pMethods->xClose(file);
}

static struct lock_watcher *lock_watcher(sqlite3_file *database) {
    return (struct lock_watcher *)database->pMethods;
}

// The number of the lock that a transaction holds while it writes the log ("WAL_WRITE_LOCK" in SQLite's file format).
enum { write_lock = 0 };

static int database_lock(sqlite3_file *database, int first, int count, int flags) {
    struct lock_watcher *watcher = lock_watcher(database);
    // A commit has synced the log before. What still waits is of a transaction that was rolled back, after it had more
    // changed pages than the cache holds. The next transaction, perhaps of another process, writes to the same place.
    int releases = SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE;
    if (watcher->log && first == write_lock && (flags & releases) == releases) watcher->log->count = 0;
    return watcher->original->xShmLock(database, first, count, flags);
}

static int database_close(sqlite3_file *database) {
    struct lock_watcher *watcher = lock_watcher(database);
    if (watcher->log) watcher->log->watcher = NULL;
    database->pMethods = watcher->original;
    free(watcher);
    return database->pMethods->xClose(database);
}

/// NULL if the file has no locks for a log, or there is no memory.
static struct lock_watcher *watch_locks(sqlite3_file *database) {
    const sqlite3_io_methods *original = database->pMethods;
    if (!original || original->iVersion < 2 || !original->xShmLock) return NULL;
    if (original->xShmLock == database_lock) return lock_watcher(database);
    // Otherwise a commit has frames behind its sync.
    if (!(original->xDeviceCharacteristics(database) & SQLITE_IOCAP_POWERSAFE_OVERWRITE)) return NULL;
    struct lock_watcher *made = malloc(sizeof *made);
    if (!made) return NULL;
    made->original = original;
    made->methods = *original;
    made->methods.xShmLock = database_lock;
    made->methods.xClose = database_close;
    made->log = NULL;
    database->pMethods = &made->methods;
    return made;
}

int csqlite_coalesce_log_writes(sqlite3 *connection) {
    sqlite3_file *log = NULL;
    if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK) return 0;
    if (!log || !log->pMethods || log->pMethods->xWrite == log_write) return 0;
    sqlite3_file *database = NULL;
    if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &database) != SQLITE_OK) return 0;
    struct lock_watcher *watcher = database ? watch_locks(database) : NULL;
    struct coalescer *made = watcher ? malloc(sizeof *made) : NULL;
    if (!made) return 0;
    made->watcher = watcher;
    watcher->log = made;
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
