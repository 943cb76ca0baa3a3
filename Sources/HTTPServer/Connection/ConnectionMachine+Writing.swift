package import EventLoops
import HTTPTypes

extension ConnectionMachine {
    /// What happens to bytes that the peer has not received when the connection ends.
    package enum UnreceivedOutput: Sendable, Hashable {
        /// The connection waits for the peer, as long as for a response.
        case linger
        /// The system keeps them, because the server stops.
        case detach
        case discarded
    }

    package enum Ending: Sendable, Hashable {
        case none
        /// End this side, and wait for the peer.
        case linger
        case wait
        /// Close the socket.
        /// - Parameter resetting: Whether the system forgets what the peer has not received.
        case release(resetting: Bool)
    }

    /// Larger contents are not copied behind the head, but sent from where they are.
    private static let copiedBytes = 16 * 1024

    package var isOpen: Bool {
        switch phase {
        case .closing, .closed: false
        default: true
        }
    }

    package var isStreaming: Bool { if case .streaming = phase { true } else { false } }

    /// Whether the output is a 100 Continue that was not given to the socket yet.
    var hasInterimResponse: Bool { wantsInput && output.isDue }

    // MARK: Responses

    /// Adds a response to the output, or the head of a streamed one.
    /// - Parameters:
    ///   - head: Of the request; nil for one that was refused.
    ///   - date: The lines of ``DateField``.
    ///   - turnHasMore: Whether the loop has other events to serve.
    /// - Returns: Whether the output is sent only once the loop has served them.
    mutating func respond(
        _ response: borrowing Response, to head: RequestHead?, date: [UInt8], turnHasMore: Bool = false,
        at now: MonotonicTime
    ) -> Bool {
        assert(isHandling)
        let (method, minorVersion) = (head?.method ?? .get, head?.minorVersion ?? 1)
        let isStreamed = ResponseSerializer.streams(response, to: method)
        // Without chunks the content ends with the connection.
        closesWhenSent = closesAfterResponse || isStreamed && minorVersion == 0
        phase = isStreamed ? .streaming(isFramed: minorVersion > 0, hasPiece: false) : .responding
        deadline = now.advanced(by: periods.write)
        let context = ResponseSerializer.Context(method: method, minorVersion: minorVersion, closes: closesWhenSent)
        let isApart =
            response.content.count > ConnectionMachine.copiedBytes
            && ResponseSerializer.sendsContent(of: response, for: context)
        let mayWait = turnHasMore && !isStreamed && !isApart && output.isEmpty
        ResponseSerializer.append(response, for: context, date: date, withContent: !isApart, to: &output.bytes)
        if isApart { output.add(response.content) }
        return mayWait
    }

    /// A handler writes a piece of a stream: it is added to the output. False while another one is being sent, and once
    /// the server stops.
    mutating func write(_ piece: [UInt8], at now: MonotonicTime) -> Bool {
        guard !isDraining, case .streaming(let isFramed, false) = phase else { return false }
        phase = .streaming(isFramed: isFramed, hasPiece: true)
        deadline = now.advanced(by: periods.write)
        ResponseSerializer.append(chunk: piece, isFramed: isFramed, to: &output.bytes)
        return true
    }

    /// - Parameter isWhole: Whether the content is complete. If not, the client must notice.
    mutating func streamEnded(isWhole: Bool, at now: MonotonicTime) -> Action {
        guard case .streaming(let isFramed, _) = phase else { return .wait }
        guard isWhole else { return .close }
        closesWhenSent = closesWhenSent || closesAfterResponse
        phase = .responding
        deadline = now.advanced(by: periods.write)
        if isFramed { output.bytes += ResponseSerializer.lastChunk }
        return .wait
    }

    mutating func send(_ send: (UnsafeRawBufferPointer, Bool) -> Int?) -> Bool {
        guard output.send(send) else { return false }
        if output.isEmpty, case .streaming(let isFramed, _) = phase {
            phase = .streaming(isFramed: isFramed, hasPiece: false)
            // A streamed response has nothing to send: there is no deadline.
            deadline = .never
        }
        return true
    }

    /// Whether the response is sent, so that the next action is due.
    package var isSent: Bool { if case .responding = phase { output.isEmpty } else { false } }

    // MARK: End

    /// Ends, or continues to: a closed socket leaves to the system what its peer has not received, and no limit counts
    /// those bytes. So a connection keeps its place until its peer has everything.
    /// - Parameter inSystem: How many bytes the system has for the peer.
    package mutating func end(inSystem: Int, at now: MonotonicTime) -> Ending {
        var isCut = false
        output.update(inSystem: inSystem)
        switch phase {
        case .closed: return .none
        case .closing:
            if case .linger = unreceived, inSystem > 0 {
                guard now >= deadline else { return .wait }
                unreceived = .discarded
            }
        default:
            // What the peer gets is incomplete anyway: the system need not keep it.
            isCut = !output.isEmpty
            if isCut || isInHandshake { unreceived = .discarded }
            dropUnused()
            output.drop()
            if case .linger = unreceived, inSystem > 0 {
                phase = .closing
                deadline = now.advanced(by: periods.write)
                return .linger
            }
        }
        phase = .closed
        return .release(resetting: isCut || unreceived == .discarded && inSystem > 0)
    }
}
