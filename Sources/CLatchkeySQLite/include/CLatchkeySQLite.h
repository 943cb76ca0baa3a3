// SQLite's functions, and its settings, files and results as far as Swift cannot reach them.
#ifndef LATCHKEY_CSQLITE_H
#define LATCHKEY_CSQLITE_H

#include <sqlite3.h>

// Extended results, which are macros that Swift does not see: https://www.sqlite.org/rescode.html
static const int csqlite_readonly_rollback = SQLITE_READONLY_ROLLBACK;
static const int csqlite_ioerr_read = SQLITE_IOERR_READ;
static const int csqlite_ioerr_short_read = SQLITE_IOERR_SHORT_READ;
static const int csqlite_ioerr_lock = SQLITE_IOERR_LOCK;
static const int csqlite_ioerr_nomem = SQLITE_IOERR_NOMEM;
static const int csqlite_ioerr_blocked = SQLITE_IOERR_BLOCKED;
static const int csqlite_ioerr_data = SQLITE_IOERR_DATA;
static const int csqlite_ioerr_corruptfs = SQLITE_IOERR_CORRUPTFS;

/// Turns off SQLite's statistics of its memory, which take a process-wide lock for each allocation. Has no effect once
/// a database has been opened in this process.
void csqlite_forgo_memory_statistics(void);

/// Makes a connection refuse texts in double quotes: a mistyped name in SQL would otherwise be a text without a word.
void csqlite_refuse_double_quoted_texts(sqlite3 *connection);

/// Makes a connection write the frames of a commit to its write-ahead log with one system call instead of two for each
/// page: adjacent writes are collected, and written before the log is synced, read, measured or truncated. A
/// transaction that is rolled back discards them when it releases the write lock.
///
/// The connection must be in WAL mode with `synchronous` at FULL or higher, and stay so: then each commit syncs the log
/// before it publishes the frames to other connections. A failure of the collected write is the failure of that sync,
/// and so of the commit. The file gets the same bytes as without it before each sync, so nothing changes for a crash or
/// a loss of power.
///
/// Replaces the methods of the open log and of the database file, and is no VFS: a log is opened before `synchronous`
/// is set, and not every connection of the process shall collect writes.
/// - Parameter connection: An open connection.
/// - Returns: 1 if the connection does so from now on; 0 if it has no log or there is no memory, and then it writes as
///   before.
int csqlite_coalesce_log_writes(sqlite3 *connection);

#endif
