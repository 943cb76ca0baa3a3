import StorageModel

/// A table of this version, as the copying of rows needs it: the same on every engine.
public struct TableShape: Sendable, Hashable {
    /// The type of a column.
    public enum Kind: String, Sendable {
        case integer = "INTEGER"
        case text = "TEXT"
        case blob = "BLOB"
    }

    package struct Column: Sendable, Hashable {
        package let name: String
        package let kind: Kind
    }

    package let name: String
    package let columns: [Column]
    /// The column that the database numbers, if there is one.
    package let numbered: String?
    /// Whether SQLite remembers the highest number after its row is gone.
    package let remembersNumbers: Bool

    package var columnNames: String { columns.map(\.name).joined(separator: ", ") }

    /// All tables, each after those it refers to.
    ///
    /// Read from an empty database with the tables of this version, so that no list has to be kept.
    package static func all(with tables: [FeatureTable] = []) throws -> [TableShape] {
        let model = try SQLiteConnection(SQLiteConnection.inMemory)
        try Schema.migrate(model)
        try Schema.make(tables, in: model)
        return try all(in: model)
    }

    /// All tables of a database, which may be of an earlier version.
    static func all(in db: SQLiteConnection) throws -> [TableShape] {
        let tables = try db.session.all(
            """
            SELECT name, sql FROM sqlite_schema WHERE type = 'table' \
            AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> ? ORDER BY rowid
            """, Schema.migrationsTable
        ) { (name: try $0.text(0), sql: try $0.text(1)) }
        return try tables.map { try TableShape($0.name, madeBy: $0.sql, db.session) }
    }

    private init(_ name: String, madeBy sql: String, _ db: SQLSession) throws {
        self.name = name
        let rows = try db.all("SELECT name, type, pk FROM pragma_table_info(?)", name) {
            (name: try $0.text(0), type: try $0.text(1), isKey: $0.number(2) > 0)
        }
        columns = try rows.map { row in
            guard let kind = Kind(rawValue: row.type) else {
                throw StorageError(.corrupt, reason: "a column of \(name) has a type that cannot be copied")
            }
            return Column(name: row.name, kind: kind)
        }
        let references = try db.all("SELECT \"from\" FROM pragma_foreign_key_list(?)", name) { try $0.text(0) }
        let keys = rows.filter(\.isKey)
        let key = keys.count == 1 && keys[0].type == "INTEGER" ? keys[0].name : nil
        numbered = key.flatMap { references.contains($0) ? nil : $0 }
        remembersNumbers = sql.contains("AUTOINCREMENT")
    }
}
