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
