package import EventLoops

/// The state machine of a connection: bytes, time and responses go in, the next action comes out. It owns no socket,
/// reads no clock and calls no handler, so tests cover its rules with tables.
///
/// One request at a time: nothing is read while a request is handled, so that TCP holds back a client that sends more,
/// and responses leave in the order of the requests.
package struct ConnectionMachine {
    /// What the connection does next.
    package enum Action {
        /// Wait for the next event.
        case wait
        /// Send 100 Continue (RFC 9110 section 10.1.1), then wait.
        case sendContinue
        /// Give this request to the handler, then call
        /// ``respond(contentBytes:sendsContent:isLast:streaming:turnHasMore:at:)``.
        case handle(RequestHead, body: [UInt8])
        /// Respond with this error and close.
        case refuse(RequestError)
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
        /// A handler has the request.
        case handling
        /// A response is being sent.
        case responding
        /// The last response is sent; input is discarded until the client closes too, because closing first could
        /// destroy the response on its way (RFC 9112 section 9.6).
        case lingering
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
    private var inputHasEnded = false
    package private(set) var isDraining = false
    private var lingered = 0
    package internal(set) var progress = Progress.none
    /// Whether the connection closes after the current response.
    package internal(set) var closesWhenSent = false
    /// What the peer has not received yet.
    package var output = UnsentOutput()
    package internal(set) var lifetime = Lifetime.open
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
        if restriction?.probePaths.isEmpty ?? true {
            self.limits = MessageLimits(limits)
            periods = Periods(timeouts)
        } else {
            var (limits, timeouts) = (limits, timeouts)
            limits.requestsPerConnection = 1
            timeouts.header = min(timeouts.header, ConnectionMachine.restrictedTime)
            timeouts.body = min(timeouts.body, ConnectionMachine.restrictedTime)
            timeouts.write = min(timeouts.write, ConnectionMachine.restrictedTime)
            self.limits = MessageLimits(limits)
            periods = Periods(timeouts)
        }
        // A client that has not sent a request yet gets less time than one that has.
        deadline = now.advanced(by: min(periods.header, periods.idle))
    }

    /// A handshake comes before the first request.
    package mutating func beginHandshake(until deadline: MonotonicTime) {
        phase = .handshake
        self.deadline = deadline
    }

    /// Whether received bytes are wanted now.
    package var wantsInput: Bool {
        switch phase {
        case .idle, .head, .body, .chunks, .lingering: !inputHasEnded
        case .handshake, .handling, .responding, .closed: false
        }
    }

    /// Whether the connection is between requests and holds no part of the next one.
    package var isIdle: Bool { if case .idle = phase { unusedStart == unused.count } else { false } }

    /// Whether it has not received all of the next request.
    var isReading: Bool {
        switch phase {
        case .idle, .head, .body, .chunks: true
        case .handshake, .handling, .responding, .lingering, .closed: false
        }
    }

    /// The memory of received bytes that no handler has yet.
    package var heldBytes: Int {
        switch phase {
        case .body(_, _, let received): unused.capacity + received.capacity
        case .chunks(_, let body): unused.capacity + body.content.capacity
        case .handshake, .idle, .head, .handling, .responding, .lingering, .closed: unused.capacity
        }
    }

    var isHandling: Bool { if case .handling = phase { true } else { false } }

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

    /// The client has closed its side.
    package mutating func inputEnded() -> Action {
        inputHasEnded = true
        switch phase {
        case .handshake, .idle, .lingering, .closed: return close()
        case .head, .body, .chunks: return refuse(.incomplete)
        case .handling, .responding: return .wait
        }
    }

    /// The response is given to the socket; the write deadline begins.
    mutating func responseBegan(at now: MonotonicTime) {
        phase = .responding
        deadline = now.advanced(by: periods.write)
    }

    /// The next action after a sent response. Continues with the bytes received meanwhile.
    package mutating func nextAction(at now: MonotonicTime) -> Action {
        progress = .none
        if closesWhenSent {
            guard !inputHasEnded else { return close() }
            dropUnused()
            phase = .lingering
            deadline = now.advanced(by: ConnectionMachine.lingerTime)
            return .wait
        }
        framing = MessageFraming()
        phase = .idle
        deadline = now.advanced(by: periods.idle)
        guard unusedStart < unused.count else { return inputHasEnded ? close() : .wait }
        let action = advanceOverUnused(at: now)
        guard inputHasEnded else { return action }
        switch action {
        case .wait, .sendContinue: return refuse(.incomplete)
        case .handle, .refuse, .close: return action
        }
    }

    /// The client got an alert in place of a response: it may still send.
    mutating func handshakeFailed(at now: MonotonicTime) -> Action {
        closesWhenSent = true
        return nextAction(at: now)
    }

    package mutating func tick(at now: MonotonicTime) -> Action {
        guard now >= deadline else { return .wait }
        switch phase {
        case .head: return refuse(.headerTimeout)
        case .body, .chunks: return refuse(.bodyTimeout)
        case .idle: return restriction.map { refuse($0.refusal) } ?? close()
        case .responding, .lingering, .closed: return close()
        case .handshake: return .close
        case .handling: return .wait
        }
    }

    /// The next response is the last one, and says so.
    mutating func takeLastRequest() { isDraining = true }

    /// As ``takeLastRequest()``; what has arrived after the current request is dropped.
    mutating func dropFollowingRequests() {
        takeLastRequest()
        dropUnused()
    }

    /// The server stops: the connection takes no further request. A reader that has not taken the last piece of a
    /// stream would delay it.
    package mutating func drain() -> Action {
        isDraining = true
        if isInHandshake { return .close }
        return isIdle || isStreaming && !output.isEmpty ? close() : .wait
    }

    package mutating func closed() {
        phase = .closed
        dropUnused()
    }

    private mutating func close() -> Action {
        phase = .closed
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

    private mutating func dropUnused() { (unused, unusedStart) = ([], 0) }

    private mutating func linger(_ count: Int) -> Action {
        lingered += count
        return lingered > ConnectionMachine.lingerBytes ? close() : .wait
    }
}
