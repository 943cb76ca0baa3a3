package import EventLoops

/// How a connection writes its responses, and how it ends.
extension ConnectionMachine {
    /// How far the response to the current request has come.
    package enum Progress: Sendable, Hashable {
        case none
        /// The response is complete; the socket has not taken all of it.
        case sending
        /// The handler still writes pieces, one at a time.
        /// - Parameter isFramed: Whether its pieces are chunks; without them the content ends with the connection.
        case streaming(isFramed: Bool, hasPiece: Bool)
        case sent
    }

    /// How the bytes of a response go to the socket.
    package enum Route: Sendable, Hashable {
        /// Head and content at once.
        case together
        /// Head and content once the loop has served the other events of its turn.
        case atEndOfTurn
        /// The content after the head, from where it is.
        case apart
    }

    /// What to do with a piece of a stream.
    package enum PieceAction: Sendable, Hashable {
        case refuse
        /// It is empty.
        case skip
        case send(isFramed: Bool)
    }

    /// What to do at the end of a stream.
    package enum StreamEnd: Sendable, Hashable {
        /// The connection has ended before.
        case ignore
        /// Close: the client must notice that the content is not whole.
        case cut
        case sendLastChunk
        case nothing
    }

    /// What happens to bytes that the peer has not received when the connection ends.
    package enum UnreceivedOutput: Sendable, Hashable {
        /// The connection waits for the peer, as long as for a response.
        case linger
        /// The system keeps them, because the server stops.
        case detach
        case discarded
    }

    package enum Lifetime: Sendable, Hashable {
        case open
        /// Serves no more, and waits until its peer has received everything, or until this time.
        case closing(until: MonotonicTime)
        case closed
    }

    /// The next step of the end.
    package enum Ending: Sendable, Hashable {
        /// Already over.
        case none
        /// End this side, and wait for the peer.
        case linger
        /// Go on waiting.
        case wait
        /// Close the socket.
        /// - Parameter resetting: Whether the system forgets what the peer has not received.
        case release(resetting: Bool)
    }

    /// Larger contents are not copied into the buffer for responses, but sent from where they are.
    private static let copiedBytes = 16 * 1024

    /// Whether it serves requests.
    package var isOpen: Bool { if case .open = lifetime { true } else { false } }

    package var isStreaming: Bool { if case .streaming = progress { true } else { false } }

    // MARK: Responses

    /// Begins a response, or a streamed one.
    /// - Parameters:
    ///   - contentBytes: The length of the content.
    ///   - sendsContent: Whether the content is sent with the head.
    ///   - isLast: Whether the response says that it is the last one.
    ///   - isFramed: Of a stream, whether its pieces are chunks; nil for a complete response.
    ///   - turnHasMore: Whether the loop has other events to serve.
    package mutating func respond(
        contentBytes: Int, sendsContent: @autoclosure () -> Bool = true, isLast: Bool, streaming isFramed: Bool? = nil,
        turnHasMore: Bool = false, at now: MonotonicTime
    ) -> Route {
        responseBegan(at: now)
        closesWhenSent = isLast
        progress = isFramed.map { .streaming(isFramed: $0, hasPiece: false) } ?? .sending
        if contentBytes > ConnectionMachine.copiedBytes, sendsContent() { return .apart }
        return turnHasMore && isFramed == nil && output.isEmpty ? .atEndOfTurn : .together
    }

    /// A handler writes a piece of a stream. It is sent while no other one is, until the server stops.
    package mutating func write(pieceOf count: Int, at now: @autoclosure () -> MonotonicTime) -> PieceAction {
        guard isOpen, !isDraining, case .streaming(let isFramed, false) = progress else { return .refuse }
        guard count > 0 else { return .skip }
        progress = .streaming(isFramed: isFramed, hasPiece: true)
        responseBegan(at: now())
        return .send(isFramed: isFramed)
    }

    /// - Parameter isWhole: Whether the content is complete.
    package mutating func streamEnded(isWhole: Bool, at now: MonotonicTime) -> StreamEnd {
        guard isOpen, case .streaming(let isFramed, _) = progress else { return .ignore }
        guard isWhole else { return .cut }
        closesWhenSent = closesWhenSent || closesAfterResponse
        responseBegan(at: now)
        progress = isFramed || !output.isEmpty ? .sending : .sent
        return isFramed ? .sendLastChunk : .nothing
    }

    /// The socket has taken all output.
    package mutating func outputWasSent() {
        switch progress {
        case .sending: progress = .sent
        case .streaming(let isFramed, _):
            progress = .streaming(isFramed: isFramed, hasPiece: false)
            // A streamed response has nothing to send: there is no deadline.
            deadline = .never
        case .none, .sent: break
        }
    }

    /// Whether the response is sent, so that the next action is due.
    package var isSent: Bool { if case .sent = progress { true } else { false } }

    // MARK: End

    /// Ends, or continues to: a closed socket leaves to the system what its peer has not received, and no limit counts
    /// those bytes. So a connection keeps its place until its peer has everything.
    /// - Parameter inSystem: How many bytes the system has for the peer.
    package mutating func end(inSystem: Int, at now: MonotonicTime) -> Ending {
        var isCut = false
        output.update(inSystem: inSystem)
        switch lifetime {
        case .closed: return .none
        case .open:
            // What the peer gets is incomplete anyway: the system need not keep it.
            isCut = !output.isEmpty
            if isCut || isInHandshake { unreceived = .discarded }
            closed()
            output.drop()
            if case .linger = unreceived, inSystem > 0 {
                lifetime = .closing(until: now.advanced(by: periods.write))
                return .linger
            }
        case .closing(let until):
            if case .linger = unreceived, inSystem > 0 {
                guard now >= until else { return .wait }
                unreceived = .discarded
            }
        }
        lifetime = .closed
        return .release(resetting: isCut || unreceived == .discarded && inSystem > 0)
    }
}
