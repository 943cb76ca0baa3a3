#include "CLatchkeySQLite.h"

void csqlite_forgo_memory_statistics(void) {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

void csqlite_keep_temporary_files_in(const char *folder) {
    char *none = 0;
    char *copy = sqlite3_mprintf("%s", folder);
    if (!__atomic_compare_exchange_n(&sqlite3_temp_directory, &none, copy, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        sqlite3_free(copy);
}

void csqlite_refuse_double_quoted_texts(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
}

int csqlite_sync_database(sqlite3 *connection) {
    sqlite3_file *file = 0;
    int result = sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    return result == SQLITE_OK ? file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) : result;
}

void csqlite_keep_log_at_close(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
