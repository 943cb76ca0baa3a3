import CLatchkeyZlib

/// The gzip coding (RFC 9110 section 8.4.1.3).
package enum Gzip {
    /// Fewer bytes fit into one packet either way.
    static let worthwhileBytes = 1024
    /// Compression blocks a loop; this much takes about ten milliseconds.
    static let maximumBytes = 1 << 20

    /// zlib's level, from 1 (fast) to 9 (small).
    package enum Effort: Int32 {
        /// For a response sent once.
        case quick = 4
        /// For cached content.
        case thorough = 9
    }

    /// The compressed bytes; nil if there is no memory.
    package static func compress(_ bytes: [UInt8], _ effort: Effort) -> [UInt8]? {
        // Deflate stores incompressible data with at most 5 bytes per 16 KiB; gzip adds a head and a trailer.
        let room = bytes.count + bytes.count / 1000 + 64
        let coded = [UInt8](unsafeUninitializedCapacity: room) { output, count in
            count = bytes.withUnsafeBufferPointer {
                czlib_gzip($0.baseAddress, $0.count, output.baseAddress, room, effort.rawValue)
            }
        }
        return coded.isEmpty ? nil : coded
    }
}
