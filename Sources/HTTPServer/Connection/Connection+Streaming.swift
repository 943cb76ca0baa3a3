import EventLoops
import HTTPCore
import HTTPTypes

/// A response whose content is written in pieces.
extension Connection {
    /// Sends the head, and starts the producer of the content. The stream is already counted.
    func begin(_ response: Response, _ produce: @escaping ResponseProducer, to head: RequestHead) {
        // Without chunks the content ends with the connection.
        let isFramed = head.minorVersion > 0
        let context = ResponseSerializer.Context(
            method: head.method, minorVersion: head.minorVersion,
            closes: machine.closesAfterResponse || !isFramed)
        respond(response, for: context, .streaming)
        guard isOpen, !socket.peerHasEnded else {
            service.streams.leave()
            return close()
        }
        stream = ResponseBodyStream(produce, isFramed: isFramed, for: self, on: loop)
        // The drain came before the stream.
        if machine.isDraining { stream?.task.cancel() }
    }

    /// Sends a piece, and resumes `done` once the socket has taken it.
    func write(_ bytes: [UInt8], _ done: ResponseBodyStream.Taken) {
        guard isOpen, !machine.isDraining, case .streaming = progress, let stream, stream.waiting == nil else {
            return done.resume(returning: false)
        }
        guard !bytes.isEmpty else { return done.resume(returning: true) }
        machine.responseBegan(at: .now())
        self.stream?.waiting = done
        write { ResponseSerializer.append(chunk: bytes, isFramed: stream.isFramed, to: &$0) }
    }

    /// - Parameter isWhole: Whether the content is complete. If not, the connection is cut.
    func streamEnded(isWhole: Bool) {
        guard isOpen, case .streaming = progress, let stream else { return }
        guard isWhole else { return close() }
        closesAfterResponse = closesAfterResponse || machine.closesAfterResponse
        progress = .sending
        endStream()
        let now = MonotonicTime.now()
        machine.responseBegan(at: now)
        slot.markIdle(at: now)
        if stream.isFramed {
            write { $0.append(contentsOf: ResponseSerializer.lastChunk) }
        } else if isFlushed {
            progress = .sent
        }
        if !isRunning, let next = takeNext() { run(next) }
    }

    func endStream() {
        guard let ended = stream.take() else { return }
        service.streams.leave()
        ended.end()
    }
}

extension HTTPError {
    static let tooManyStreams = HTTPError(
        .serviceUnavailable, code: "temporarily_unavailable",
        message: "Too many responses are being streamed. Try again later.", headers: [.retryAfter: "30"])
}

/// A streamed response: the task that produces it, and the continuation that waits until the socket takes a piece. For
/// its loop's thread only.
struct ResponseBodyStream {
    /// Resumed with whether the socket has taken a piece.
    typealias Taken = CheckedContinuation<Bool, Never>

    /// Whether its pieces are chunks; without them the content ends with the connection.
    let isFramed: Bool
    /// Produces the content, until it is cancelled.
    let task: Task<Void, Never>
    /// Waits while a piece is being sent: one at a time.
    var waiting: Taken?

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

    /// Ends the stream.
    func end() {
        task.cancel()
        waiting?.resume(returning: false)
    }
}
