import EventLoops
import HTTPCore
import Primitives

/// A connection to a host: the attempt to connect, its tunnel through a proxy and its TLS handshake, then one exchange
/// after the other.
///
/// Sendable without the compiler's check: used on its pool's loop only.
final class OutboundConnection: LoopMember, @unchecked Sendable {
    enum Stage { case connecting, tunnelling, handshaking, idle, exchanging, closed }

    let host: HostKey
    let pool: ConnectionPool
    var socket: ByteStream
    var stage = Stage.connecting
    /// What tries this address and others; nil once one of them is connected.
    var connector: Connector?
    /// Of the exchange, of the connect timeout, or of idleness.
    var deadline = MonotonicTime.never
    /// When it was last kept for reuse; nil before its first exchange has ended.
    private(set) var keptAt: MonotonicTime?
    var exchange: Exchange?
    var parser = ResponseParser(bodyBytes: 0)
    /// For the first response, if the client inspects certificates.
    var certificateExpiry: Timestamp?
    /// Bytes that the socket has not taken yet, from `outputStart` on.
    private var output: [UInt8] = []
    private var outputStart = 0

    /// - Parameter descriptor: Of a socket that the connector has begun to connect.
    init(descriptor: Int32, connector: Connector) {
        socket = ByteStream(descriptor)
        host = connector.exchange.host
        pool = connector.pool
        self.connector = connector
    }

    // MARK: Exchanges

    func begin(_ exchange: Exchange) {
        assert(pool.loop.isCurrent)
        stage = .exchanging
        self.exchange = exchange
        deadline = exchange.deadline
        let request = exchange.request
        parser = ResponseParser(bodyBytes: max(0, request.maximumBodyBytes))
        let isForProxy = pool.shared.proxy != nil && socket.tls == nil
        exchange.wasSent = true
        if write({ pool.shared.writer.append(request, to: isForProxy ? .proxy : .server, &$0) }) { return }
        // What the peer has sent before its end is still read.
        socket.mayRead = true
        readResponse()
        if self.exchange === exchange { fail(.incomplete) }
    }

    func readResponse() {
        while case .exchanging = stage, socket.mayRead {
            switch socket.receive(into: pool.loop.readBuffer) {
            case .bytes(let count):
                let taken: Int
                do throws(ResponseError) {
                    taken = try parser.receive(pool.loop.received(count).span)
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
                guard host.certificate != nil, !parser.hasBegun, let reason = socket.tls?.failure else {
                    return fail(.incomplete)
                }
                return fail(.tls, "TLS: " + reason)
            }
        }
    }

    /// - Parameter isAlone: Whether nothing has followed the response.
    private func complete(isAlone: Bool) {
        guard let exchange = exchange.take() else { return }
        var response = parser.head.response
        (response.body, response.certificateExpiry) = (parser.body, certificateExpiry)
        certificateExpiry = nil
        let isReusable = isAlone && parser.allowsReuse && output.isEmpty && !socket.peerHasEnded
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
        let exchange = exchange.take()
        close()
        if let exchange { pool.finish(exchange, .failure(error(exchange))) }
    }

    // MARK: Idleness

    /// Whether an idle connection is open and has nothing to read. What arrives without a request, or the peer's end,
    /// makes it useless. Asked before each reuse: the poller may not have reported it yet.
    func isReusable() -> Bool {
        guard !socket.peerHasEnded else { return false }
        guard let tls = socket.tls else { return Connecting.isReusable(socket.descriptor) }
        // TLS has its own messages, such as session tickets.
        tls.becameReady(peerHasEnded: false)
        if case .wouldBlock = socket.receive(into: pool.loop.readBuffer) { return true }
        return false
    }

    // MARK: Events

    func becameReady(peerHasEnded: Bool, at now: MonotonicTime) {
        socket.becameReady(peerHasEnded: peerHasEnded)
        switch stage {
        case .connecting: connector?.becameReady(self, at: now)
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
        // The connector has the deadline.
        case .connecting: break
        case .exchanging:
            let hasBegun = parser.hasBegun
            // Others that were kept are likely dead for the same reason. Each would cost a sign-in.
            if !hasBegun, keptAt != nil { pool.shared.limits.noteStale(of: host, at: now) }
            fail { $0.timeoutError(hasBegun ? "before the response was complete" : "without an answer") }
        case .tunnelling: fail { $0.connectTimeoutError("before the proxy made a tunnel", at: now) }
        case .handshaking: fail { $0.connectTimeoutError("in the TLS handshake", at: now) }
        }
    }

    func close() {
        assert(pool.loop.isCurrent)
        guard stage != .closed else { return }
        let wasIdle = stage == .idle
        stage = .closed
        Self.erase(&output)
        connector = nil
        socket.close(on: pool.loop)
        pool.remove(self, wasIdle: wasIdle)
    }

    // MARK: Output

    /// Sends what `append` adds; keeps what the socket does not take. A small request is one system call.
    /// - Returns: False if nothing can be sent any more.
    @discardableResult
    func write(_ append: (inout [UInt8]) -> Void) -> Bool {
        append(&pool.writeBuffer)
        defer { Self.erase(&pool.writeBuffer) }
        guard let sent = pool.writeBuffer.withUnsafeBytes({ socket.send($0) }) else { return false }
        if sent < pool.writeBuffer.count { output = Array(pool.writeBuffer[sent...]) }
        return true
    }

    private func flush() {
        while outputStart < output.count {
            let sent = output.withUnsafeBytes { socket.send(UnsafeRawBufferPointer(rebasing: $0[outputStart...])) }
            if sent == 0 { return }
            // If nothing can be sent any more, what the peer has sent before is still read.
            outputStart = sent.map { outputStart + $0 } ?? output.count
        }
        Self.erase(&output)
        outputStart = 0
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
