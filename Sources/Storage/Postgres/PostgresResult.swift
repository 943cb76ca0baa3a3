import CLatchkeyPostgres
import StorageModel

/// What came back of a statement: all its rows at once.
final class PostgresResult {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer) {
        self.handle = handle
    }

    deinit {
        PQclear(handle)
    }

    var rowCount: CInt { PQntuples(handle) }

    var changesCount: Int { Int(String(cString: PQcmdTuples(handle))) ?? 0 }

    /// Such as `COMMIT`.
    var command: String { String(cString: PQcmdStatus(handle)) }

    func isNull(_ row: CInt, _ column: CInt) -> Bool { PQgetisnull(handle, row, column) == 1 }

    /// The bytes of a value; none for NULL.
    func bytes(_ row: CInt, _ column: CInt) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: PQgetvalue(handle, row, column), count: Int(PQgetlength(handle, row, column)))
    }

    /// What went wrong, if something did. Nothing of the values that were given is in it.
    func failure(of sql: String) -> PostgresError? {
        switch PQresultStatus(handle) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return nil
        default: break
        }
        let state = field(.sqlState)
        // What is said of data that do not fit may quote them.
        let message =
            state?.hasPrefix("22") == true
            ? "a value does not fit" : field(.message) ?? Self.line(PQresultErrorMessage(handle))
        return PostgresError(
            state: state, reason: "\(message) in: \(sql)", endsConnection: Self.endsConnection(state, field(.severity)))
    }

    /// After these the server has closed the connection, or what it has prepared is not there any more.
    private static func endsConnection(_ state: String?, _ severity: String?) -> Bool {
        severity == "FATAL" || severity == "PANIC" || state == "26000"
    }

    private static func line(_ text: UnsafePointer<CChar>?) -> String {
        let first = text.flatMap { String(cString: $0).split(whereSeparator: \.isNewline).first }
        return first.map(String.init) ?? "no explanation"
    }

    /// The codes of postgres_ext.h, which Swift does not see.
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
