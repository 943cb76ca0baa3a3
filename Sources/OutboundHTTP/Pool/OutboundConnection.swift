import EventLoops
import HTTPCore
import OpenIDConnect
import Primitives

/// A connection to a host: its tunnel through a proxy and its TLS handshake, then one exchange after the other.
///
/// Sendable without the compiler's check: used on its pool's loop only.
final class OutboundConnection: LoopMember, @unchecked Sendable {
    enum Stage { case tunnelling, handshaking, idle, exchanging, closed }

    let descriptor: Int32
    let host: HostKey
    let pool: ConnectionPool
    var stage = Stage.tunnelling
    /// Of the exchange, of the connect timeout, or of idleness.
    var deadline = MonotonicTime.never
    /// When it was last kept for reuse; nil before its first exchange has ended.
    private(set) var keptAt: MonotonicTime?
    var exchange: Exchange?
    var tls: TLSSession?
    var parser = ResponseParser(bodyBytes: 0)
    /// For the first response, if the client inspects certificates.
    var certificateExpiry: Timestamp?
    var registration: EventLoop.Registration?
    /// Bytes that the socket has not taken yet, from `outputStart` on.
    private var output: [UInt8] = []
    private var outputStart = 0
    /// Whether the socket may have something to read: true until a read finds less than it asked for.
    private var mayRead = true
    private var peerHasEnded = false

    init(descriptor: Int32, host: HostKey, pool: ConnectionPool) {
        self.descriptor = descriptor
        self.host = host
        self.pool = pool
    }

    // MARK: Exchanges

    func begin(_ exchange: Exchange) {
        stage = .exchanging
        self.exchange = exchange
        deadline = exchange.deadline
        let request = exchange.request
        parser = ResponseParser(bodyBytes: max(0, request.maximumBodyBytes))
        let isForProxy = pool.shared.proxy != nil && tls == nil
        exchange.wasSent = true
        if write({ pool.shared.writer.append(request, to: isForProxy ? .proxy : .server, &$0) }) { return }
        // What the peer has sent before its end is still read.
        mayRead = true
        readResponse()
        if self.exchange === exchange { fail(.incomplete) }
    }

    func readResponse() {
        while case .exchanging = stage, mayRead {
            switch receive() {
            case .bytes(let count):
                let bytes = UnsafeRawBufferPointer(rebasing: pool.loop.readBuffer[..<count])
                    .bindMemory(to: UInt8.self)
                let taken: Int
                do throws(ResponseError) {
                    taken = try parser.receive(bytes.span)
                } catch {
                    return fail(error)
                }
                if parser.isComplete { return complete(isAlone: taken == count) }
            case .wouldBlock: return
            case .ended:
                do throws(ResponseError) {
                    try parser.inputEnded()
                } catch {
                    return fail(error)
                }
                return complete(isAlone: false)
            case .failed:
                // In TLS 1.3 a server refuses the client's certificate after the handshake.
                guard host.certificate != nil, !parser.hasBegun, let reason = tls?.failure else {
                    return fail(.incomplete)
                }
                return fail(.tls, "TLS: " + reason)
            }
        }
    }

    /// - Parameter isAlone: Whether nothing has followed the response.
    private func complete(isAlone: Bool) {
        guard let exchange = takeExchange() else { return }
        let head = parser.head
        let response = OutboundResponse(
            status: head.status, contentType: head.contentType, cacheControl: head.cacheControl,
            retryAfter: head.retryAfter, date: head.date, dpopNonce: head.dpopNonce,
            wwwAuthenticate: head.wwwAuthenticate, body: parser.body, certificateExpiry: certificateExpiry)
        certificateExpiry = nil
        let isReusable = isAlone && parser.allowsReuse && output.isEmpty && !peerHasEnded
        parser = ResponseParser(bodyBytes: 0)
        if isReusable {
            stage = .idle
            let now = MonotonicTime.now()
            keptAt = now
            deadline = now.advanced(by: .seconds(max(1, pool.shared.configuration.keptConnectionSeconds)))
            pool.keep(self)
        } else {
            close()
        }
        pool.finish(exchange, .success(response))
    }

    private func fail(_ fault: ResponseError) {
        if fault == .incomplete, !parser.hasBegun { return fail(.closed, "closed without an answer") }
        fail(fault.code, fault.reason)
    }

    /// Closes the connection, and fails its exchange.
    func fail(_ code: OutboundError.Code, _ reason: String) { fail { $0.error(code, reason) } }

    private func fail(_ error: (Exchange) -> OutboundError) {
        let exchange = takeExchange()
        close()
        if let exchange { pool.finish(exchange, .failure(error(exchange))) }
    }

    func takeExchange() -> Exchange? {
        defer { exchange = nil }
        return exchange
    }

    // MARK: Idleness

    /// The pool takes the connection for an exchange.
    func leaveIdle() { stage = .exchanging }

    /// Whether an idle connection is open and has nothing to read. What arrives without a request, or the peer's end,
    /// makes it useless. Asked before each reuse: the poller may not have reported it yet.
    func isReusable() -> Bool {
        guard !peerHasEnded else { return false }
        guard let tls else { return Connecting.isReusable(descriptor) }
        // TLS has its own messages, such as session tickets.
        tls.becameReady(peerHasEnded: false)
        if case .wouldBlock = receive() { return true }
        return false
    }

    // MARK: Events

    func becameReady(peerHasEnded: Bool, at now: MonotonicTime) {
        mayRead = true
        if peerHasEnded { self.peerHasEnded = true }
        tls?.becameReady(peerHasEnded: peerHasEnded)
        switch stage {
        case .tunnelling:
            flush()
            readTunnel()
        case .handshaking: continueHandshake()
        case .idle: if !isReusable() { close() }
        case .exchanging:
            flush()
            readResponse()
        case .closed: break
        }
    }

    func timePassed(at now: MonotonicTime) {
        switch stage {
        case .idle, .closed: close()
        case .exchanging:
            let hasBegun = parser.hasBegun
            // Others that were kept are likely dead for the same reason. Each would cost a sign-in.
            if !hasBegun, keptAt != nil { pool.shared.limits.noteStale(of: host, at: now) }
            fail { $0.timeoutError(hasBegun ? "before the response was complete" : "without an answer") }
        case .tunnelling: timePassed("before the proxy made a tunnel", at: now)
        case .handshaking: timePassed("in the TLS handshake", at: now)
        }
    }

    private func timePassed(_ state: StaticString, at now: MonotonicTime) {
        let limit = pool.shared.configuration.connectTimeout
        fail { exchange in
            exchange.deadline <= now
                ? exchange.timeoutError(state)
                : exchange.error(.unreachable, "timed out after \(limit.text), \(state)")
        }
    }

    func abandon() { pool.close() }

    func close() {
        guard stage != .closed else { return }
        let wasIdle = stage == .idle
        stage = .closed
        Self.erase(&output)
        if let registration { pool.loop.unregister(registration, descriptor: descriptor) }
        tls?.end()
        tls = nil
        SystemCalls.closeDescriptor(descriptor)
        pool.remove(self, wasIdle: wasIdle)
    }

    // MARK: Input and output

    func receive() -> Transfer {
        let buffer = pool.loop.readBuffer
        guard let tls else {
            let received = SystemCalls.receive(descriptor, into: buffer)
            switch received {
            // A short read means that the socket is empty; the poller reports new bytes.
            case .bytes(let count): mayRead = count == buffer.count || peerHasEnded
            case .wouldBlock, .ended, .failed: mayRead = false
            }
            return received
        }
        // A record of TLS has at most 16 KiB, and another may follow.
        let received = tls.receive(into: buffer)
        if case .bytes = received { return received }
        mayRead = false
        return received
    }

    /// Sends what `append` adds; keeps what the socket does not take. A small request is one system call.
    /// - Returns: False if nothing can be sent any more.
    @discardableResult
    func write(_ append: (inout [UInt8]) -> Void) -> Bool {
        append(&pool.writeBuffer)
        defer { Self.erase(&pool.writeBuffer) }
        switch pool.writeBuffer.withUnsafeBytes({ send($0) }) {
        case .bytes(let count) where count == pool.writeBuffer.count: return true
        case .bytes(let count): output = Array(pool.writeBuffer[count...])
        case .wouldBlock: output = pool.writeBuffer
        case .ended, .failed: return false
        }
        return true
    }

    private func flush() {
        while outputStart < output.count {
            let sent = output.withUnsafeBytes { send(UnsafeRawBufferPointer(rebasing: $0[outputStart...])) }
            switch sent {
            case .bytes(let count): outputStart += count
            case .wouldBlock: return
            // What the peer has sent before is still read.
            case .ended, .failed: outputStart = output.count
            }
        }
        Self.erase(&output)
        outputStart = 0
    }

    private func send(_ bytes: UnsafeRawBufferPointer) -> Transfer {
        guard let tls else { return SystemCalls.send(descriptor, bytes) }
        return tls.send(bytes)
    }

    /// A buffer that has grown larger is released.
    private static let keptCapacity = 16 * 1024

    /// Overwrites the bytes, because they may be codes and client secrets.
    private static func erase(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        bytes.withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: 0) }
        bytes.removeAll(keepingCapacity: bytes.capacity <= keptCapacity)
    }
}
