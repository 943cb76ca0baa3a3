import EventLoops
import HTTPCore

/// The end of a connection.
///
/// A closed socket leaves to the system what its peer has not received, and no limit counts those bytes. So a
/// connection keeps its place until its peer has everything.
extension Connection {
    enum Lifetime {
        case open
        /// Serves no more, and waits until its peer has received everything, or until this time.
        case closing(until: MonotonicTime)
        case closed
    }

    /// What happens at the end to bytes that the peer has not received.
    enum UnreceivedOutput {
        /// The connection waits for the peer, as long as for a response.
        case linger
        /// The system keeps them, because the server stops.
        case detach
        case discarded
    }

    /// Whether it serves requests.
    var isOpen: Bool { if case .open = lifetime { true } else { false } }

    /// Serves no more.
    func close() {
        guard isOpen else { return }
        machine.closed()
        heldInput.release(to: service.input)
        endStream()
        // What the peer gets is incomplete anyway: the system need not keep it.
        let isCut = !isFlushed
        if isCut || handshake != nil { unreceived = .discarded }
        output = UnsentOutput()
        if let handshake = handshake.take() { service.handshakes.leave(handshake.slot) }
        guard case .linger = unreceived, SystemCalls.unsentBytes(socket.descriptor) > 0 else {
            return release(resetting: isCut)
        }
        let now = MonotonicTime.now()
        lifetime = .closing(until: now.advanced(by: machine.periods.write))
        if slot.idleSince == nil { slot.markIdle(at: now) }
        // The acknowledgement of the end, which comes after everything else, is an event.
        socket.endWriting()
        measureSendQueue(at: now)
    }

    /// Closes so that the system keeps nothing for the peer.
    func cut() {
        unreceived = .discarded
        if isOpen { close() } else { release() }
    }

    /// Time has passed, or the peer has received something.
    func continueClosing(until deadline: MonotonicTime, at now: MonotonicTime) {
        if measureSendQueue(at: now) == 0 {
            release()
        } else if now >= deadline {
            cut()
        }
    }

    /// The server stops, and does not wait for slow readers.
    func leaveOutputToSystem() {
        unreceived = .detach
        if case .closing = lifetime { release() }
    }

    private func release(resetting isCut: Bool = false) {
        if case .closed = lifetime { return }
        lifetime = .closed
        if isCut { SystemCalls.resetAtClose(socket.descriptor) }
        if case .discarded = unreceived, SystemCalls.unsentBytes(socket.descriptor) > 0 {
            SystemCalls.resetAtClose(socket.descriptor)
        }
        heldOutput.release(to: service.output)
        socket.close(on: loop)
        service.connections.remove(slot, isRestricted: refusal != nil)
        slotHolder.connection = nil
    }
}
