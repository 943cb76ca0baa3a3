import CLatchkeySystem
import HTTPTypes

#if canImport(Glibc)
    import Glibc
#endif

/// A connection's socket: does what its ``ConnectionMachine`` says.
final class Connection: LoopMember, @unchecked Sendable {
    // @unchecked: touched on its loop's queue only; the tasks of its handlers run there too.

    /// A handshake under way.
    private struct Handshake {
        /// Among those of ``HandshakeLimit``.
        let number: UInt64
        let deadline: MonotonicTime
    }

    /// How far the answer to the present request has come.
    private enum Answer {
        case none
        case leaving
        /// It is not whole yet; pieces of it come with time.
        case streaming
        case gone
    }

    /// So many requests of one connection are served before the loop looks after others.
    private static let requestsPerTurn = 32

    private let descriptor: Int32
    private let peer: SocketAddress
    private let loop: EventLoop
    private let service: ConnectionService
    private var transport = Transport.plain
    /// Nil when there is none, or it is done. Until then no request is read.
    private var handshake: Handshake?
    private var machine: ConnectionMachine
    private var registration: EventLoop.Registration?
    /// What the socket has not taken yet.
    private var output: [UInt8] = []
    private var outputStart = 0
    private var answer = Answer.none
    private var answerCloses = false
    private var stream: ResponseBodyStream?
    /// Whether the socket may have something to read: true until a read finds less than it asked for.
    private var mayRead = true
    /// Whether the end of the input is known to come: it is read even when all bytes before it were.
    private var peerHasEnded = false
    private var isRunning = false
    private var isOpen = true

    init(descriptor: Int32, peer: SocketAddress, loop: EventLoop, service: ConnectionService) {
        self.descriptor = descriptor
        self.peer = peer
        self.loop = loop
        self.service = service
        machine = ConnectionMachine(limits: service.limits, timeouts: service.timeouts, at: .now())
    }

    /// Begins to serve; or refuses, where there are too many connections. On the loop's queue.
    func open(refusing refusal: RequestError?) {
        do {
            registration = try loop.register(self, descriptor: descriptor)
        } catch {
            return close()
        }
        guard let tls = service.tls else { return run(refusal.map { .refuse($0) } ?? .wait) }
        // To tell why would take a handshake, which costs more than many a request.
        guard refusal == nil else { return close() }
        beginHandshake(tls)
    }

    // MARK: Events

    func becameReady(peerHasEnded: Bool, at now: MonotonicTime) {
        mayRead = true
        self.peerHasEnded = peerHasEnded
        if case .tls(let session) = transport {
            session.becameReady(peerHasEnded: peerHasEnded)
            if handshake != nil { return goOnWithHandshake(session) }
            if session.endIsDue { transport.endWriting(descriptor) }
        }
        if outputStart < output.count {
            send()
            if let next = takeNext() { return run(next) }
        }
        guard isOpen else { return }
        // A reader that sends no more has gone as far as anybody can tell, and a stream may have nothing to send for long.
        if peerHasEnded, stream != nil { return close() }
        if machine.wantsInput { run(.wait) } else { closeIfReset() }
    }

    func tick(at now: MonotonicTime) {
        if let handshake {
            guard now >= handshake.deadline else { return }
            return failHandshake("it was not done in time")
        }
        guard now >= machine.deadline else { return }
        run(machine.tick(at: now))
    }

    /// Takes no further request: closes now if idle, else after the answer under way.
    func drain() {
        // Whoever is still in a handshake has not asked for anything.
        guard handshake == nil else { return close() }
        // A request may have come to the socket already: it is served before the connection counts as idle.
        if machine.isIdle { run(.wait) }
        guard isOpen else { return }
        // Whoever has not taken what was said last would hold up everybody.
        if stream != nil, outputStart < output.count { return close() }
        stream?.cancel()
        run(machine.drain())
    }

    /// Closes at once, whatever is under way.
    func abandon() { close() }

    /// While nothing is read a reset has to be seen all the same, or the descriptor would outlive it.
    private func closeIfReset() {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        if getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0, error != 0 { close() }
    }

    private func close() {
        guard isOpen else { return }
        isOpen = false
        machine.closed()
        endStream()
        output = []
        outputStart = 0
        if let handshake { service.handshakes.leave(handshake.number) }
        handshake = nil
        if let registration { loop.unregister(registration, descriptor: descriptor) }
        transport.close()
        transport = .plain
        SystemCalls.closeDescriptor(descriptor)
        service.connections.remove(peer)
    }

    // MARK: TLS

    private func beginHandshake(_ tls: ServerTLS) {
        let now = MonotonicTime.now()
        let number = service.handshakes.enter(at: now) { [weak self, loop] in
            loop.execute { [weak self] in self?.failHandshake("others wait, and it went on for longer than any") }
        }
        guard let number else {
            service.handshakeFailed("there are as many as there may be")
            return close()
        }
        handshake = Handshake(number: number, deadline: now.advanced(by: service.timeouts.handshake))
        guard let session = TLSSession(tls.context, descriptor: descriptor) else {
            return failHandshake("there is no memory for it")
        }
        transport = .tls(session)
        goOnWithHandshake(session)
    }

    private func goOnWithHandshake(_ session: TLSSession) {
        switch session.handshake() {
        case .waiting: return
        case .done:
            endHandshake()
            run(.wait)
        case .plainHTTP:
            endHandshake()
            transport = .plain
            run(.refuse(.plainHTTPOnTLS))
        case .failed(let reason):
            service.handshakeFailed(reason)
            endHandshake()
            // OpenSSL has sent the client its word on it: closing now could destroy that on its way.
            transport = .plain
            shutdown(descriptor, Int32(SHUT_WR))
            run(machine.responseEnded(closing: true, at: .now()))
        }
    }

    /// The time for the first request begins.
    private func endHandshake() {
        if let handshake { service.handshakes.leave(handshake.number) }
        handshake = nil
        machine = ConnectionMachine(limits: service.limits, timeouts: service.timeouts, at: .now())
    }

    private func failHandshake(_ reason: String) {
        guard isOpen, handshake != nil else { return }
        service.handshakeFailed(reason)
        close()
    }

    // MARK: Serving

    /// Does what the machine says, and what it says next, until a handler, the socket or the client is waited for.
    private func run(_ first: ConnectionMachine.Action) {
        guard !isRunning else { return }
        isRunning = true
        defer { isRunning = false }
        var action = first
        var served = 0
        while isOpen {
            switch action {
            case .wait:
                guard mayRead, machine.wantsInput else { return }
                action = read()
                continue
            case .sendContinue:
                write { $0.append(contentsOf: ResponseSerializer.continueLine) }
                action = .wait
                continue
            case .close: return close()
            case .refuse(let error): refuse(error)
            case .handle(let head, let body): handle(head, body)
            }
            guard let next = takeNext() else { return }
            served += 1
            guard served < Connection.requestsPerTurn else { return runLater(next) }
            action = next
        }
    }

    /// Lets the loop look after others first.
    private func runLater(_ action: ConnectionMachine.Action) {
        loop.execute { self.run(action) }
    }

    private func read() -> ConnectionMachine.Action {
        switch transport.receive(descriptor, into: loop.readBuffer) {
        case .bytes(let count):
            // Less than was asked for means that there is no more now; the poller tells when there is.
            mayRead = count == loop.readBuffer.count || peerHasEnded || !transport.readsAllAtOnce
            let bytes = UnsafeRawBufferPointer(rebasing: loop.readBuffer[..<count]).bindMemory(to: UInt8.self)
            return machine.receive(bytes.span, at: .now())
        case .wouldBlock:
            mayRead = false
            return .wait
        case .ended:
            mayRead = false
            return machine.inputEnded()
        case .failed:
            return .close
        }
    }

    private func handle(_ head: RequestHead, _ body: [UInt8]) {
        var request = Request(head: head, body: body, peer: peer)
        if case .tls(let session) = transport { request.clientCertificate = session.clientCertificate }
        // Runs here until the handler first waits for something, and on this loop's queue after that.
        Task.immediate(executorPreference: loop) { [request] in
            let response = await service.answer(request)
            finish(response, to: head)
        }
    }

    private func finish(_ response: Response, to head: RequestHead) {
        guard isOpen else { return }
        var response = response
        let hasContent = head.method != .head && ResponseSerializer.mayHaveContent(response.status)
        let isStream = response.stream != nil && hasContent
        if isStream, !service.streams.enter() {
            response = service.render(.tooManyStreams, nil)
        } else if isStream, let produce = response.stream {
            return begin(response, produce, to: head)
        }
        let context = ResponseSerializer.Context(
            method: head.method, minorVersion: head.minorVersion,
            closes: machine.closesAfterResponse || response.closesConnection)
        respond(response, for: context)
        if !isRunning, let next = takeNext() { run(next) }
    }

    private func refuse(_ error: RequestError) {
        service.refused(error)
        respond(service.render(error.httpError, nil), for: .init(method: .get, minorVersion: 1, closes: true))
    }

    // MARK: Streams

    /// Sends the head, and has the content made. The stream has been counted by now.
    private func begin(_ response: Response, _ produce: @escaping ResponseProducer, to head: RequestHead) {
        // Without chunks the connection's end is the content's.
        let isFramed = head.minorVersion > 0
        let context = ResponseSerializer.Context(
            method: head.method, minorVersion: head.minorVersion,
            closes: machine.closesAfterResponse || response.closesConnection || !isFramed)
        respond(response, for: context, .streaming)
        guard isOpen, !peerHasEnded else {
            service.streams.leave()
            return close()
        }
        stream = ResponseBodyStream(produce, isFramed: isFramed, for: self, on: loop)
        // Told before the stream had begun.
        if machine.isDraining { stream?.cancel() }
    }

    /// Sends a piece, and tells whether it did once the socket has taken it.
    func write(_ bytes: [UInt8], _ done: ResponseBodyStream.Taken) {
        guard isOpen, !machine.isDraining, case .streaming = answer, let stream, !stream.isWaiting else {
            return done.resume(returning: false)
        }
        guard !bytes.isEmpty else { return done.resume(returning: true) }
        machine.responseBegan(at: .now())
        self.stream?.wait(done)
        write { ResponseSerializer.append(chunk: bytes, isFramed: stream.isFramed, to: &$0) }
    }

    /// - Parameter isWhole: Whether all was said. What was not must not look as if it were: the connection is cut.
    func streamEnded(isWhole: Bool) {
        guard isOpen, case .streaming = answer, let stream else { return }
        guard isWhole else { return close() }
        answerCloses = answerCloses || machine.closesAfterResponse
        answer = .leaving
        endStream()
        machine.responseBegan(at: .now())
        if stream.isFramed {
            write { $0.append(contentsOf: ResponseSerializer.lastChunk) }
        } else if outputStart == output.count {
            answer = .gone
        }
        if !isRunning, let next = takeNext() { run(next) }
    }

    private func endStream() {
        guard let ended = stream else { return }
        stream = nil
        service.streams.leave()
        ended.end()
    }

    // MARK: Writing

    private func respond(
        _ response: Response, for context: ResponseSerializer.Context, _ state: Answer = .leaving
    ) {
        machine.responseBegan(at: .now())
        answer = state
        answerCloses = context.closes
        let date = loop.date.line(at: time(nil))
        write { ResponseSerializer.append(response, for: context, date: date, to: &$0) }
    }

    /// Sends what `append` adds; keeps what the socket does not take. One answer is one system call where it fits.
    private func write(_ append: (inout [UInt8]) -> Void) {
        guard outputStart == output.count else { return append(&output) }
        loop.writeBuffer.removeAll(keepingCapacity: true)
        append(&loop.writeBuffer)
        let sent = loop.writeBuffer.withUnsafeBytes { transport.send(descriptor, $0) }
        switch sent {
        case .bytes(let count) where count == loop.writeBuffer.count: answerHasGone()
        case .bytes(let count): output = Array(loop.writeBuffer[count...])
        case .wouldBlock: output = loop.writeBuffer
        case .ended, .failed: close()
        }
        if loop.writeBuffer.capacity > EventLoop.keptWriteCapacity { loop.writeBuffer = [] }
    }

    /// Sends more of what the socket did not take.
    private func send() {
        let sent = output.withUnsafeBytes {
            transport.send(descriptor, UnsafeRawBufferPointer(rebasing: $0[outputStart...]))
        }
        switch sent {
        case .bytes(let count):
            outputStart += count
            guard outputStart == output.count else { return }
            output = []
            outputStart = 0
            answerHasGone()
        case .wouldBlock: break
        case .ended, .failed: close()
        }
    }

    private func answerHasGone() {
        switch answer {
        case .leaving: answer = .gone
        case .streaming:
            machine.responseRests()
            stream?.pieceHasGone()
        case .none, .gone: break
        }
    }

    /// What comes after an answer that is out; nil while there is none.
    private func takeNext() -> ConnectionMachine.Action? {
        guard isOpen, case .gone = answer else { return nil }
        answer = .none
        if answerCloses { transport.endWriting(descriptor) }
        return machine.responseEnded(closing: answerCloses, at: .now())
    }
}
