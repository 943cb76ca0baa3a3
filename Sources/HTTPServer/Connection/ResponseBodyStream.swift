import EventLoops
import HTTPTypes

/// A streamed response: the task that produces it, and the continuation that waits until the socket takes a piece. For
/// its loop's thread only.
struct ResponseBodyStream {
    /// Resumed with whether the socket has taken a piece.
    typealias Taken = CheckedContinuation<Bool, Never>

    /// Produces the content, until it is cancelled.
    let task: Task<Void, Never>
    /// Waits while a piece is being sent: one at a time.
    var waiting: Taken?

    /// Starts the producer. Each piece goes to the connection's `write`, the end to its `streamEnded`.
    init(_ produce: @escaping ResponseProducer, for connection: Connection, on loop: EventLoop) {
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

    /// Ends the stream.
    func end() {
        task.cancel()
        waiting?.resume(returning: false)
    }
}

extension HTTPError {
    static let tooManyStreams = HTTPError(
        .serviceUnavailable, code: "temporarily_unavailable",
        message: "Too many responses are being streamed. Try again later.", headers: [.retryAfter: "30"])
}
