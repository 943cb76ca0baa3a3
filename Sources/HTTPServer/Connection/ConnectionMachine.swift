package import EventLoops

/// The state machine of a connection: bytes, time and responses go in, the next action comes out. It owns no socket,
/// reads no clock and calls no handler, so tests cover its rules with tables.
///
/// One request at a time: nothing is read while a request is handled, so that TCP holds back a client that sends more,
/// and responses leave in the order of the requests.
package struct ConnectionMachine {
    package enum Action {
        case wait
        /// Give this request to the handler, then call ``respond(_:to:date:turnHasMore:at:)``.
        case handle(RequestHead, body: [UInt8])
        /// Respond with this error and close.
        case refuse(RequestError)
        /// The last response is sent: end this side, then wait.
        case endWriting
        /// Close without a response.
        case close
    }

    enum Phase {
        /// Before the first request: no request is read.
        case handshake
        /// Between requests.
        case idle
        case head(HeadParser)
        case body(RequestHead, remaining: Int, received: [UInt8])
        case chunks(RequestHead, ChunkedBody)
        case handling
        /// A response is complete; perhaps the socket has not taken all of it.
        case responding
        /// A handler still writes the pieces of a response, one at a time.
        /// - Parameters:
        ///   - isFramed: Whether its pieces are chunks; without them the content ends with the connection.
        ///   - hasPiece: Whether the socket has not taken the last one.
        case streaming(isFramed: Bool, hasPiece: Bool)
        /// The last response is sent; input is discarded until the client closes too, because closing first could
        /// destroy the response on its way (RFC 9112 section 9.6).
        case lingering
        /// To be closed: nothing is read or sent any more.
        case ended
        /// Serves no more, and waits until its peer has received everything.
        case closing
        case closed
    }

    /// How long and how much a client may send after the last response.
    private static let lingerTime = Duration.seconds(2)
    private static let lingerBytes = 1 << 20

    /// How long a connection beyond the limits may take for its request.
    private static let restrictedTime = Duration.seconds(2)

    let limits: MessageLimits
    let periods: Periods
    let restriction: Restriction?
    var phase = Phase.idle
    var framing = MessageFraming()
    /// Received bytes not used yet, from `unusedStart` on.
    var unused: [UInt8] = []
    var unusedStart = 0
    var requestCount = 0
    private(set) var inputHasEnded = false
    package private(set) var isDraining = false
    private var lingered = 0
    /// Whether the connection closes after the current response.
    var closesWhenSent = false
    /// What the peer has not received yet.
    package var output = UnsentOutput()
    package var unreceived = UnreceivedOutput.linger
    /// The latest time to call ``tick(at:)``.
    package internal(set) var deadline: MonotonicTime

    /// The deadlines of ``ServerTimeouts``.
    struct Periods {
        let header: Nanoseconds
        let body: Nanoseconds
        let idle: Nanoseconds
        let write: Nanoseconds

        init(_ timeouts: ServerTimeouts) {
            header = Nanoseconds(timeouts.header)
            body = Nanoseconds(timeouts.body)
            idle = Nanoseconds(timeouts.idle)
            write = Nanoseconds(timeouts.write)
        }
    }

    /// What a connection beyond the limits serves: probes, and one request only.
    package struct Restriction: Sendable {
        /// The response to everything else.
        let refusal: RequestError
        let probePaths: Set<String>
    }

    package init(
        limits: ServerLimits, timeouts: ServerTimeouts, restriction: Restriction? = nil, at now: MonotonicTime
    ) {
        self.restriction = restriction
        var (limits, timeouts) = (limits, timeouts)
        if restriction?.probePaths.isEmpty == false {
            limits.requestsPerConnection = 1
            timeouts.header = min(timeouts.header, ConnectionMachine.restrictedTime)
            timeouts.body = min(timeouts.body, ConnectionMachine.restrictedTime)
            timeouts.write = min(timeouts.write, ConnectionMachine.restrictedTime)
        }
        self.limits = MessageLimits(limits)
        periods = Periods(timeouts)
        deadline = .never
        awaitFirstRequest(at: now)
    }

    /// A client that has not sent a request yet gets less time than one that has.
    mutating func awaitFirstRequest(at now: MonotonicTime) {
        phase = .idle
        deadline = now.advanced(by: min(periods.header, periods.idle))
    }

    /// A handshake comes before the first request.
    package mutating func beginHandshake(until deadline: MonotonicTime) {
        phase = .handshake
        self.deadline = deadline
    }

    package var wantsInput: Bool {
        if case .lingering = phase { !inputHasEnded } else { isReading && !inputHasEnded }
    }

    /// Whether the connection is between requests and holds no part of the next one.
    package var isIdle: Bool { if case .idle = phase { unusedStart == unused.count } else { false } }

    /// Whether it has not received all of the next request.
    var isReading: Bool {
        switch phase {
        case .idle, .head, .body, .chunks: true
        case .handshake, .handling, .responding, .streaming, .lingering, .ended, .closing, .closed: false
        }
    }

    /// The memory of received bytes that no handler has yet: of a request that has not arrived in full, and of what
    /// follows one that is being handled.
    package var heldBytes: Int {
        var bytes = unused.capacity
        if case .body(_, _, let received) = phase { bytes += received.capacity }
        if case .chunks(_, let body) = phase { bytes += body.content.capacity }
        return bytes
    }

    /// Whether it waits for a handler, or for the socket to take output.
    var isWaiting: Bool { isOpen && !wantsInput && !isSent }

    /// Whether it takes no further request, and has responded to all that it received.
    package var isDone: Bool { isDraining && isIdle }

    var isHandling: Bool { if case .handling = phase { true } else { false } }

    /// Whether no response is under way, so that another one may follow.
    var mayRespond: Bool { isReading || isHandling || isSent }

    var isInHandshake: Bool { if case .handshake = phase { true } else { false } }

    /// Whether the response to the current request is the connection's last one. Except after errors, it says so.
    package var closesAfterResponse: Bool {
        !framing.keepsAlive || isDraining || inputHasEnded && unusedStart == unused.count
            || requestCount >= limits.requestsPerConnection
    }

    package mutating func receive(_ bytes: Span<UInt8>, at now: MonotonicTime) -> Action {
        if case .lingering = phase { return linger(bytes.count) }
        guard unusedStart < unused.count else {
            let action = advance(over: bytes, at: now)
            if action.used < bytes.count {
                unused = bytes.extracting(action.used...).withUnsafeBufferPointer { Array($0) }
                unusedStart = 0
            }
            return action.action
        }
        if unusedStart > 0 {
            unused.removeSubrange(..<unusedStart)
            unusedStart = 0
        }
        bytes.withUnsafeBufferPointer { unused.append(contentsOf: $0) }
        return advanceOverUnused(at: now)
    }

    package mutating func inputEnded() -> Action {
        inputHasEnded = true
        switch phase {
        case .handshake, .idle, .lingering, .ended, .closing, .closed: return close()
        case .head, .body, .chunks: return refuse(.incomplete)
        case .handling, .responding, .streaming: return .wait
        }
    }

    /// The next action after a sent response. Continues with the bytes received meanwhile.
    package mutating func nextAction(at now: MonotonicTime) -> Action {
        guard !closesWhenSent else { return endWriting(at: now) }
        framing = MessageFraming()
        phase = .idle
        deadline = now.advanced(by: periods.idle)
        guard unusedStart < unused.count else { return inputHasEnded ? close() : .wait }
        let action = advanceOverUnused(at: now)
        guard inputHasEnded else { return action }
        switch action {
        case .wait: return refuse(.incomplete)
        case .handle, .refuse, .endWriting, .close: return action
        }
    }

    /// The client has its last response, or an alert in place of one: it may still send.
    mutating func endWriting(at now: MonotonicTime) -> Action {
        guard !inputHasEnded else { return close() }
        dropUnused()
        phase = .lingering
        deadline = now.advanced(by: ConnectionMachine.lingerTime)
        return .endWriting
    }

    package mutating func tick(at now: MonotonicTime) -> Action {
        guard now >= deadline else { return .wait }
        switch phase {
        case .head: return refuse(.headerTimeout)
        case .body, .chunks: return refuse(.bodyTimeout)
        case .idle: return restriction.map { refuse($0.refusal) } ?? close()
        case .responding, .streaming, .lingering, .ended, .closing, .closed: return close()
        case .handshake: return .close
        case .handling: return .wait
        }
    }

    /// Refuses a request that has not arrived in full. One that a handler has is the last one, and what has arrived
    /// after it is dropped.
    mutating func refuseIncompleteRequest() -> Action {
        if isReading { return refuse(.incompleteRequests) }
        isDraining = true
        dropUnused()
        return .wait
    }

    /// The connection takes no further request: the next response is the last one, and says so; see ``isDone``. A
    /// reader that has not taken the last piece of a stream would delay the end.
    package mutating func drain() -> Action {
        isDraining = true
        if isInHandshake { return .close }
        return isStreaming && !output.isEmpty ? close() : .wait
    }

    private mutating func close() -> Action {
        phase = .ended
        deadline = .never
        return .close
    }

    mutating func refuse(_ error: RequestError) -> Action {
        phase = .handling
        deadline = .never
        dropUnused()
        framing.keepsAlive = false
        return .refuse(restriction?.refusal ?? error)
    }

    /// What follows may be the rest of a request, so nothing more is read from this connection.
    mutating func dropUnused() {
        (unused, unusedStart) = ([], 0)
        closesWhenSent = true
    }

    private mutating func linger(_ count: Int) -> Action {
        lingered += count
        return lingered > ConnectionMachine.lingerBytes ? close() : .wait
    }
}
