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

    init(label: String, tick: Duration) throws(SystemError) {
        events = try EventLoop(label: label, tick: tick)
    }
}
