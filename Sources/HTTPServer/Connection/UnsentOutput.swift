/// The bytes of a connection that its peer has not received: those that the socket has not taken, and how many of the
/// others the system still has. Content that others hold too is referenced.
package struct UnsentOutput {
    /// Fewer bytes in the system's buffer do not count.
    private static let least = 4096
    /// The system is asked at once after so many bytes, and not only at the next tick.
    private static let most = 32 * 1024

    /// What is sent first, from `start` on.
    package var bytes: [UInt8] = []
    /// What is sent then, from where it is.
    private var content: ResponseContent?
    /// Where ``bytes`` continue, or the content once they are sent.
    private var start = 0
    /// What the system had for the peer when it was asked last.
    private var inSystem = 0
    /// Sent since the system was asked.
    private var sent = 0

    /// Whether the socket has refused some of the bytes.
    private var isFull = false

    /// Whether the socket has taken all bytes.
    package var isEmpty: Bool { bytes.isEmpty && content == nil }
    /// Whether the bytes only wait for the end of the loop's turn.
    var isDue: Bool { !isEmpty && !isFull }
    /// Whether to ask the system at the next tick, because it may have much for the peer.
    package var measuresAtTick: Bool { isEmpty && (sent >= UnsentOutput.least || inSystem > 0) }
    package var measuresNow: Bool { sent >= UnsentOutput.most }

    /// The memory that the output takes. A socket that does not take everything is full.
    /// - Parameter systemBytes: What the system may keep for one socket.
    package func heldBytes(ofSystem systemBytes: Int) -> Int {
        guard isFull else { return min(2 * inSystem, systemBytes) }
        return bytes.capacity + (content.map { $0.owner == nil ? $0.bytes.count : 0 } ?? 0) + systemBytes
    }

    /// Adds the last bytes of a response, whose head is in ``bytes``. Nothing follows them until they are sent.
    mutating func add(_ content: ResponseContent) { self.content = content }

    package mutating func update(inSystem bytes: Int) {
        sent = 0
        inSystem = bytes >= UnsentOutput.least ? bytes : 0
    }

    package mutating func drop() { (bytes, content, start, isFull) = ([], nil, 0, false) }

    /// Passes the bytes to `send`, until it takes less than all of them.
    /// - Parameter send: Gets bytes, and whether others follow; returns how many it took, nil for a failure.
    /// - Returns: False after a failure.
    package mutating func send(_ send: (UnsafeRawBufferPointer, Bool) -> Int?) -> Bool {
        defer { isFull = !isEmpty }
        if !bytes.isEmpty {
            let more = content != nil
            guard count(bytes.withUnsafeBytes { send(UnsafeRawBufferPointer(rebasing: $0[start...]), more) }) else {
                return false
            }
            guard start == bytes.count else { return true }
            // The content may wait for long.
            bytes.removeAll(keepingCapacity: !more)
            start = content?.part.lowerBound ?? 0
        }
        guard let end = content?.part.upperBound else { return true }
        let taken = content?.bytes.withUnsafeBytes {
            send(UnsafeRawBufferPointer(rebasing: $0[start..<end]), false)
        }
        guard count(taken ?? nil) else { return false }
        if start == end { (content, start) = (nil, 0) }
        return true
    }

    private mutating func count(_ taken: Int?) -> Bool {
        sent += taken ?? 0
        start += taken ?? 0
        return taken != nil
    }
}
