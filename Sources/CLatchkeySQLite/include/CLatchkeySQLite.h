// SQLite's settings and files, as far as Swift cannot reach them.
#ifndef LATCHKEY_CSQLITE_H
#define LATCHKEY_CSQLITE_H

/// Turns off SQLite's statistics of its memory, which take a process-wide lock for each allocation. Has no effect once
/// a database has been opened in this process.
void csqlite_forgo_memory_statistics(void);

/// Makes a connection write the frames of a commit to its write-ahead log with one system call instead of two for each
/// page: adjacent writes are collected, and written before the log is synced, read, measured or truncated. A
/// transaction that is rolled back discards them when it releases the write lock.
///
/// The connection must be in WAL mode with `synchronous` at FULL or higher, and stay so: then each commit syncs the log
/// before it publishes the frames to other connections. A failure of the collected write is the failure of that sync,
/// and so of the commit. The file gets the same bytes as without it before each sync, so nothing changes for a crash or
/// a loss of power.
///
/// Replaces the methods of the open log and of the database file, and is no VFS: GRDB opens databases with the default
/// VFS of the process, which other code in it uses too, and a log is opened before `synchronous` is set.
/// - Parameter connection: An open `sqlite3`.
/// - Returns: 1 if the connection does so from now on; 0 if it has no log or there is no memory, and then it writes as
///   before.
int csqlite_coalesce_log_writes(void *connection);

#endif
