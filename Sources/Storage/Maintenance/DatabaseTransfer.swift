public import StorageModel

/// A whole database copied into an empty one, of whatever kinds the two are.
public struct DatabaseTransfer: Sendable, Hashable {
    public struct Table: Sendable, Hashable {
        public let name: String
        public let rows: Int64
    }

    /// How far it is.
    public struct Progress: Sendable, Hashable {
        public let table: String
        public let rows: Int64
        /// How many rows the table has.
        public let total: Int64
        /// Whether what was stored is being read again.
        public let isChecking: Bool
    }

    /// What was copied, in the order of the tables.
    public let tables: [Table]

    /// Copies all rows with their numbers, in one transaction of the target; reads them again there, and stores them only
    /// if they are the same. Blocks.
    ///
    /// Both databases are this call's alone meanwhile: one that a server has open is refused, and the source is written to
    /// by nobody. Of the rows only some are in memory at a time. An interruption, of this process or of a connection,
    /// leaves the target as it was.
    ///
    /// - Parameters:
    ///   - target: Has the tables of this version and no rows, or no tables yet: then it gets them.
    ///   - isCancelled: Asked now and then.
    /// - Throws: ``StorageError``, and then nothing was copied, unless its reason says that this cannot be told.
    public static func run(
        from source: DatabaseLocation, to target: DatabaseLocation, onProgress: (Progress) -> Void = { _ in },
        isCancelled: () -> Bool = { false }
    ) throws(StorageError) -> DatabaseTransfer {
        do {
            try refuse(source, target)
            let shapes = try TableShape.all()
            return try source.alone(as: "the source", shapes) { from in
                try target.alone(as: "the target", shapes) { to in
                    try refuseRows(of: shapes, in: to)
                    let tables = try shapes.map { shape in
                        try copy(shape, from, to) { progress in
                            if isCancelled() { throw StorageError(.closed, reason: "it was interrupted") }
                            onProgress(progress)
                        }
                    }
                    return DatabaseTransfer(tables: tables)
                }
            }
        } catch let error as DatabaseLocation.UnknownOutcome {
            throw StorageError(
                .unavailable,
                reason: """
                    the connection was lost on the way to or from the commit, so that it cannot be told whether the \
                    target has all of it or nothing; do it again, and if it is done already the target is refused as \
                    not empty: \(error.reason)
                    """)
        } catch {
            let error = StorageError(error)
            throw StorageError(error.code, reason: "nothing was copied: \(error.reason)")
        }
    }

    /// What can be told before anything is opened for writing.
    private static func refuse(_ source: DatabaseLocation, _ target: DatabaseLocation) throws(StorageError) {
        guard !source.isSame(as: target) else {
            throw StorageError(.unavailable, reason: "source and target are the same database")
        }
        let there = try steps(of: source, "the source")
        guard !there.done.isEmpty else {
            throw StorageError(.unavailable, reason: "the source has no tables of Latchkey; name another database")
        }
        guard there.pending.isEmpty else { throw older("the source") }
        let here = try steps(of: target, "the target")
        guard here.done.isEmpty || here.pending.isEmpty else { throw older("the target") }
    }

    private static func steps(of place: DatabaseLocation, _ name: String) throws(StorageError) -> DatabaseSteps {
        do throws(StorageError) {
            return try place.steps()
        } catch {
            throw StorageError(error.code, reason: "\(name): \(error.reason)")
        }
    }

    private static func older(_ name: String) -> StorageError {
        StorageError(
            .unavailable, reason: "\(name) has the tables of an older version; run latchkey migrate on it first")
    }

    private static func refuseRows(of shapes: [TableShape], in db: SQLSession) throws {
        let taken = try shapes.filter { try !$0.isEmpty(in: db) }.map(\.name)
        guard taken.isEmpty else {
            throw StorageError(
                .conflict,
                reason: """
                    the target is not empty: there are rows in \(taken.joined(separator: ", ")); name a database that \
                    no server has been started on, or a new one
                    """)
        }
    }

    private static func copy(
        _ shape: TableShape, _ from: SQLSession, _ to: SQLSession, _ step: (Progress) throws -> Void
    ) throws -> Table {
        let total = try shape.rowCount(in: from)
        func report(_ digest: TransferDigest, isChecking: Bool) throws {
            try step(Progress(table: shape.name, rows: digest.rows, total: total, isChecking: isChecking))
        }
        do {
            var read = TransferDigest()
            try report(read, isChecking: false)
            try shape.readRows(in: from) { rows in
                try shape.insert(rows, in: to)
                for row in rows { read.add(row) }
                try report(read, isChecking: false)
            }
            var stored = TransferDigest()
            try shape.readRows(in: to) { rows in
                for row in rows { stored.add(row) }
                try report(stored, isChecking: true)
            }
            guard stored == read, read.rows == total else {
                throw StorageError(
                    .corrupt, reason: "what the target has stored is not what was read from the source")
            }
            try shape.continueNumbers(after: shape.lastNumber(in: from), in: to)
            return Table(name: shape.name, rows: total)
        } catch let error as StorageError where error.code == .closed {
            throw error
        } catch {
            let error = StorageError(error)
            throw StorageError(error.code, reason: "the table \(shape.name): \(error.reason)")
        }
    }
}
