import EventLoops
import HTTPCore

/// What the slots of a connection refer to, and what refers to the connection until it is closed.
///
/// Slots that refer to the connection itself would need a weak reference. With one, each strong reference to the
/// connection is counted in a second object, at several times the cost.
///
/// Sendable without the compiler's check: `connection` is set before the connection is opened, and used on the loop's
/// thread from then on.
final class ConnectionSlotHolder: SlotHolder, @unchecked Sendable {
    private let loop: EventLoop
    var connection: Connection?

    init(loop: EventLoop) { self.loop = loop }

    func wasEvicted(from slot: Slot) { loop.execute { self.connection?.lost(slot) } }
}

/// What a connection does beyond the limits, and when one of its slots is given to another connection.
extension Connection {
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

    fileprivate func lost(_ lost: Slot) {
        if case .closed = lifetime { return }
        if lost === heldOutput.slot {
            service.limited(.unsentOutput)
            return cut()
        }
        if lost === heldInput.slot { return giveUpInput() }
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
            socket.mayRead = true
            run(.wait)
            guard machine.isReading else { return }
        } else if machine.isHandling, stream == nil {
            return run(machine.drain())
        }
        cut()
    }
}
