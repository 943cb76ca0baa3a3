import EventLoops
import HTTPCore

extension Connection {
    struct Handshake {
        /// In ``HandshakeLimit``.
        let slot: Slot
        let deadline: MonotonicTime
    }

    func beginHandshake(_ tls: ServerTLS) {
        let now = MonotonicTime.now()
        let slot = Slot(of: slot.network, at: now, holder: slotHolder)
        guard service.handshakes.enter(slot, at: now) else {
            service.limited(.handshakeEvicted)
            service.handshakeFailed("there are too many handshakes")
            return close()
        }
        handshake = Handshake(slot: slot, deadline: now.advanced(by: service.timeouts.handshake))
        guard let session = TLSSession(serving: tls.context, descriptor: socket.descriptor) else {
            return failHandshake("there is no memory for a session")
        }
        socket.tls = session
        continueHandshake(session)
    }

    func continueHandshake(_ session: TLSSession) {
        switch session.handshake() {
        case .waiting: return
        case .done:
            if let certificate = session.clientCertificate() {
                client = ConnectedClient(
                    client.address,
                    certificate: .init(subject: certificate.subject, fingerprint: certificate.fingerprint))
            }
            endHandshake()
            run(.wait)
        case .failed where session.sawPlainHTTP:
            endHandshake()
            socket.tls = nil
            run(.refuse(.plainHTTPOnTLS))
        case .failed(let reason):
            service.handshakeFailed(reason)
            endHandshake()
            // OpenSSL has sent an alert: closing now could destroy it on its way.
            socket.tls = nil
            socket.endWriting()
            run(machine.responseEnded(closing: true, at: .now()))
        }
    }

    /// The deadline of the first request begins.
    private func endHandshake() {
        if let handshake = handshake.take() { service.handshakes.leave(handshake.slot) }
        machine = ConnectionMachine(limits: service.limits, timeouts: service.timeouts, at: .now())
    }

    func failHandshake(_ reason: String) {
        guard isOpen, handshake != nil else { return }
        service.handshakeFailed(reason)
        close()
    }
}
