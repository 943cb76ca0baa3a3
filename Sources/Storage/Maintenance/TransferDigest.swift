import Crypto

/// Tells whether two tables have the same rows, in any order.
///
/// The sum of the rows' hashes: it detects rows that were lost, doubled or changed. It does not protect against
/// deliberate changes.
struct TransferDigest: Sendable, Hashable {
    private(set) var rows: Int64 = 0
    private var sums: [UInt64] = [0, 0]

    mutating func add(_ row: [TransferValue]) {
        var bytes: [UInt8] = []
        for value in row {
            switch value {
            case .null: bytes.append(0)
            case .integer(let number):
                bytes.append(1)
                withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
            case .text(let text): Self.append(2, text.utf8, to: &bytes)
            case .blob(let blob): Self.append(3, blob, to: &bytes)
            }
        }
        let hash = Array(SHA256.hash(data: bytes))
        for index in sums.indices {
            let part = hash[(8 * index)..<(8 * index + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            sums[index] &+= part
        }
        rows += 1
    }

    private static func append(_ mark: UInt8, _ content: some Collection<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(mark)
        withUnsafeBytes(of: UInt64(content.count).bigEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: content)
    }
}
