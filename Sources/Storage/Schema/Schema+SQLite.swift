import StorageModel

/// The migrations of a database of SQLite, which lists those that it has in a table.
extension Schema {
    /// The table's name is that of GRDB, which ran the migrations of earlier versions.
    static let migrationsTable = "grdb_migrations"

    /// Runs the missing migrations in their order, each in a transaction of its own.
    ///
    /// Processes that start together find the same migrations missing. Each looks again once it holds the write lock,
    /// so that none runs twice.
    ///
    /// - Parameter last: The last migration to run; by default that of this version.
    static func migrate(_ db: SQLiteConnection, upTo last: String? = nil) throws {
        if try !holdsMigrations(db) {
            try db.execute("CREATE TABLE IF NOT EXISTS \(migrationsTable) (identifier TEXT NOT NULL PRIMARY KEY)")
        }
        for migration in migrations {
            if try !isApplied(migration, db) { try run(migration, db) }
            if migration.name == last { break }
        }
    }

    private static func run(_ migration: Migration, _ db: SQLiteConnection) throws {
        try db.execute("BEGIN IMMEDIATE")
        do {
            if try !isApplied(migration, db) {
                for statements in migration.statements { try db.execute(statements) }
                try db.session.perform("INSERT INTO \(migrationsTable) (identifier) VALUES (?)", migration.name)
            }
            try db.execute("COMMIT")
        } catch {
            // After some failures, such as a full disk, SQLite has rolled back by itself.
            if db.isInTransaction { try? db.execute("ROLLBACK") }
            throw error
        }
    }

    private static func isApplied(_ migration: Migration, _ db: SQLiteConnection) throws -> Bool {
        try db.session.exists("SELECT 1 FROM \(migrationsTable) WHERE identifier = ?", migration.name)
    }

    /// Refuses a database that a newer version has changed, or that another program made.
    static func validate(_ db: SQLiteConnection) throws {
        // In this order, because another process that makes the database at this moment makes the migrations' table
        // first.
        let holdsTables = try db.session.exists("SELECT 1 FROM sqlite_schema WHERE type = 'table'")
        guard try holdsMigrations(db) else {
            guard holdsTables else { return }
            throw StorageError(.corrupt, reason: "the database is another program's: it has tables unknown to Latchkey")
        }
        guard try applied(db).isSubset(of: migrations.map(\.name)) else {
            throw isNewer
        }
    }

    static let isNewer = StorageError(
        .corrupt, reason: "the database was written by a newer version of Latchkey; run that version")

    /// How many migrations have been done.
    static func migrationCount(_ db: SQLiteConnection) throws -> Int {
        try holdsMigrations(db) ? applied(db).count : 0
    }

    /// The names of those migrations of this version that have been done, in their order.
    static func appliedMigrations(_ db: SQLiteConnection) throws -> [String] {
        guard try holdsMigrations(db) else { return [] }
        let applied = try applied(db)
        return migrations.map(\.name).filter(applied.contains)
    }

    private static func applied(_ db: SQLiteConnection) throws -> Set<String> {
        Set(try db.session.all("SELECT identifier FROM \(migrationsTable)") { try $0.text(0) })
    }

    private static func holdsMigrations(_ db: SQLiteConnection) throws -> Bool { try db.holdsTable(migrationsTable) }
}

extension SQLiteConnection {
    /// Whether there is a table of a name.
    func holdsTable(_ name: String) throws -> Bool {
        try session.exists("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", name)
    }
}
