import EventLoops
import HTTPCore

/// The bytes of a connection that its socket has not taken. Content that others hold too is referenced.
struct UnsentOutput {
    private var pieces: [ResponseContent] = []
    /// Where the first piece continues.
    private var start = 0
    /// Bytes that no other object holds.
    private(set) var ownBytes = 0

    var isEmpty: Bool { pieces.isEmpty }

    mutating func add(_ bytes: [UInt8]) { add(ResponseContent(bytes)) }

    mutating func add(_ content: ResponseContent) {
        guard content.count > 0 else { return }
        if pieces.isEmpty { start = content.part.lowerBound }
        pieces.append(content)
        if content.owner == nil { ownBytes += content.bytes.count }
    }

    /// Passes the bytes to `send`, piece by piece, until it takes less than a piece.
    /// - Parameter send: Gets bytes, and whether others follow; returns how many it took, nil for a failure.
    /// - Returns: How many were taken; nil after a failure.
    mutating func send(_ send: (UnsafeRawBufferPointer, Bool) -> Int?) -> Int? {
        var total = 0
        var sent = 0
        while sent < pieces.count {
            let piece = pieces[sent]
            let hasMore = sent + 1 < pieces.count
            let taken = piece.bytes.withUnsafeBytes {
                send(UnsafeRawBufferPointer(rebasing: $0[start..<piece.part.upperBound]), hasMore)
            }
            guard let taken else { return nil }
            total += taken
            start += taken
            guard start == piece.part.upperBound else { break }
            if piece.owner == nil { ownBytes -= piece.bytes.count }
            sent += 1
            start = hasMore ? pieces[sent].part.lowerBound : 0
        }
        pieces.removeFirst(sent)
        return total
    }
}

/// How much of a connection's output is in the send buffer of its socket.
struct UnsentAccounting {
    /// Fewer bytes in the system's buffer do not count.
    private static let least = 4096
    /// The system is asked at once after so many bytes, and not only at the next tick.
    private static let most = 32 * 1024

    /// What the system had for the peer when it was asked last.
    private(set) var inSystem = 0
    /// Sent since the system was asked.
    private var sent = 0

    /// Whether to ask the system at the next tick, because it may have much for the peer.
    var isDue: Bool { sent >= UnsentAccounting.least || inSystem > 0 }
    /// Whether to ask it at once.
    var isDueNow: Bool { sent >= UnsentAccounting.most }

    mutating func count(_ bytes: Int) { sent += bytes }

    mutating func update(inSystem bytes: Int) {
        sent = 0
        inSystem = bytes >= UnsentAccounting.least ? bytes : 0
    }
}

/// The memory that a connection's output takes, for the ``MemoryBudget`` that all connections share.
extension Connection {
    /// What the system may keep for one socket.
    private var systemBytes: Int { 2 * service.limits.sendBufferBytes }

    /// Counts what is kept for the peer. A socket that does not take everything is full.
    func holdOutput(at now: MonotonicTime) {
        if case .closed = lifetime { return }
        let bytes = isFlushed ? min(2 * unsent.inSystem, systemBytes) : output.ownBytes + systemBytes
        heldOutput.hold(bytes, of: service.output, for: self, at: now)
    }

    /// Asks the system how many bytes it still has for the peer. Without effect while others wait here.
    @discardableResult
    func measureSendQueue(at now: MonotonicTime) -> Int {
        guard isFlushed else { return 0 }
        let bytes = SystemCalls.unsentBytes(socket.descriptor)
        unsent.update(inSystem: bytes)
        holdOutput(at: now)
        return bytes
    }
}
