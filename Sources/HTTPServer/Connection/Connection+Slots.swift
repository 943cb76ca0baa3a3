import EventLoops
import Primitives

/// What a connection does beyond the limits, and when one of its slots is given to another connection.
extension Connection: SlotHolder {
    /// How long a connection beyond the limits may take for its request.
    private static let restrictedTime = Duration.seconds(2)

    /// Serves a probe, and refuses everything else.
    func restrict(_ refusal: RequestError) {
        // A response would need a handshake first, which costs more than a request.
        guard service.tls == nil else {
            service.limited(.unanswered)
            return close()
        }
        guard !service.probePaths.isEmpty else { return run(.refuse(refusal)) }
        var limits = service.limits
        limits.requestsPerConnection = 1
        var timeouts = service.timeouts
        timeouts.header = min(timeouts.header, Connection.restrictedTime)
        timeouts.body = min(timeouts.body, Connection.restrictedTime)
        timeouts.write = min(timeouts.write, Connection.restrictedTime)
        machine = ConnectionMachine(limits: limits, timeouts: timeouts, at: .now())
        run(.wait)
    }

    func wasEvicted(from slot: Slot) { loop.execute { self.lost(slot) } }

    private func lost(_ lost: Slot) {
        if case .closed = lifetime { return }
        if lost === held.slot {
            service.limited(.unsentOutput)
            return cut()
        }
        if let handshake, lost === handshake.slot {
            service.limited(.handshakeEvicted)
            return failHandshake("it was the oldest of its address at the limit of handshakes")
        }
        guard lost === slot else { return }
        service.limited(.evicted)
        unreceived = .discarded
        if machine.isReading {
            // A request may have arrived meanwhile: it is the last one.
            machine.takeLastRequest()
            mayRead = true
            run(.wait)
            guard machine.isReading else { return }
        } else if machine.isHandling, stream == nil {
            return run(machine.drain())
        }
        cut()
    }
}
