import EventLoops
import Glibc

extension Connection {
    /// Larger contents are not copied into the buffer for responses, but sent from where they are.
    private static let copiedBytes = 16 * 1024

    /// Whether the socket has taken all bytes written so far.
    var isFlushed: Bool { output.isEmpty }

    // The response is borrowed: a copy would count several references.
    func respond(
        _ response: borrowing Response, for context: ResponseSerializer.Context, _ state: ResponseProgress = .sending
    ) {
        let now = MonotonicTime.now()
        machine.responseBegan(at: now)
        // A stream works until its end.
        if case .sending = state { slot.markIdle(at: now) }
        progress = state
        closesAfterResponse = context.closes
        let date = shared.date.lines(at: time(nil))
        guard response.content.count > Connection.copiedBytes,
            ResponseSerializer.sendsContent(of: response, for: context)
        else {
            if case .sending = state, isFlushed, loop.hasMoreWorkThisTurn {
                var bytes: [UInt8] = []
                ResponseSerializer.append(response, for: context, date: date, to: &bytes)
                output.add(bytes)
                return shared.sendLater(self)
            }
            return write { ResponseSerializer.append(response, for: context, date: date, to: &$0) }
        }
        guard isFlushed else {
            var head: [UInt8] = []
            ResponseSerializer.append(response, for: context, date: date, withContent: false, to: &head)
            output.add(head)
            output.add(response.content)
            return holdOutput(at: now)
        }
        let isTaken = send(more: true) {
            ResponseSerializer.append(response, for: context, date: date, withContent: false, to: &$0)
        }
        send(response.content, isNext: isTaken)
    }

    /// Sends what `append` adds; keeps what the socket does not take. A small response is one system call.
    func write(_ append: (inout [UInt8]) -> Void) {
        guard isFlushed else {
            var bytes: [UInt8] = []
            append(&bytes)
            output.add(bytes)
            return holdOutput(at: .now())
        }
        if send(append) { responseWasSent() } else if isOpen { holdOutput(at: .now()) }
    }

    /// - Returns: Whether the socket has taken everything.
    private func send(more: Bool = false, _ append: (inout [UInt8]) -> Void) -> Bool {
        shared.writeBuffer.removeAll(keepingCapacity: true)
        append(&shared.writeBuffer)
        defer { if shared.writeBuffer.capacity > ServerLoop.keptWriteCapacity { shared.writeBuffer = [] } }
        let sent = shared.writeBuffer.withUnsafeBytes { transport.send(descriptor, $0, more: more) }
        switch sent {
        case .bytes(let count):
            unsent.count(count)
            if count == shared.writeBuffer.count { return true }
            output.add(Array(shared.writeBuffer[count...]))
        case .wouldBlock: output.add(Array(shared.writeBuffer))
        case .ended, .failed: close()
        }
        return false
    }

    /// Sends the content of a response without a copy.
    /// - Parameter isNext: Whether the socket has taken the head.
    private func send(_ content: ResponseContent, isNext: Bool) {
        guard isOpen else { return }
        output.add(content)
        if isNext { send() } else { holdOutput(at: .now()) }
    }

    /// Sends more of the kept bytes.
    func send() {
        let sent = output.send { bytes, more in
            switch transport.send(descriptor, bytes, more: more) {
            case .bytes(let count): return count
            case .wouldBlock: return 0
            case .ended, .failed: return nil
            }
        }
        guard let sent else { return close() }
        unsent.count(sent)
        holdOutput(at: .now())
        if isOpen, isFlushed { responseWasSent() }
    }

    /// Sends what has waited for the end of the turn.
    func sendWaiting() {
        guard isOpen, !isFlushed else { return }
        send()
        if !isRunning, let next = takeNext() { run(next) }
    }

    private func responseWasSent() {
        switch progress {
        case .sending: progress = .sent
        case .streaming:
            machine.streamPaused()
            stream?.pieceWasSent()
        case .none, .sent: break
        }
        if unsent.isDueNow { measureSendQueue(at: .now()) }
    }

    /// The next action after a sent response; nil before that.
    func takeNext() -> ConnectionMachine.Action? {
        guard isOpen, case .sent = progress else { return nil }
        progress = .none
        if closesAfterResponse { transport.endWriting(descriptor) }
        let now = MonotonicTime.now()
        let action = machine.responseEnded(closing: closesAfterResponse, at: now)
        if heldInput.slot != nil { holdInput(at: now) }
        return action
    }
}
