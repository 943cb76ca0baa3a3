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

    /// The arrays of rows that are being added.
    private var arrays = PostgresArrays()

    init() {}

    init(_ text: String) { add(text) }

    mutating func beginRow() { arrays.beginRow() }

    mutating func endRows() {
        for array in arrays.columns {
            let start = memory.count
            array.write(to: &memory, rowCount: arrays.rowCount)
            types.append(array.kind.arrayNumber)
            lengths.append(CInt(clamping: memory.count - start))
        }
        arrays = PostgresArrays()
    }

    mutating func addNull(_ kind: TableShape.Kind) {
        if arrays.isInRow { return arrays.addNull(kind) }
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
        if arrays.isInRow { return arrays.add(kind, write) }
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

/// An array for each column of rows, in PostgreSQL's binary format (`array_recv` in `arrayfuncs.c`).
private struct PostgresArrays {
    struct Column {
        let kind: TableShape.Kind
        /// Each element with its length before it; -1 for NULL.
        var elements: [UInt8] = []
        var hasNull = false

        func write(to memory: inout [UInt8], rowCount: Int) {
            // Dimensions, whether there are NULLs, the type of the elements, their number, the number of the first.
            for number in [1, hasNull ? 1 : 0, kind.number, UInt32(rowCount), 1] { memory.append(bigEndian: number) }
            memory.append(contentsOf: elements)
        }
    }

    private(set) var columns: [Column] = []
    private var column = 0
    private(set) var rowCount = 0

    var isInRow: Bool { rowCount > 0 }

    mutating func beginRow() {
        column = 0
        rowCount += 1
    }

    mutating func addNull(_ kind: TableShape.Kind) {
        let column = next(kind)
        columns[column].elements.append(bigEndian: .max)
        columns[column].hasNull = true
    }

    mutating func add(_ kind: TableShape.Kind, _ write: (inout [UInt8]) -> Void) {
        let column = next(kind)
        let start = columns[column].elements.count
        columns[column].elements.append(bigEndian: 0)
        write(&columns[column].elements)
        let length = UInt32(columns[column].elements.count - start - 4)
        withUnsafeBytes(of: length.bigEndian) { columns[column].elements.replaceSubrange(start..<start + 4, with: $0) }
    }

    private mutating func next(_ kind: TableShape.Kind) -> Int {
        defer { column += 1 }
        if rowCount == 1 { columns.append(Column(kind: kind)) }
        return column
    }
}

// Numbers of types never change (`pg_type.dat`).
extension TableShape.Kind {
    fileprivate var number: UInt32 {
        switch self {
        case .integer: 20
        case .text: 25
        case .blob: 17
        }
    }

    /// The type of an array of it.
    fileprivate var arrayNumber: UInt32 {
        switch self {
        case .integer: 1_016
        case .text: 1_009
        case .blob: 1_001
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian number: UInt32) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(copying: $0) }
    }

    /// Copies the bytes all at once.
    fileprivate mutating func append(copying bytes: UnsafeRawBufferPointer) {
        bytes.withMemoryRebound(to: UInt8.self) { append(contentsOf: $0) }
    }
}
