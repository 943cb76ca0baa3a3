import StorageModel

extension PostgresValue {
    /// A column of many rows as one parameter, in the binary format of arrays (`array_send` in PostgreSQL's arrayfuncs.c).
    init(array values: [TransferValue], of kind: TableShape.Kind) {
        let element = Kind(of: kind)
        var bytes: [UInt8] = []
        func append(_ number: Int32) { withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) } }
        // One dimension, perhaps with NULLs, so many elements, counted from 1.
        append(1)
        append(1)
        append(Int32(bitPattern: element.rawValue))
        append(Int32(clamping: values.count))
        append(1)
        for value in values {
            guard let content = PostgresValue(value).bytes else {
                append(-1)
                continue
            }
            append(Int32(clamping: content.count))
            bytes.append(contentsOf: content)
        }
        self.init(element.array, bytes: bytes)
    }

    private init(_ value: TransferValue) {
        switch value {
        case .null: self.init(blob: nil)
        case .integer(let number): self.init(number)
        case .text(let text): self.init(text)
        case .blob(let bytes): self.init(blob: bytes)
        }
    }
}

extension PostgresValue.Kind {
    fileprivate init(of kind: TableShape.Kind) {
        switch kind {
        case .integer: self = .int8
        case .text: self = .text
        case .blob: self = .bytea
        }
    }

    /// The array of such values.
    fileprivate var array: PostgresValue.Kind {
        switch self {
        case .int8: .int8Array
        case .text: .textArray
        default: .byteaArray
        }
    }
}
