import EventLoops
import HTTPCore
import Primitives

// What comes before the first exchange: the tunnel through a proxy and the TLS handshake.
extension OutboundConnection {
    func establish(for exchange: Exchange, until establishDeadline: MonotonicTime) {
        stage = .tunnelling
        connector = nil
        self.exchange = exchange
        deadline = min(establishDeadline, exchange.deadline)
        guard host.isEncrypted else { return established() }
        guard pool.shared.proxy != nil else { return beginHandshake() }
        parser = ResponseParser(bodyBytes: 0, isOfConnect: true)
        let isOpen = write { pool.shared.writer.appendConnect(to: exchange.request.url, &$0) }
        if isOpen { readTunnel() } else { fail(.unreachable, "the proxy closed the connection") }
    }

    func readTunnel() {
        while case .tunnelling = stage {
            switch socket.receive(into: pool.loop.readBuffer) {
            case .bytes(let count):
                do throws(ResponseError) {
                    let taken = try parser.receive(pool.loop.received(count).span)
                    let status = parser.head.response.status
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
        guard let session = TLSSession(context, descriptor: socket.descriptor, to: host.name) else {
            return fail(.overloaded, "there is no memory for a TLS session")
        }
        // The poller does not report an end again that it has reported before there was a session.
        session.becameReady(peerHasEnded: socket.peerHasEnded)
        socket.tls = session
        continueHandshake()
    }

    func continueHandshake() {
        guard let tls = socket.tls else { return }
        switch tls.handshake() {
        case .waiting: return
        case .failed(let reason): fail(.tls, "TLS handshake: " + (tls.certificateFault ?? reason))
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
        readResponse()
    }
}
