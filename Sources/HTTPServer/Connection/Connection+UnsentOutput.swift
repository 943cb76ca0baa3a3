import EventLoops

/// The memory that a connection's output takes, for the ``MemoryBudget`` that all connections share.
extension Connection {
    /// What the system may keep for one socket.
    private var systemBytes: Int { 2 * service.limits.sendBufferBytes }

    /// Counts what is kept for the peer. A socket that does not take everything is full.
    func holdOutput(at now: MonotonicTime) {
        if case .closed = lifetime { return }
        let bytes = isFlushed ? min(2 * held.inSystem, systemBytes) : output.ownBytes + systemBytes
        guard bytes != held.bytes else { return }
        guard bytes > 0 else { return releaseOutput() }
        let slot = held.slot ?? Slot(of: slot.network, at: now, holder: slotHolder)
        held.slot = slot
        held.bytes = bytes
        service.output.hold(bytes, for: slot, at: now)
    }

    /// Asks the system how many bytes it still has for the peer. Without effect while others wait here.
    @discardableResult
    func measureSendQueue(at now: MonotonicTime) -> Int {
        guard isFlushed else { return 0 }
        let bytes = SystemCalls.unsentBytes(descriptor)
        held.update(inSystem: bytes)
        holdOutput(at: now)
        return bytes
    }

    func releaseOutput() {
        guard let slot = held.slot else { return }
        held.slot = nil
        held.bytes = 0
        service.output.release(slot)
    }
}
