import CLatchkeyZlib

/// Decodes the gzip coding (RFC 1952) in pieces.
final class Inflater {
    private let stream: OpaquePointer

    /// Nil if there is no memory.
    init?() {
        guard let made = czlib_inflater_make() else { return nil }
        stream = made
    }

    deinit { czlib_inflater_free(stream) }

    /// Appends what the bytes decode to.
    /// - Returns: Whether the stream has ended.
    /// - Throws: `bodyTooLarge` beyond the limit, without decoding further; `gzip` for malformed data, and if anything
    ///   follows the end of the stream.
    func inflate(_ bytes: Span<UInt8>, into body: inout [UInt8], limit: Int) throws(ResponseError) -> Bool {
        var consumed = 0
        while true {
            var (taken, made) = (0, 0)
            let status = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 16 * 1024) { room in
                let rest = bytes.extracting(consumed..<bytes.count)
                let status = rest.withUnsafeBufferPointer {
                    czlib_inflate(stream, $0.baseAddress, $0.count, &taken, room.baseAddress, room.count, &made)
                }
                if made <= limit - body.count { body.append(contentsOf: room[..<made]) } else { made = .max }
                return status
            }
            guard made != .max else { throw .bodyTooLarge }
            consumed += taken
            switch status {
            case CZLIB_MORE:
                if consumed == bytes.count, made < 16 * 1024 { return false }
                guard taken > 0 || made > 0 else { throw .gzip }
            case CZLIB_ENDED:
                guard consumed == bytes.count else { throw .gzip }
                return true
            default: throw .gzip
            }
        }
    }
}
