import EventLoops
import Glibc
import HTTPCore

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
            guard case .sending = state, isFlushed, loop.hasMoreWorkThisTurn else {
                return write { ResponseSerializer.append(response, for: context, date: date, to: &$0) }
            }
            keep { ResponseSerializer.append(response, for: context, date: date, to: &$0) }
            return shared.sendLater(self)
        }
        guard isFlushed else {
            keep { ResponseSerializer.append(response, for: context, date: date, withContent: false, to: &$0) }
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
            keep(append)
            return holdOutput(at: .now())
        }
        if send(append) { responseWasSent() } else if isOpen { holdOutput(at: .now()) }
    }

    private func keep(_ append: (inout [UInt8]) -> Void) {
        var bytes: [UInt8] = []
        append(&bytes)
        output.add(bytes)
    }

    /// - Returns: Whether the socket has taken everything.
    private func send(more: Bool = false, _ append: (inout [UInt8]) -> Void) -> Bool {
        shared.writeBuffer.removeAll(keepingCapacity: true)
        append(&shared.writeBuffer)
        defer { if shared.writeBuffer.capacity > ServerLoop.keptWriteCapacity { shared.writeBuffer = [] } }
        guard let sent = shared.writeBuffer.withUnsafeBytes({ socket.send($0, more: more) }) else {
            close()
            return false
        }
        unsent.count(sent)
        if sent == shared.writeBuffer.count { return true }
        output.add(Array(shared.writeBuffer[sent...]))
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
        guard let sent = output.send({ socket.send($0, more: $1) }) else { return close() }
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
            stream?.waiting.take()?.resume(returning: true)
        case .none, .sent: break
        }
        if unsent.isDueNow { measureSendQueue(at: .now()) }
    }

    /// The next action after a sent response; nil before that.
    func takeNext() -> ConnectionMachine.Action? {
        guard isOpen, case .sent = progress else { return nil }
        progress = .none
        if closesAfterResponse { socket.endWriting() }
        let now = MonotonicTime.now()
        let action = machine.responseEnded(closing: closesAfterResponse, at: now)
        if heldInput.slot != nil { holdInput(at: now) }
        return action
    }
}
