import Storage

/// What a connection has sent and not read the results of, and the statements that its server keeps prepared.
struct PostgresPipeline {
    struct Statement {
        enum Purpose { case begin, work, commit }

        let sql: String
        let purpose: Purpose
        /// Whether it only prepares the statement.
        let isPreparation: Bool
    }

    /// How many statements may wait for one that has a result: their results need memory.
    private static let limit = 256

    private(set) var unanswered: [Statement] = []
    /// Whether the server has responded since the transaction began.
    private(set) var hasResponded = false
    private var names: [String: String] = [:]
    /// How many names were given, also to statements that could not be prepared.
    private var nameCount = 0

    var isFull: Bool { unanswered.count >= Self.limit }

    /// The name of a prepared statement.
    func name(of sql: String) -> String? { names[sql] }

    /// A name for a prepared statement.
    /// - Parameter process: The number of the connection's process. If the names of connections were the same, a pooler
    ///   that the configuration does not name, and that the check at the start did not find, could run a statement of
    ///   another connection.
    mutating func makeName(on process: CInt) -> String {
        defer { nameCount += 1 }
        return "s\(UInt32(bitPattern: process))_\(nameCount)"
    }

    /// - Parameter name: Empty for a statement that the server keeps until the next one without a name.
    mutating func noteSentPreparation(_ sql: String, as name: String, for purpose: Statement.Purpose) {
        unanswered.append(Statement(sql: sql, purpose: purpose, isPreparation: true))
        if !name.isEmpty { names[sql] = name }
    }

    mutating func noteSent(_ sql: String, for purpose: Statement.Purpose) {
        if purpose == .begin { hasResponded = false }
        unanswered.append(Statement(sql: sql, purpose: purpose, isPreparation: false))
    }

    /// - Parameter failure: The place of the first statement that failed: the server has skipped those after it.
    mutating func noteAnswered(failure: Int?) {
        if let failure {
            for statement in unanswered[failure...] where statement.isPreparation { names[statement.sql] = nil }
        }
        unanswered.removeAll(keepingCapacity: true)
        hasResponded = true
    }
}

/// One run of a statement on PostgreSQL: values first, then rows.
final class PostgresRun: PostgresStatement {
    private let sql: String
    private let connection: PostgresConnection
    private var parameters = PostgresParameters()
    private var result: PostgresResult?
    private var row: CInt = -1

    init(_ connection: PostgresConnection, _ sql: String) {
        self.connection = connection
        self.sql = sql
        swap(&parameters, &connection.spareParameters)
    }

    deinit {
        parameters.removeAll()
        swap(&parameters, &connection.spareParameters)
    }

    func bind(_ text: String) { parameters.add(text) }

    func bind(_ number: Int64) { parameters.add(number) }

    func bind(_ bytes: UnsafeRawBufferPointer) { parameters.add(bytes) }

    func bindNull(_ kind: TableShape.Kind) { parameters.addNull(kind) }

    func beginRow() { parameters.beginRow() }

    func endRows() { parameters.endRows() }

    func perform() throws { try connection.perform(sql, parameters) }

    func next() throws -> Bool {
        if result == nil { result = try connection.run(sql, parameters) }
        row += 1
        return row < (result?.rowCount ?? 0)
    }

    func isNull(_ column: CInt) -> Bool { result?.isNull(row, column) ?? true }

    func bytes(_ column: CInt) -> UnsafeRawBufferPointer {
        result?.bytes(row, column) ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }

    func text(_ column: CInt) -> String? {
        guard let result, !result.isNull(row, column) else { return nil }
        return String(decoding: result.bytes(row, column), as: UTF8.self)
    }

    func number(_ column: CInt) -> Int64 {
        guard let result, !result.isNull(row, column) else { return 0 }
        let bytes = result.bytes(row, column)
        let isNegative = bytes.count > 1 && (bytes.first ?? 0) >= 0x80
        return bytes.prefix(8).reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) }
    }
}
