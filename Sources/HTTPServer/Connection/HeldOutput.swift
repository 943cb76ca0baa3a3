import EventLoops

/// What a connection's unread output costs: bytes kept here, and bytes in the send buffer of the socket.
struct HeldOutput {
    /// Fewer bytes in the system's buffer do not count.
    private static let least = 4096
    /// The system is asked at once after so many bytes, and not only at the next tick.
    private static let most = 32 * 1024

    /// In the ``MemoryBudget``; nil while nothing counts.
    var slot: Slot?
    /// What counts there.
    var bytes = 0
    /// What the system had for the peer when it was asked last.
    private(set) var inSystem = 0
    /// Sent since the system was asked.
    private var sent = 0

    /// Whether to ask the system at the next tick, because it may have much for the peer.
    var isDue: Bool { sent >= HeldOutput.least || inSystem > 0 }
    /// Whether to ask it at once.
    var isDueNow: Bool { sent >= HeldOutput.most }

    mutating func count(_ bytes: Int) { sent += bytes }

    mutating func update(inSystem bytes: Int) {
        sent = 0
        inSystem = bytes >= HeldOutput.least ? bytes : 0
    }
}
