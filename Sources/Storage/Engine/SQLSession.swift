package import GRDB
import StorageModel

/// A connection in the middle of callers' work, as the tables' code sees it: the same code runs on every engine.
///
/// The SQL is written in what the engines have in common: `ON CONFLICT` and `RETURNING`, `NULLS FIRST` where NULLs are
/// ordered, `IS NOT DISTINCT FROM` where they are compared, a name for every subquery that is selected from.
package enum SQLSession {
    case sqlite(Database)
    case postgres(PostgresConnection)

    /// Where the engines have no words in common.
    var isPostgres: Bool {
        switch self {
        case .sqlite: false
        case .postgres: true
        }
    }

    /// How many rows the statement that was run last has changed.
    var changesCount: Int {
        switch self {
        case .sqlite(let db): db.changesCount
        case .postgres(let connection): connection.changesCount
        }
    }
}
