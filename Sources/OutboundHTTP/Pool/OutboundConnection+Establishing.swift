import EventLoops
import HTTPCore
import OpenIDConnect

// What comes before the first exchange: the tunnel through a proxy and the TLS handshake.
extension OutboundConnection {
    func establish(for exchange: Exchange, until establishDeadline: MonotonicTime) {
        self.exchange = exchange
        deadline = min(establishDeadline, exchange.deadline)
        do {
            registration = try pool.loop.register(self, descriptor: descriptor)
        } catch {
            return fail(.overloaded, "the system has no room for another connection")
        }
        guard host.isEncrypted else { return established() }
        guard pool.shared.proxy != nil else { return beginHandshake() }
        parser = ResponseParser(bodyBytes: 0, isOfConnect: true)
        let isOpen = write { pool.shared.writer.appendConnect(to: exchange.request.url, &$0) }
        if !isOpen { fail(.unreachable, "the proxy closed the connection") }
    }

    func readTunnel() {
        while case .tunnelling = stage {
            switch receive() {
            case .bytes(let count):
                let bytes = UnsafeRawBufferPointer(rebasing: pool.loop.readBuffer[..<count])
                    .bindMemory(to: UInt8.self)
                do throws(ResponseError) {
                    let taken = try parser.receive(bytes.span)
                    let status = parser.head.status
                    guard status < 300 else {
                        return fail(.unreachable, "the proxy answers with status \(status)")
                    }
                    guard parser.isComplete else { continue }
                    // A server says nothing before the client in TLS.
                    guard taken == count else { return fail(.tls, "the server does not speak TLS") }
                    return beginHandshake()
                } catch {
                    return fail(.unreachable, "the proxy's answer is not valid: \(error.reason)")
                }
            case .wouldBlock: return
            case .ended, .failed: return fail(.unreachable, "the proxy closed the connection")
            }
        }
    }

    private func beginHandshake() {
        stage = .handshaking
        let context: TLSContext
        do throws(TLSError) {
            context = try pool.shared.context(presenting: exchange?.certificate)
        } catch {
            return fail(.tls, "the client certificate cannot be used: \(error)")
        }
        guard let session = TLSSession(context, descriptor: descriptor, to: host.name) else {
            return fail(.overloaded, "there is no memory for a TLS session")
        }
        tls = session
        continueHandshake()
    }

    func continueHandshake() {
        guard let tls else { return }
        switch tls.handshake() {
        case .waiting: return
        case .failed(let reason): fail(.tls, "TLS handshake: " + (tls.certificateFault ?? reason))
        case .done:
            if pool.shared.configuration.inspectsCertificates { certificateExpiry = tls.serverCertificateExpiry }
            established()
        }
    }

    private func established() {
        guard let exchange = takeExchange() else { return close() }
        guard exchange.deadline > .now() else {
            close()
            return pool.finish(exchange, .failure(exchange.timeoutError("without a connection")))
        }
        begin(exchange)
        // TLS has already read what came with the end of the handshake, and the poller does not report it again.
        if tls != nil { readResponse() }
    }
}
