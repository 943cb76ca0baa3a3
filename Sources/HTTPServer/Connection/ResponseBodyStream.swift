import EventLoops

/// A streamed response: the task that produces it, and the continuation that waits until the socket takes a piece. For
/// its loop's thread only.
struct ResponseBodyStream {
    /// Resumed with whether the socket has taken a piece.
    typealias Taken = CheckedContinuation<Bool, Never>

    /// Whether its pieces are chunks; without them the content ends with the connection.
    let isFramed: Bool
    private let task: Task<Void, Never>
    private var waiting: Taken?

    /// Starts the producer. Each piece goes to the connection's `write`, the end to its `streamEnded`.
    init(_ produce: @escaping ResponseProducer, isFramed: Bool, for connection: Connection, on loop: EventLoop) {
        self.isFramed = isFramed
        let writer = ResponseWriter { [weak connection, loop] bytes in
            await withCheckedContinuation { done in
                loop.execute { [weak connection] in
                    guard let connection else { return done.resume(returning: false) }
                    connection.write(bytes, done)
                }
            }
        }
        task = Task(executorPreference: loop) { [weak connection, loop] in
            let isWhole: Bool
            do {
                try await produce(writer)
                isWhole = true
            } catch {
                isWhole = false
            }
            loop.execute { [weak connection] in connection?.streamEnded(isWhole: isWhole) }
        }
    }

    /// Whether a piece is being sent: one at a time.
    var isWaiting: Bool { waiting != nil }

    mutating func wait(_ done: Taken) { waiting = done }

    /// The socket has taken what was written.
    mutating func pieceWasSent() {
        waiting?.resume(returning: true)
        waiting = nil
    }

    /// Cancels the producer.
    func cancel() { task.cancel() }

    /// Ends the stream.
    func end() {
        task.cancel()
        waiting?.resume(returning: false)
    }
}
