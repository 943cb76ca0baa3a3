import EventLoops

extension ConnectionMachine {
    mutating func advanceOverUnused(at now: MonotonicTime) -> Action {
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
    mutating func advance(over bytes: Span<UInt8>, at now: MonotonicTime) -> (action: Action, used: Int) {
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
            deadline = now.advanced(by: periods.header)
            return try useHead(HeadParser(limits: limits), bytes, at: now)
        case .head(let parser):
            phase = .idle
            return try useHead(parser, bytes, at: now)
        case .body(let head, let remaining, let received):
            phase = .idle
            return (useBody(head, remaining: remaining, received: received, bytes), min(remaining, bytes.count))
        case .chunks(let head, let body):
            phase = .idle
            return try useChunks(head, body, bytes)
        case .handshake, .handling, .responding, .streaming, .lingering, .ended, .closing, .closed: return (.wait, 0)
        }
    }

    private mutating func useHead(
        _ parser: consuming HeadParser, _ bytes: Span<UInt8>, at now: MonotonicTime
    ) throws(RequestError) -> (action: Action, used: Int) {
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
        let result: (action: Action, used: Int)
        switch framing.content {
        case .none: return (handle(head, []), headBytes)
        case .length(let length):
            result = (useBody(head, remaining: length, received: [], rest), min(length, rest.count))
        case .chunked: result = try useChunks(head, ChunkedBody(limits: limits), rest)
        }
        if case .wait = result.action {
            deadline = now.advanced(by: periods.body)
            if framing.expectsContinue, rest.isEmpty, !inputHasEnded {
                // RFC 9110 section 10.1.1.
                assert(output.isEmpty)
                output.bytes += ResponseSerializer.continueLine
            }
        }
        return (result.action, headBytes + result.used)
    }

    /// - Parameter received: Consumed: a copy for each piece would take a time that is quadratic in their number.
    private mutating func useBody(
        _ head: RequestHead, remaining: Int, received: consuming [UInt8], _ bytes: Span<UInt8>
    ) -> Action {
        let count = min(remaining, bytes.count)
        let needed = received.count + count
        if needed > received.capacity {
            // Not more than was announced, nor much more than has come.
            received.reserveCapacity(min(received.count + remaining, max(needed, 2 * received.capacity)))
        }
        bytes.extracting(..<count).withUnsafeBufferPointer { received.append(contentsOf: $0) }
        if count == remaining { return handle(head, received) }
        phase = .body(head, remaining: remaining - count, received: received)
        return .wait
    }

    private mutating func useChunks(
        _ head: RequestHead, _ body: consuming ChunkedBody, _ bytes: Span<UInt8>
    ) throws(RequestError) -> (action: Action, used: Int) {
        let used = try body.receive(bytes)
        if body.isComplete { return (handle(head, body.content), used) }
        phase = .chunks(head, body)
        return (.wait, used)
    }

    private mutating func handle(_ head: RequestHead, _ body: [UInt8]) -> Action {
        if let restriction, !restriction.probePaths.contains(head.path) { return refuse(restriction.refusal) }
        phase = .handling
        deadline = .never
        return .handle(head, body: body)
    }
}
