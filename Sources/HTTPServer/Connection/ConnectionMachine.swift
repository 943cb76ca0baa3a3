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
        /// Give this request to the handler, then call ``responseBegan(at:)``.
        case handle(RequestHead, body: [UInt8])
        /// Respond with this error and close.
        case refuse(RequestError)
        /// Close without a response.
        case close
    }

    private enum Phase {
        /// Between requests.
        case idle
        case head(HeadParser)
        case body(RequestHead, remaining: Int, received: [UInt8])
        case chunks(RequestHead, ChunkedDecoder)
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

    private let limits: ServerLimits
    private let timeouts: ServerTimeouts
    private var phase = Phase.idle
    private var framing = MessageFraming()
    /// Received bytes not used yet, from `unusedStart` on.
    private var unused: [UInt8] = []
    private var unusedStart = 0
    private var requestCount = 0
    private var inputHasEnded = false
    package private(set) var isDraining = false
    private var lingered = 0
    /// The latest time to call ``tick(at:)``.
    package private(set) var deadline: MonotonicTime

    package init(limits: ServerLimits, timeouts: ServerTimeouts, at now: MonotonicTime) {
        self.limits = limits
        self.timeouts = timeouts
        // A client that has not sent a request yet gets less time than one that has.
        deadline = now.advanced(by: min(timeouts.header, timeouts.idle))
    }

    /// Whether received bytes are wanted now.
    package var wantsInput: Bool {
        switch phase {
        case .idle, .head, .body, .chunks, .lingering: !inputHasEnded
        case .handling, .responding, .closed: false
        }
    }

    /// Whether the connection is between requests and holds no part of the next one.
    package var isIdle: Bool {
        if case .idle = phase { return unusedStart == unused.count }
        return false
    }

    /// Whether the response to the current request is the connection's last one. Except after errors, it says so.
    package var closesAfterResponse: Bool {
        !framing.keepsAlive || isDraining || inputHasEnded && unusedStart == unused.count
            || requestCount >= limits.requestsPerConnection
    }

    /// Takes bytes from the socket.
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
        case .idle, .lingering, .closed: return close()
        case .head, .body, .chunks: return refuse(.incomplete)
        case .handling, .responding: return .wait
        }
    }

    /// The response was given to the socket; the write deadline begins.
    package mutating func responseBegan(at now: MonotonicTime) {
        phase = .responding
        deadline = now.advanced(by: timeouts.write)
    }

    /// A streamed response has nothing to send: there is no deadline.
    package mutating func responseRests() { deadline = .never }

    /// The response is sent. Continues with the bytes received meanwhile.
    /// - Parameter closing: Whether the response said that it is the last one.
    package mutating func responseEnded(closing: Bool, at now: MonotonicTime) -> Action {
        if closing {
            guard !inputHasEnded else { return close() }
            unused = []
            unusedStart = 0
            phase = .lingering
            deadline = now.advanced(by: ConnectionMachine.lingerTime)
            return .wait
        }
        framing = MessageFraming()
        phase = .idle
        deadline = now.advanced(by: timeouts.idle)
        guard unusedStart < unused.count else { return inputHasEnded ? close() : .wait }
        let action = advanceOverUnused(at: now)
        guard inputHasEnded else { return action }
        switch action {
        case .wait, .sendContinue: return refuse(.incomplete)
        case .handle, .refuse, .close: return action
        }
    }

    /// Time has passed.
    package mutating func tick(at now: MonotonicTime) -> Action {
        guard now >= deadline else { return .wait }
        switch phase {
        case .head: return refuse(.headerTimeout)
        case .body, .chunks: return refuse(.bodyTimeout)
        case .idle, .responding, .lingering, .closed: return close()
        case .handling: return .wait
        }
    }

    /// The server stops: the connection takes no further request.
    package mutating func drain() -> Action {
        isDraining = true
        return isIdle ? close() : .wait
    }

    /// The socket is gone.
    package mutating func closed() { phase = .closed }

    private mutating func close() -> Action {
        phase = .closed
        deadline = .never
        return .close
    }

    private mutating func refuse(_ error: RequestError) -> Action {
        phase = .handling
        deadline = .never
        unused = []
        unusedStart = 0
        framing.keepsAlive = false
        return .refuse(error)
    }

    private mutating func linger(_ count: Int) -> Action {
        lingered += count
        return lingered > ConnectionMachine.lingerBytes ? close() : .wait
    }
}

extension ConnectionMachine {
    private mutating func advanceOverUnused(at now: MonotonicTime) -> Action {
        // Moved out, so that its bytes can be read while this value changes.
        let bytes = unused
        unused = []
        let result = advance(over: bytes.span.extracting(unusedStart...), at: now)
        let used = unusedStart + result.used
        unusedStart = 0
        if used < bytes.count {
            unused = bytes
            unusedStart = used
        }
        return result.action
    }

    /// Uses bytes until there is an action; returns how many were used.
    private mutating func advance(over bytes: Span<UInt8>, at now: MonotonicTime) -> (action: Action, used: Int) {
        do throws(RequestError) {
            return try use(bytes, at: now)
        } catch {
            return (refuse(error), bytes.count)
        }
    }

    private mutating func use(
        _ bytes: Span<UInt8>, at now: MonotonicTime
    ) throws(RequestError) -> (action: Action, used: Int) {
        switch phase {
        case .idle:
            deadline = now.advanced(by: timeouts.header)
            return try useHead(HeadParser(limits: limits), bytes, at: now)
        case .head(let parser):
            phase = .idle
            return try useHead(parser, bytes, at: now)
        case .body(let head, let remaining, let received):
            phase = .idle
            return (useBody(head, remaining: remaining, received: received, bytes), min(remaining, bytes.count))
        case .chunks(let head, let decoder):
            phase = .idle
            return try useChunks(head, decoder, bytes)
        case .handling, .responding, .lingering, .closed: return (.wait, 0)
        }
    }

    private mutating func useHead(
        _ parser: HeadParser, _ bytes: Span<UInt8>, at now: MonotonicTime
    ) throws(RequestError) -> (action: Action, used: Int) {
        var parser = parser
        switch try parser.parse(bytes) {
        case .needsMore:
            // The head's bytes stay unused until it is complete: the parser gets them again with the next ones.
            phase = .head(parser)
            return (.wait, 0)
        case .complete(let head, let framing, let count):
            self.framing = framing
            requestCount += 1
            return try beginContent(of: head, bytes.extracting(count...), headBytes: count, at: now)
        }
    }

    private mutating func beginContent(
        of head: RequestHead, _ rest: Span<UInt8>, headBytes: Int, at now: MonotonicTime
    ) throws(RequestError) -> (action: Action, used: Int) {
        var result: (action: Action, used: Int)
        switch framing.content {
        case .none: return (handle(head, []), headBytes)
        case .length(let length):
            result = (useBody(head, remaining: length, received: [], rest), min(length, rest.count))
        case .chunked: result = try useChunks(head, ChunkedDecoder(limits: limits), rest)
        }
        if case .wait = result.action {
            deadline = now.advanced(by: timeouts.body)
            if framing.expectsContinue, rest.isEmpty { result.action = .sendContinue }
        }
        return (result.action, headBytes + result.used)
    }

    private mutating func useBody(
        _ head: RequestHead, remaining: Int, received: [UInt8], _ bytes: Span<UInt8>
    ) -> Action {
        var received = received
        let count = min(remaining, bytes.count)
        bytes.extracting(..<count).withUnsafeBufferPointer { received.append(contentsOf: $0) }
        if count == remaining { return handle(head, received) }
        phase = .body(head, remaining: remaining - count, received: received)
        return .wait
    }

    private mutating func useChunks(
        _ head: RequestHead, _ decoder: ChunkedDecoder, _ bytes: Span<UInt8>
    ) throws(RequestError) -> (action: Action, used: Int) {
        var decoder = decoder
        let used = try decoder.decode(bytes)
        if decoder.isComplete { return (handle(head, decoder.body), used) }
        phase = .chunks(head, decoder)
        return (.wait, used)
    }

    private mutating func handle(_ head: RequestHead, _ body: [UInt8]) -> Action {
        phase = .handling
        deadline = .never
        return .handle(head, body: body)
    }
}
