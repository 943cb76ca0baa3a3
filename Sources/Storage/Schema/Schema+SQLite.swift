import StorageModel

/// The migrations of a database of SQLite, which lists those that it has in a table.
extension Schema {
    /// The table's name is GRDB's, which ran the migrations of earlier versions.
    static let migrationsTable = "grdb_migrations"

    /// Runs the missing migrations in their order, each in its own transaction.
    ///
    /// Processes that start together find the same migrations missing. Each looks again once it holds the write lock,
    /// so that none runs twice.
    package static func migrate(_ db: SQLiteConnection, with migrations: [Migration] = migrations) throws {
        if try !db.holdsTable(migrationsTable) {
            try db.execute("CREATE TABLE IF NOT EXISTS \(migrationsTable) (identifier TEXT NOT NULL PRIMARY KEY)")
        }
        for migration in try missing(db, of: migrations) { try run(migration, of: migrations, db) }
    }

    private static func run(_ migration: Migration, of migrations: [Migration], _ db: SQLiteConnection) throws {
        try db.execute("BEGIN IMMEDIATE")
        do {
            if try missing(db, of: migrations).contains(where: { $0.name == migration.name }) {
                for statements in migration.statements { try db.execute(statements) }
                if let sqlite = migration.sqlite { try db.execute(sqlite) }
                try db.session.perform("INSERT INTO \(migrationsTable) (identifier) VALUES (?)", migration.name)
            }
            try db.execute("COMMIT")
        } catch {
            // After some failures, such as a full disk, SQLite has rolled back by itself.
            if db.isInTransaction { try? db.execute("ROLLBACK") }
            throw error
        }
    }

    /// Makes the tables that are missing, each with its indexes in one transaction.
    package static func make(_ tables: [FeatureTable], in db: SQLiteConnection) throws {
        for table in try missing(tables, in: db) {
            try db.execute("BEGIN IMMEDIATE;\n\(table.statements)\nCOMMIT")
        }
    }

    static func missing(_ tables: [FeatureTable], in db: SQLiteConnection) throws -> [FeatureTable] {
        try tables.filter { try !db.holdsTable($0.name) }
    }

    /// The missing migrations. Refuses a database of another version that cannot be migrated, and one that another
    /// program made. Changes nothing.
    package static func missing(_ db: SQLiteConnection, of migrations: [Migration] = migrations) throws -> [Migration] {
        // In this order, because another process that makes the database at this moment makes the migrations' table
        // first.
        let holdsTables = try db.session.exists("SELECT 1 FROM sqlite_schema WHERE type = 'table'")
        guard try db.holdsTable(migrationsTable) else {
            guard holdsTables else { return migrations }
            throw StorageError(.corrupt, reason: "the database is another program's: it has tables unknown to Latchkey")
        }
        let done = try db.session.all("SELECT identifier FROM \(migrationsTable)") { try $0.text(0) }
        return try missing(after: Set(done), of: migrations)
    }
}

extension SQLiteConnection {
    /// Whether there is a table of a name.
    func holdsTable(_ name: String) throws -> Bool {
        try session.exists("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", name)
    }
}
