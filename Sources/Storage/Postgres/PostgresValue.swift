import StorageModel

/// A parameter of a statement, in PostgreSQL's binary format: nothing has to be escaped, and no text ends at a NUL.
struct PostgresValue {
    /// The types' numbers, which never change (`pg_type.dat`).
    enum Kind: UInt32 {
        case bytea = 17
        case int8 = 20
        case text = 25
        case byteaArray = 1001
        case textArray = 1009
        case int8Array = 1016
    }

    let kind: Kind
    /// Nil for NULL.
    let bytes: [UInt8]?

    init(_ text: String?) {
        kind = .text
        bytes = text.map(PostgresText.encode)
    }

    init(_ number: Int64?) {
        kind = .int8
        bytes = number.map { number in withUnsafeBytes(of: number.bigEndian) { Array($0) } }
    }

    init(_ kind: Kind, bytes: [UInt8]) {
        self.kind = kind
        self.bytes = bytes
    }

    init(blob: [UInt8]?) {
        kind = .bytea
        bytes = blob
    }
}
