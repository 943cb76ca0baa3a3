import EventLoops
import HTTPCore
import Primitives

/// A connection to a host: the attempt to connect, its tunnel through a proxy and its TLS handshake, then one exchange
/// after the other, each of which is an ``ExchangeMachine``.
///
/// Sendable without the compiler's check: used on its pool's loop only.
final class OutboundConnection: LoopMember, @unchecked Sendable {
    private enum Stage { case connecting, tunnelling, handshaking, idle, exchanging, closed }

    let host: HostKey
    private let pool: ConnectionPool
    private var socket: ByteStream
    private var stage = Stage.connecting
    /// What tries this address and others; nil once one of them is connected.
    private var connector: Connector?
    /// Of the exchange, of the connect timeout, or of idleness.
    private(set) var deadline = MonotonicTime.never
    /// When it was last kept for reuse; nil before its first exchange has ended.
    private(set) var keptAt: MonotonicTime?
    private var exchange: Exchange?
    private var machine = ExchangeMachine(.tunnel)
    /// For the first response, if the client inspects certificates.
    private var certificateExpiry: Timestamp?
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

    // MARK: The beginning

    func register() throws(SystemError) { try socket.register(self, on: pool.loop) }

    func isEstablished() throws(SystemError) -> Bool { try Connecting.isEstablished(socket.descriptor) }

    /// Makes the tunnel through a proxy and the TLS handshake, where they are needed, then the exchange.
    func establish(for exchange: Exchange, until establishDeadline: MonotonicTime) {
        stage = .tunnelling
        connector = nil
        self.exchange = exchange
        deadline = min(establishDeadline, exchange.deadline)
        guard host.isEncrypted else { return established() }
        guard pool.shared.proxy != nil else { return beginHandshake() }
        guard write({ pool.shared.writer.appendConnect(to: exchange.request.url, &$0) }) else {
            return perform(machine.connectionFailed(nil))
        }
        read()
    }

    private func beginHandshake() {
        stage = .handshaking
        let context: TLSContext
        do throws(TLSError) {
            context = try pool.shared.context(presenting: exchange?.certificate)
        } catch {
            return fail { $0.error(.tls, "the client certificate cannot be used: \(error)") }
        }
        guard let session = TLSSession(context, descriptor: socket.descriptor, to: host.name) else {
            return fail { $0.error(.overloaded, "there is no memory for a TLS session") }
        }
        // The poller does not report an end again that it has reported before there was a session.
        session.becameReady(peerHasEnded: socket.peerHasEnded)
        socket.tls = session
        continueHandshake()
    }

    private func continueHandshake() {
        guard let tls = socket.tls else { return }
        switch tls.handshake() {
        case .waiting: return
        case .failed(let reason): fail { $0.error(.tls, "TLS handshake: " + (tls.certificateFault ?? reason)) }
        case .done:
            if pool.shared.configuration.inspectsCertificates { certificateExpiry = tls.serverCertificateExpiry }
            established()
        }
    }

    private func established() {
        guard let exchange = exchange.take() else { return close() }
        guard exchange.deadline > .now() else {
            close()
            return pool.finish(exchange, .failure(exchange.timeoutError("without a connection")))
        }
        begin(exchange)
        // The poller does not report again what came before: TLS has read it with the end of the handshake, or a server
        // has sent it at once.
        read()
    }

    // MARK: Exchanges

    func begin(_ exchange: Exchange) {
        assert(pool.loop.isCurrent)
        stage = .exchanging
        self.exchange = exchange
        deadline = exchange.deadline
        let request = exchange.request
        machine = ExchangeMachine(
            .response(afterCertificate: host.certificate != nil), bodyBytes: request.maximumBodyBytes)
        let isForProxy = pool.shared.proxy != nil && socket.tls == nil
        exchange.wasSent = true
        if write({ pool.shared.writer.append(request, to: isForProxy ? .proxy : .server, &$0) }) { return }
        // What the peer has sent before its end is still read.
        socket.expectInput()
        read()
        if self.exchange === exchange { perform(machine.connectionFailed(nil)) }
    }

    private func read() {
        while stage == .exchanging || stage == .tunnelling, socket.mayRead {
            let step: ExchangeMachine.Step
            switch socket.receive(into: pool.loop.readBuffer) {
            case .bytes(let count): step = machine.receive(pool.loop.received(count).span)
            case .wouldBlock: return
            case .ended: step = machine.inputEnded()
            case .failed: step = machine.connectionFailed(socket.tls?.failure)
            }
            guard case .wait = step else { return perform(step) }
        }
    }

    private func perform(_ step: ExchangeMachine.Step) {
        switch step {
        case .wait: return
        case .tunnelled: beginHandshake()
        case .complete(let response, let isReusable): complete(response, isReusable: isReusable)
        case .failed(let code, let reason): fail { $0.error(code, reason) }
        }
    }

    private func complete(_ given: OutboundResponse, isReusable: Bool) {
        guard let exchange = exchange.take() else { return }
        var response = given
        response.certificateExpiry = certificateExpiry.take()
        if isReusable, output.isEmpty, !socket.peerHasEnded {
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

    private func fail(_ error: (Exchange) -> OutboundError) {
        if let exchange = end() { pool.finish(exchange, .failure(error(exchange))) }
    }

    func end() -> Exchange? {
        let exchange = exchange.take()
        close()
        return exchange
    }

    // MARK: Idleness

    /// The pool takes it out of the idle ones.
    func leaveIdle() { stage = .exchanging }

    /// Whether an idle connection is open and has nothing to read. What arrives without a request, or the peer's end,
    /// makes it useless. Asked before each reuse: the poller may not have reported it yet.
    func isReusable() -> Bool {
        guard !socket.peerHasEnded else { return false }
        guard socket.tls != nil else { return Connecting.isReusable(socket.descriptor) }
        // TLS has its own messages, such as session tickets.
        socket.expectInput()
        if case .wouldBlock = socket.receive(into: pool.loop.readBuffer) { return true }
        return false
    }

    // MARK: Events

    func becameReady(peerHasEnded: Bool, at now: MonotonicTime) {
        socket.becameReady(peerHasEnded: peerHasEnded)
        switch stage {
        case .connecting: connector?.becameReady(self, at: now)
        case .tunnelling, .exchanging:
            flush()
            read()
        case .handshaking: continueHandshake()
        case .idle: if !isReusable() { close() }
        case .closed: break
        }
    }

    func timePassed(at now: MonotonicTime) {
        switch stage {
        case .idle, .closed: close()
        // The connector has the deadline.
        case .connecting: break
        case .exchanging:
            let hasBegun = machine.hasBegun
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
    private func write(_ append: (inout [UInt8]) -> Void) -> Bool {
        append(&pool.writeBuffer)
        defer { Self.erase(&pool.writeBuffer) }
        guard let sent = pool.writeBuffer.withUnsafeBytes({ socket.send($0) }) else { return false }
        if sent < pool.writeBuffer.count { (output, outputStart) = (Array(pool.writeBuffer[sent...]), 0) }
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
