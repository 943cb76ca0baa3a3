import EventLoops

/// What the connections of one loop share.
///
/// Sendable without the compiler's check: variables are used on the loop's thread only.
final class ServerLoop: @unchecked Sendable {
    /// A buffer that has grown larger is released.
    static let keptWriteCapacity = 256 * 1024

    let events: EventLoop
    /// For responses on their way to a socket.
    var writeBuffer: [UInt8] = []
    var date = DateField()
    /// The requests that handlers have, for ``isBusy``.
    var requestsInProgress = 0
    /// So few requests are no overload: then the machine is slow, and a refusal would make nothing faster.
    private static let leastRequestsInOverload = 8

    /// Whether enough requests are in progress to refuse others.
    var isBusy: Bool { requestsInProgress >= ServerLoop.leastRequestsInOverload }

    init(label: String, tick: Duration) throws(SystemError) {
        events = try EventLoop(label: label, tick: tick)
    }
}
