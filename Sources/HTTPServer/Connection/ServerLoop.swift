import EventLoops

/// What the connections of one loop share.
///
/// Sendable without the compiler's check: variables are used on the loop's thread only.
final class ServerLoop: @unchecked Sendable {
    /// A buffer that has grown larger is released.
    private static let keptBufferCapacity = 64 * 1024

    let events: EventLoop
    /// For the output of the next response. A connection has it until its socket has taken everything.
    @exclusivity(unchecked) var buffer: [UInt8] = []
    @exclusivity(unchecked) var date = DateField()
    /// The connections whose responses wait for the end of the turn.
    private var waiting: [Connection] = []
    /// More do not wait, so that the first of them does not wait long.
    private static let mostWaiting = 32
    /// The requests that handlers have, for ``isBusy``.
    @exclusivity(unchecked) var requestsInProgress = 0
    /// So few requests are not an overload: then the machine is slow, and a refusal would make nothing faster.
    private static let minimumRequestsForOverload = 8

    /// Whether enough requests are in progress to refuse others.
    var isBusy: Bool { requestsInProgress >= ServerLoop.minimumRequestsForOverload }

    init(label: String, tick: Duration) throws(SystemError) {
        events = try EventLoop(label: label, tick: tick)
    }

    /// Takes the buffer back, empty.
    func keep(_ buffer: [UInt8]) {
        guard buffer.capacity > self.buffer.capacity, buffer.capacity <= ServerLoop.keptBufferCapacity else { return }
        self.buffer = buffer
    }

    /// Has a connection send its output once the loop has served the other events of its turn.
    ///
    /// So the responses of a turn leave one after the other. A client with several connections wakes up once for all of
    /// them, and does not take the processor from the loop after each.
    func sendLater(_ connection: Connection) {
        assert(events.isCurrent)
        waiting.append(connection)
        if waiting.count == 1 { events.execute { self.sendWaiting() } }
        if waiting.count == ServerLoop.mostWaiting { sendWaiting() }
    }

    private func sendWaiting() {
        var connections: [Connection] = []
        swap(&connections, &waiting)
        for connection in connections { connection.sendWaiting() }
        // The next turn needs no new memory, unless a connection had another response already.
        guard waiting.isEmpty else { return }
        connections.removeAll(keepingCapacity: true)
        waiting = connections
    }
}
