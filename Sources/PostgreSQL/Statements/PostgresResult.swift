import CLatchkeyPostgres
import Glibc

/// A statement's result: all its rows.
final class PostgresResult {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { PQclear(handle) }

    var rowCount: CInt { PQntuples(handle) }

    var changesCount: Int { strtol(PQcmdTuples(handle), nil, 10) }

    /// Whether it follows the results of the last statement in a pipeline.
    var endsPipeline: Bool { PQresultStatus(handle) == PGRES_PIPELINE_SYNC }

    /// The command's tag, such as `COMMIT`.
    var command: String { String(cString: PQcmdStatus(handle)) }

    func isNull(_ row: CInt, _ column: CInt) -> Bool { PQgetisnull(handle, row, column) == 1 }

    /// The bytes of a value; none for NULL.
    func bytes(_ row: CInt, _ column: CInt) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: PQgetvalue(handle, row, column), count: Int(PQgetlength(handle, row, column)))
    }

    /// The failure, if there was one. It contains no value of the statement.
    func failure(of sql: String) -> PostgresError? {
        switch PQresultStatus(handle) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return nil
        default: break
        }
        let state = field(.sqlState)
        // The message about an unsuitable value may quote it.
        let message =
            state?.hasPrefix("22") == true
            ? "a value does not fit" : field(.message) ?? Self.line(PQresultErrorMessage(handle))
        var error = PostgresError(state: state, reason: "\(message) in: \(sql)", endsConnection: false)
        // After these the server has closed the connection, or has lost its prepared statements.
        let severity = field(.severity)
        let isEnd = severity == "FATAL" || severity == "PANIC" || state == "26000" || error.isOfConnection
        if isEnd { error = error.endingConnection }
        return error
    }

    private static func line(_ text: UnsafePointer<CChar>?) -> String {
        let first = text.flatMap { String(cString: $0).split(whereSeparator: \.isNewline).first }
        return first.map(String.init) ?? "no explanation"
    }

    /// The codes of postgres_ext.h, macros that Swift does not see.
    private enum Field: Character {
        /// Never translated.
        case severity = "V"
        case sqlState = "C"
        case message = "M"
    }

    private func field(_ field: Field) -> String? {
        PQresultErrorField(handle, CInt(field.rawValue.asciiValue ?? 0)).map { String(cString: $0) }
    }
}
