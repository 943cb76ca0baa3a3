import Primitives
import Storage

/// The values of a statement in PostgreSQL's binary format: nothing has to be escaped. Texts have no NUL.
///
/// All values share one piece of memory, because libpq takes pointers into it.
struct PostgresParameters {
    private(set) var types: [UInt32] = []
    /// Of each value; -1 for NULL.
    private(set) var lengths: [CInt] = []
    // One byte more than the values need, so that an empty value has an address, too.
    private var memory: [UInt8] = [0]
    private static let keptBytes = 16_384

    init() {}

    init(_ text: String) { add(text) }

    mutating func addNull(_ kind: TableShape.Kind) {
        types.append(kind.number)
        lengths.append(-1)
    }

    mutating func add(_ number: Int64) {
        add(.integer) { kept in withUnsafeBytes(of: number.bigEndian) { kept.append(copying: $0) } }
    }

    mutating func add(_ text: String) { add(.text) { kept in text.withBytes { kept.append(contentsOf: $0) } } }

    mutating func add(_ bytes: UnsafeRawBufferPointer) { add(.blob) { $0.append(copying: bytes) } }

    /// Removes the values and keeps the memory, unless it is much.
    mutating func removeAll() {
        guard memory.count <= Self.keptBytes else {
            self = PostgresParameters()
            return
        }
        types.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        memory.removeLast(memory.count - 1)
    }

    @inline(__always)
    private mutating func add(_ kind: TableShape.Kind, _ write: (inout [UInt8]) -> Void) {
        let start = memory.count
        write(&memory)
        types.append(kind.number)
        lengths.append(CInt(clamping: memory.count - start))
    }

    /// Gives libpq the values' addresses, lengths and formats, for the length of a call.
    func withPointers<Value>(
        _ body: (
            _ values: UnsafePointer<UnsafePointer<CChar>?>?, _ lengths: UnsafePointer<CInt>?,
            _ formats: UnsafePointer<CInt>?
        ) -> Value
    ) -> Value {
        memory.withUnsafeBytes { memory in
            withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: lengths.count) { values in
                withUnsafeTemporaryAllocation(of: CInt.self, capacity: lengths.count) { formats in
                    var next = memory.baseAddress.map { $0.assumingMemoryBound(to: CChar.self) + 1 }
                    for (place, length) in lengths.enumerated() {
                        values.initializeElement(at: place, to: length < 0 ? nil : next)
                        // Binary.
                        formats.initializeElement(at: place, to: 1)
                        if length > 0 { next = next.map { $0 + Int(length) } }
                    }
                    return lengths.withUnsafeBufferPointer { lengths in
                        body(values.baseAddress.map { UnsafePointer($0) }, lengths.baseAddress, formats.baseAddress)
                    }
                }
            }
        }
    }
}

extension TableShape.Kind {
    /// The number of PostgreSQL's type, which never changes (`pg_type.dat`).
    fileprivate var number: UInt32 {
        switch self {
        case .integer: 20
        case .text: 25
        case .blob: 17
        }
    }
}

extension [UInt8] {
    /// Copies the bytes all at once.
    fileprivate mutating func append(copying bytes: UnsafeRawBufferPointer) {
        bytes.withMemoryRebound(to: UInt8.self) { append(contentsOf: $0) }
    }
}
