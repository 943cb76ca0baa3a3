internal import CLatchkeySQLite
public import Foundation

/// Reads and changes a SQLite database beside the server or the store. It shares no code with `Storage`: a fault there
/// cannot hide itself. Each call opens the file anew; ``connect()`` gives a connection that stays open.
public struct DatabaseProbe: Sendable {
    public let path: String

    public init(path: String) {
        self.path = path
    }

    /// What SQLite says when it refuses a statement.
    public struct Refusal: Error, CustomStringConvertible {
        public let description: String
    }

    public enum Value: Sendable, Equatable {
        case null, integer(Int64), text(String), blob(Data)
    }

    /// Runs statements in one transaction.
    public func change(_ sql: String, _ values: [Value] = []) throws {
        let connection = try connect()
        try connection.execute("BEGIN IMMEDIATE")
        if values.isEmpty { try connection.execute(sql) } else { try connection.rows(sql, values) }
        try connection.execute("COMMIT")
    }

    /// The number in the first row; 0 if there is none.
    public func number(_ sql: String) throws -> Int64 { try connect().number(sql) }

    /// The first column of all rows.
    public func texts(_ sql: String) throws -> [String] { try connect().texts(sql) }

    /// The first column of all rows.
    public func contents(_ sql: String) throws -> [Data] {
        try connect().rows(sql).compactMap { row in
            if case .blob(let content) = row.first { content } else { nil }
        }
    }

    /// Runs a body while the database is locked against other writers.
    public func whileLocked(_ body: () async throws -> Void) async throws {
        let lock = try connect()
        defer { lock.close() }
        try lock.execute("BEGIN IMMEDIATE")
        try await body()
    }

    /// - Parameter waiting: Whether a statement waits for other writers: ten seconds at most, times
    ///   ``Patience/factor``.
    public func connect(withForeignKeys: Bool = true, waiting: Bool = true) throws -> Connection {
        let connection = try Connection(path)
        try connection.execute(
            "PRAGMA busy_timeout = \(waiting ? 10_000 * Patience.factor : 0); PRAGMA foreign_keys = \(withForeignKeys)")
        return connection
    }

    /// A connection. A test uses and closes it from one task at a time, hence `@unchecked Sendable`.
    public final class Connection: @unchecked Sendable {
        private var database: OpaquePointer?

        fileprivate init(_ path: String) throws {
            var database: OpaquePointer?
            let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX
            let result = sqlite3_open_v2(path, &database, flags, nil)
            guard result == SQLITE_OK else {
                sqlite3_close_v2(database)
                throw Refusal(description: "\(path) cannot be opened: \(result)")
            }
            self.database = database
        }

        deinit { close() }

        /// Rolls an open transaction back.
        public func close() {
            sqlite3_close_v2(database)
            database = nil
        }

        /// Runs statements, and ignores their rows.
        public func execute(_ sql: String) throws {
            try check(sqlite3_exec(database, sql, nil, nil, nil))
        }

        /// Runs one statement.
        /// - Returns: Its rows, each with the values of all columns. A real number is refused: no table has one.
        @discardableResult
        public func rows(_ sql: String, _ values: [Value] = []) throws -> [[Value]] {
            var statement: OpaquePointer?
            try check(sqlite3_prepare_v2(database, sql, -1, &statement, nil))
            defer { sqlite3_finalize(statement) }
            for (index, value) in values.enumerated() { try bind(value, Int32(index + 1), of: statement) }
            var rows: [[Value]] = []
            while true {
                switch sqlite3_step(statement) {
                case SQLITE_ROW:
                    rows.append(try (0..<sqlite3_column_count(statement)).map { try column($0, of: statement) })
                case SQLITE_DONE: return rows
                case let result: try check(result)
                }
            }
        }

        public func number(_ sql: String) throws -> Int64 {
            if case .integer(let number) = try rows(sql).first?.first { number } else { 0 }
        }

        /// The first column of all rows.
        public func texts(_ sql: String, _ values: [Value] = []) throws -> [String] {
            try rows(sql, values).compactMap { row in
                if case .text(let text) = row.first { text } else { nil }
            }
        }

        private func bind(_ value: Value, _ index: Int32, of statement: OpaquePointer?) throws {
            // SQLite copies the bytes before the call returns.
            let isCopied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            let result =
                switch value {
                case .null: sqlite3_bind_null(statement, index)
                case .integer(let number): sqlite3_bind_int64(statement, index, number)
                case .text(var text):
                    text.withUTF8 { bytes in
                        bytes.withMemoryRebound(to: CChar.self) {
                            sqlite3_bind_text(statement, index, $0.baseAddress, Int32($0.count), isCopied)
                        }
                    }
                case .blob(let content) where content.isEmpty: sqlite3_bind_zeroblob(statement, index, 0)
                case .blob(let content):
                    content.withUnsafeBytes {
                        sqlite3_bind_blob(statement, index, $0.baseAddress, Int32($0.count), isCopied)
                    }
                }
            try check(result)
        }

        private func column(_ index: Int32, of statement: OpaquePointer?) throws -> Value {
            switch sqlite3_column_type(statement, index) {
            case SQLITE_NULL: return .null
            case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, index))
            case SQLITE_TEXT: return .text(String(decoding: bytes(index, of: statement), as: UTF8.self))
            case SQLITE_BLOB: return .blob(bytes(index, of: statement))
            case let type: throw Refusal(description: "a value of the type \(type)")
            }
        }

        private func bytes(_ index: Int32, of statement: OpaquePointer?) -> Data {
            guard let start = sqlite3_column_blob(statement, index) else { return Data() }
            return Data(bytes: start, count: Int(sqlite3_column_bytes(statement, index)))
        }

        private func check(_ result: Int32) throws {
            guard result != SQLITE_OK else { return }
            throw Refusal(description: "\(String(cString: sqlite3_errmsg(database))) (\(result))")
        }
    }
}
