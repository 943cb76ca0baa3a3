import GRDB
import StorageModel

/// A table of this version, as the copying of rows needs it: the same on every engine.
struct TableShape: Sendable, Hashable {
    enum Kind: String, Sendable {
        case integer = "INTEGER"
        case text = "TEXT"
        case blob = "BLOB"
    }

    struct Column: Sendable, Hashable {
        let name: String
        let kind: Kind
    }

    let name: String
    let columns: [Column]
    /// The column that the database numbers, if there is one.
    let numbered: String?
    /// Whether SQLite remembers the highest number after its row is gone.
    let remembersNumbers: Bool

    var columnNames: String { columns.map(\.name).joined(separator: ", ") }

    /// All tables, each after those it refers to.
    ///
    /// Read from an empty database with the tables of this version, so that no list has to be kept.
    static func all() throws -> [TableShape] {
        let model = try DatabaseQueue()
        try Schema.migrator.migrate(model)
        return try model.read(all)
    }

    /// All tables of a database, which may be of an earlier version.
    static func all(in db: Database) throws -> [TableShape] {
        let tables = try Row.fetchAll(
            db,
            sql: """
                SELECT name, sql FROM sqlite_schema WHERE type = 'table' \
                AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> 'grdb_migrations' ORDER BY rowid
                """)
        return try tables.map { try TableShape($0["name"], madeBy: $0["sql"], db) }
    }

    private init(_ name: String, madeBy sql: String, _ db: Database) throws {
        self.name = name
        let rows = try Row.fetchAll(db, sql: "SELECT name, type, pk FROM pragma_table_info(?)", arguments: [name])
        columns = try rows.map { row in
            guard let kind = Kind(rawValue: row["type"]) else {
                throw StorageError(.corrupt, reason: "a column of \(name) has a type that cannot be copied")
            }
            return Column(name: row["name"], kind: kind)
        }
        let references = try String.fetchSet(
            db, sql: "SELECT \"from\" FROM pragma_foreign_key_list(?)", arguments: [name])
        let keys = rows.filter { ($0["pk"] as Int) > 0 }
        let key: String? = keys.count == 1 && keys[0]["type"] == "INTEGER" ? keys[0]["name"] : nil
        numbered = key.flatMap { references.contains($0) ? nil : $0 }
        remembersNumbers = sql.contains("AUTOINCREMENT")
    }
}
