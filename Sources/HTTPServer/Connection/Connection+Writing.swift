import EventLoops
import Glibc

/// The output of a connection.
extension Connection {
    /// Whether the socket has taken all bytes written so far.
    var isFlushed: Bool { outputStart == output.count }

    func respond(_ response: Response, for context: ResponseSerializer.Context, _ state: ResponseProgress = .sending) {
        machine.responseBegan(at: .now())
        progress = state
        closesAfterResponse = context.closes
        let date = shared.date.line(at: time(nil))
        write { ResponseSerializer.append(response, for: context, date: date, to: &$0) }
    }

    /// Sends what `append` adds; keeps what the socket does not take. A small response is one system call.
    func write(_ append: (inout [UInt8]) -> Void) {
        guard isFlushed else { return append(&output) }
        shared.writeBuffer.removeAll(keepingCapacity: true)
        append(&shared.writeBuffer)
        let sent = shared.writeBuffer.withUnsafeBytes { transport.send(descriptor, $0) }
        switch sent {
        case .bytes(let count) where count == shared.writeBuffer.count: responseWasSent()
        case .bytes(let count): output = Array(shared.writeBuffer[count...])
        case .wouldBlock: output = shared.writeBuffer
        case .ended, .failed: close()
        }
        if shared.writeBuffer.capacity > ServerLoop.keptWriteCapacity { shared.writeBuffer = [] }
    }

    /// Sends more of the kept bytes.
    func send() {
        let sent = output.withUnsafeBytes {
            transport.send(descriptor, UnsafeRawBufferPointer(rebasing: $0[outputStart...]))
        }
        switch sent {
        case .bytes(let count):
            outputStart += count
            guard isFlushed else { return }
            output = []
            outputStart = 0
            responseWasSent()
        case .wouldBlock: break
        case .ended, .failed: close()
        }
    }

    private func responseWasSent() {
        switch progress {
        case .sending: progress = .sent
        case .streaming:
            machine.responseRests()
            stream?.pieceWasSent()
        case .none, .sent: break
        }
    }

    /// The next action after a sent response; nil before that.
    func takeNext() -> ConnectionMachine.Action? {
        guard isOpen, case .sent = progress else { return nil }
        progress = .none
        if closesAfterResponse { transport.endWriting(descriptor) }
        return machine.responseEnded(closing: closesAfterResponse, at: .now())
    }
}
