/// An answer's content that is made as time goes on: the task that makes it, and whoever waits for the socket to take a piece
/// of it. For its connection's queue only.
struct ResponseBodyStream {
    /// Is told whether the socket has taken a piece.
    typealias Taken = CheckedContinuation<Bool, Never>

    /// Whether its pieces are chunks; without them the connection's end is the content's.
    let isFramed: Bool
    private let task: Task<Void, Never>
    private var waiting: Taken?

    /// Has the content made. Each piece comes to the connection's `write`, and the end to its `streamEnded`.
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

    /// Whether a piece is on its way: there is one at a time.
    var isWaiting: Bool { waiting != nil }

    mutating func wait(_ done: Taken) { waiting = done }

    /// The socket has taken what was written.
    mutating func pieceHasGone() {
        waiting?.resume(returning: true)
        waiting = nil
    }

    /// Tells whoever makes the content to come to an end.
    func cancel() { task.cancel() }

    /// Nothing more is sent.
    func end() {
        task.cancel()
        waiting?.resume(returning: false)
    }
}
