// SQLite's functions, and its settings and results as far as Swift cannot reach them.
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

/// Has SQLite make its temporary files in a folder, if that can be written to, for all databases of this process. The
/// first call counts. By itself SQLite uses /var/tmp, /tmp or the working directory, and on a read-only system none.
void csqlite_keep_temporary_files_in(const char *folder);

/// Makes a connection refuse texts in double quotes: a mistyped name in SQL would otherwise be a text without a word.
void csqlite_refuse_double_quoted_texts(sqlite3 *connection);

#endif
