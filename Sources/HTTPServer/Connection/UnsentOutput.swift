/// The bytes of a connection that its peer has not received: those that the socket has not taken, and how many of the
/// others the system still has. Content that others hold too is referenced.
package struct UnsentOutput {
    /// Fewer bytes in the system's buffer do not count.
    private static let least = 4096
    /// The system is asked at once after so many bytes, and not only at the next tick.
    private static let most = 32 * 1024

    private var pieces: [ResponseContent] = []
    /// Where the first piece continues.
    private var start = 0
    /// Bytes that no other object holds.
    private var ownBytes = 0
    /// What the system had for the peer when it was asked last.
    private var inSystem = 0
    /// Sent since the system was asked.
    private var sent = 0

    package init() {}

    /// Whether the socket has taken all bytes.
    package var isEmpty: Bool { pieces.isEmpty }
    /// Whether to ask the system at the next tick, because it may have much for the peer.
    package var measuresAtTick: Bool { sent >= UnsentOutput.least || inSystem > 0 }
    /// Whether to ask it at once.
    package var measuresNow: Bool { sent >= UnsentOutput.most }

    /// The memory that the output takes. A socket that does not take everything is full.
    /// - Parameter systemBytes: What the system may keep for one socket.
    package func heldBytes(ofSystem systemBytes: Int) -> Int {
        isEmpty ? min(2 * inSystem, systemBytes) : ownBytes + systemBytes
    }

    package mutating func add(_ bytes: [UInt8]) { add(ResponseContent(bytes)) }

    mutating func add(_ content: ResponseContent) {
        guard content.count > 0 else { return }
        if pieces.isEmpty { start = content.part.lowerBound }
        pieces.append(content)
        if content.owner == nil { ownBytes += content.bytes.count }
    }

    /// The socket has taken bytes.
    package mutating func count(_ bytes: Int) { sent += bytes }

    /// - Parameter bytes: What the system has for the peer.
    package mutating func update(inSystem bytes: Int) {
        sent = 0
        inSystem = bytes >= UnsentOutput.least ? bytes : 0
    }

    /// Nothing more is sent.
    package mutating func drop() { (pieces, start, ownBytes) = ([], 0, 0) }

    /// Passes the bytes to `send`, piece by piece, until it takes less than a piece.
    /// - Parameter send: Gets bytes, and whether others follow; returns how many it took, nil for a failure.
    /// - Returns: False after a failure.
    package mutating func send(_ send: (UnsafeRawBufferPointer, Bool) -> Int?) -> Bool {
        var finished = 0
        while finished < pieces.count {
            let piece = pieces[finished]
            let hasMore = finished + 1 < pieces.count
            let taken = piece.bytes.withUnsafeBytes {
                send(UnsafeRawBufferPointer(rebasing: $0[start..<piece.part.upperBound]), hasMore)
            }
            guard let taken else { return false }
            sent += taken
            start += taken
            guard start == piece.part.upperBound else { break }
            if piece.owner == nil { ownBytes -= piece.bytes.count }
            finished += 1
            start = hasMore ? pieces[finished].part.lowerBound : 0
        }
        pieces.removeFirst(finished)
        return true
    }
}
