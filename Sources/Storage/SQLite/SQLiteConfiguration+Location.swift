package import StorageModel

extension SQLiteConfiguration: DatabaseLocation {
    package func open(observer: StoreObserver?) throws(StorageError) -> SQLStore {
        try SQLStore(configuration: self, observer: observer)
    }

    package func openForCommand() throws(StorageError) -> SQLStore {
        var configuration = self
        configuration.isForCommand = true
        return try configuration.open(observer: nil)
    }

    package func read<Value>(
        _ body: ([Migration], SQLSession) throws -> Value
    ) throws(StorageError) -> Value? {
        let file = try DatabaseFile(path)
        guard let size = try file.size(), size > 0 else { return nil }
        do {
            return try SQLiteConnections.read(file.path, self) { db in try body(Schema.missing(db), db.session) }
        } catch {
            throw StorageError(error, "the database \(file.path) cannot be used")
        }
    }

    package func alone<Value>(
        as name: String, _ tables: [TableShape], _ body: (SQLSession) throws -> Value
    ) throws -> Value {
        if try DatabaseFile(path).isLockedByOthers { throw StorageError.isOpen(name) }
        let connections = try SQLiteConnections(self)
        defer { try? connections.close() }
        let db = connections.writer
        do {
            if let writeBlocker = connections.walRecovery.writeBlocker(db) { throw writeBlocker }
            try db.execute("BEGIN IMMEDIATE")
        } catch let error as SQLiteError where error.isBusy {
            throw StorageError.isOpen(name)
        }
        do {
            let value = try body(db.session)
            try db.execute("COMMIT")
            return value
        } catch {
            if db.isInTransaction { try? db.execute("ROLLBACK") }
            throw error
        }
    }

    package func isSame(as other: any DatabaseLocation) -> Bool {
        guard let other = other as? SQLiteConfiguration, let one = FileAttributes(path),
            let other = FileAttributes(other.path)
        else { return false }
        return one.isSameFile(as: other)
    }

    package func freeBytes() throws(StorageError) -> UInt64? {
        let file = try DatabaseFile(path)
        _ = try file.size()
        return try file.freeBytes()
    }
}
