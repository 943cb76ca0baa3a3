import CLatchkeyZlib

/// The gzip coding (RFC 9110 section 8.4.1.3).
package enum Gzip {
    /// Fewer bytes than this fill one packet either way.
    static let worthwhileBytes = 1024
    /// What is coded while others wait; this much takes some ten milliseconds.
    static let maximumBytes = 1 << 20

    /// zlib's trade of time against size, from 1 to 9.
    package enum Effort: Int32 {
        /// For an answer made once.
        case quick = 4
        /// For what is kept.
        case thorough = 9
    }

    /// The coded bytes. Nil if there is no memory for it.
    package static func compress(_ bytes: [UInt8], _ effort: Effort) -> [UInt8]? {
        // What deflate cannot make smaller it stores: 5 bytes for each 16 KiB at most, and gzip's head and end.
        let room = bytes.count + bytes.count / 1000 + 64
        let coded = [UInt8](unsafeUninitializedCapacity: room) { output, count in
            count = bytes.withUnsafeBufferPointer {
                czlib_gzip($0.baseAddress, $0.count, output.baseAddress, room, effort.rawValue)
            }
        }
        return coded.isEmpty ? nil : coded
    }
}
