import EventLoops
import Glibc
import HTTPCore
import HTTPTypes
import Primitives

/// Moves bytes between a socket and a ``ConnectionMachine``, whose actions it performs.
///
/// Sendable without the compiler's check: touched on its loop's thread only; the tasks of its handlers run there too.
///
/// Properties that every request uses several times are not checked for overlapping accesses at run time: each access
/// is over before other code runs.
final class Connection: LoopMember, @unchecked Sendable {
    /// How many requests of one connection are served before the loop turns to other connections.
    private static let requestsPerTurn = 32
    /// Fewer received bytes do not count: the head of a request, or a small body in several pieces.
    private static let leastHeldInput = 4096

    private let loop: EventLoop
    private let shared: ServerLoop
    private let service: ConnectionService
    private let slotHolder: ConnectionSlotHolder
    /// Among all connections, or among those beyond the limits.
    let slot: Slot
    /// Replaced at the end of a handshake in which the client sent a certificate.
    private var client: ConnectedClient
    @exclusivity(unchecked) private var socket: ByteStream
    @exclusivity(unchecked) private var machine: ConnectionMachine
    /// In ``HandshakeLimit``; nil on a plain connection and after the handshake.
    @exclusivity(unchecked) private var handshake: Slot?
    @exclusivity(unchecked) private var heldOutput = BudgetShare()
    /// Of requests that have not arrived in full, and of what follows one that is being handled.
    @exclusivity(unchecked) private var heldInput = BudgetShare()
    @exclusivity(unchecked) private var stream: ResponseBodyStream?
    @exclusivity(unchecked) private var isRunning = false

    init(
        descriptor: Int32, peer: SocketAddress, loop: ServerLoop, service: ConnectionService, at now: MonotonicTime
    ) {
        socket = ByteStream(descriptor)
        client = ConnectedClient(peer)
        self.loop = loop.events
        shared = loop
        self.service = service
        machine = ConnectionMachine(limits: service.limits, timeouts: service.timeouts, at: now)
        slotHolder = ConnectionSlotHolder(loop: loop.events)
        slot = Slot(of: peer.address?.subnet, at: now, holder: slotHolder)
        slotHolder.connection = self
    }

    /// Closes a connection that got no slot, in place of ``open(refusing:)``.
    func drop() {
        slotHolder.connection = nil
        socket.close(on: loop)
    }

    /// Begins to serve. Beyond a limit it serves a probe, and refuses everything else.
    func open(refusing refusal: RequestError?) {
        assert(loop.isCurrent)
        if let refusal {
            machine = ConnectionMachine(
                limits: service.limits, timeouts: service.timeouts,
                restriction: .init(refusal: refusal, probePaths: service.probePaths), at: .now())
        }
        do {
            try socket.register(self, on: loop)
        } catch {
            return close()
        }
        switch (refusal, service.tls) {
        case (nil, let tls?): beginHandshake(tls)
        case (_?, _?):
            // A response would need a handshake first, which costs more than a request.
            service.limited(.unanswered)
            close()
        case (let refusal?, nil) where service.probePaths.isEmpty: run(machine.refuse(refusal))
        case (_, nil): run(.wait)
        }
    }

    // MARK: Events

    func becameReady(peerHasEnded: Bool, at now: MonotonicTime) {
        socket.becameReady(peerHasEnded: peerHasEnded)
        if let session = socket.tls {
            if handshake != nil { return continueHandshake(session) }
            if session.endIsDue { socket.endWriting() }
        }
        guard machine.isOpen else { return end(at: now) }
        if !machine.output.isEmpty {
            flush()
            if let next = takeNext() { return run(next) }
        }
        guard machine.isOpen else { return }
        // A peer that has ended its side counts as gone: a stream may have nothing to send for long.
        if peerHasEnded, stream != nil { return close() }
        if machine.wantsInput { return run(.wait) }
        // Nothing is read: a reset would go unnoticed, and the descriptor would outlive the connection.
        if SystemCalls.pendingError(socket.descriptor) != 0 { close() }
    }

    func tick(at now: MonotonicTime) {
        guard machine.isOpen else { return end(at: now) }
        if handshake == nil, machine.output.measuresAtTick { measureSendQueue(at: now) }
        guard now >= machine.deadline else { return }
        if handshake != nil { return failHandshake("it was not done in time") }
        run(machine.tick(at: now))
    }

    /// Takes no further request: closes now if idle, else after the current response.
    func drain() {
        machine.unreceived = .detach
        guard machine.isOpen else { return end(at: .now()) }
        // A request may wait in the socket: it is served before the connection counts as idle.
        if machine.isIdle {
            socket.expectInput()
            run(.wait)
        }
        guard machine.isOpen else { return }
        stream?.task.cancel()
        run(machine.drain())
    }

    /// Closes at once, whatever is in progress.
    func abandon() { close(.detach) }

    /// A slot is given to another connection.
    fileprivate func lost(_ lost: Slot) {
        assert(loop.isCurrent)
        if lost === heldOutput.slot {
            service.limited(.unsentOutput)
            return close(.discarded)
        }
        if lost === heldInput.slot {
            heldInput.release(to: service.input)
            service.limited(.incompleteRequests)
            // A request that a handler has is still answered.
            guard machine.isReading else { return machine.dropFollowingRequests() }
            return run(machine.refuse(.incompleteRequests))
        }
        if lost === handshake {
            service.limited(.handshakeEvicted)
            return failHandshake("it was the oldest of its address at the limit of handshakes")
        }
        guard lost === slot else { return }
        service.limited(.evicted)
        machine.unreceived = .discarded
        if machine.isReading {
            // A request may have arrived meanwhile: it is the last one.
            machine.takeLastRequest()
            socket.expectInput()
            run(.wait)
            guard machine.isReading else { return }
        } else if machine.isHandling {
            return run(machine.drain())
        }
        close(.discarded)
    }

    // MARK: TLS

    private func beginHandshake(_ tls: ServerTLS) {
        let now = MonotonicTime.now()
        let slot = slot.another(at: now)
        guard service.handshakes.enter(slot, at: now) else {
            service.limited(.handshakeEvicted)
            service.handshakeFailed("there are too many handshakes")
            return close()
        }
        handshake = slot
        machine.beginHandshake(until: now.advanced(by: service.timeouts.handshake))
        guard let session = TLSSession(serving: tls.context, descriptor: socket.descriptor) else {
            return failHandshake("there is no memory for a session")
        }
        socket.tls = session
        continueHandshake(session)
    }

    private func continueHandshake(_ session: TLSSession) {
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
            run(machine.refuse(.plainHTTPOnTLS))
        case .failed(let reason):
            service.handshakeFailed(reason)
            endHandshake()
            // OpenSSL has sent an alert: closing now could destroy it on its way.
            socket.tls = nil
            socket.endWriting()
            run(machine.handshakeFailed(at: .now()))
        }
    }

    /// The deadline of the first request begins.
    private func endHandshake() {
        if let slot = handshake.take() { service.handshakes.leave(slot) }
        machine = ConnectionMachine(limits: service.limits, timeouts: service.timeouts, at: .now())
    }

    private func failHandshake(_ reason: String) {
        guard machine.isOpen, handshake != nil else { return }
        service.handshakeFailed(reason)
        close()
    }

    // MARK: Requests

    /// Performs the machine's actions until it waits for a handler, the socket or the client.
    private func run(_ first: ConnectionMachine.Action) {
        guard !isRunning else { return }
        isRunning = true
        defer { isRunning = false }
        var action = first
        var served = 0
        while machine.isOpen {
            switch action {
            case .wait:
                guard socket.mayRead, machine.wantsInput else { return }
                action = read()
                continue
            case .sendContinue:
                send { $0.append(contentsOf: ResponseSerializer.continueLine) }
                action = .wait
                continue
            case .close: return close()
            case .refuse(let error): refuse(error)
            case .handle(let head, let body): handle(head, body)
            }
            guard let next = takeNext() else { return }
            served += 1
            // Other connections of the loop run first.
            guard served < Connection.requestsPerTurn else { return loop.execute { self.run(next) } }
            action = next
        }
    }

    private func read() -> ConnectionMachine.Action {
        switch socket.receive(into: loop.readBuffer) {
        case .bytes(let count):
            let now = MonotonicTime.now()
            let action = machine.receive(loop.received(count).span, at: now)
            holdInput(at: now)
            return action
        case .wouldBlock: return .wait
        case .ended: return machine.inputEnded()
        case .failed: return .close
        }
    }

    private func handle(_ head: RequestHead, _ body: [UInt8]) {
        let request = Request(head: head, body: body, client: client)
        if shared.isBusy, let delay = loop.delay.excess(at: .now()), let response = service.shed?(request, delay) {
            return finish(response, to: head)
        }
        slot.markBusy()
        switch service.respond(to: request) {
        case .value(let response): finish(response, to: head)
        case .task(let work): run(work, for: request)
        }
    }

    private func run(_ work: @escaping @Sendable () async throws -> Response, for request: Request) {
        shared.requestsInProgress += 1
        // Runs here until the handler first suspends, and on this loop's thread after that.
        Task.immediate(executorPreference: loop) {
            let response = await service.run(work, for: request)
            shared.requestsInProgress -= 1
            finish(response, to: request.head)
        }
    }

    private func finish(_ response: consuming Response, to head: RequestHead) {
        assert(loop.isCurrent)
        guard machine.isOpen else { return }
        if let produce = response.stream, head.method != .head, ResponseSerializer.mayHaveContent(response.status) {
            if service.streams.enter() { return begin(response, produce, to: head) }
            response = service.render(.tooManyStreams, nil)
        }
        let context = ResponseSerializer.Context(
            method: head.method, minorVersion: head.minorVersion, closes: machine.closesAfterResponse)
        respond(response, for: context)
        goOn()
    }

    private func refuse(_ error: RequestError) {
        service.refused(error)
        if let refusal = machine.restriction?.refusal {
            service.limited(refusal == .tooManyConnections ? .full : .addressShare)
        }
        respond(service.render(error.httpError, nil), for: .init(method: .get, minorVersion: 1, closes: true))
    }

    /// The next action after a sent response; nil before that.
    private func takeNext() -> ConnectionMachine.Action? {
        guard machine.isOpen, machine.isSent else { return nil }
        if machine.closesWhenSent { socket.endWriting() }
        let now = MonotonicTime.now()
        let action = machine.nextAction(at: now)
        if heldInput.slot != nil { holdInput(at: now) }
        return action
    }

    private func goOn() { if !isRunning, let next = takeNext() { run(next) } }

    // MARK: Output

    // The response is borrowed: a copy would count several references.
    private func respond(
        _ response: borrowing Response, for context: ResponseSerializer.Context, streaming isFramed: Bool? = nil
    ) {
        let now = MonotonicTime.now()
        let route = machine.respond(
            contentBytes: response.content.count,
            sendsContent: ResponseSerializer.sendsContent(of: response, for: context), isLast: context.closes,
            streaming: isFramed, turnHasMore: loop.hasMoreWorkThisTurn, at: now)
        // A stream works until its end.
        if isFramed == nil { slot.markIdle(at: now) }
        let date = shared.date.lines(at: time(nil))
        guard case .apart = route else {
            return send(later: route == .atEndOfTurn) {
                ResponseSerializer.append(response, for: context, date: date, to: &$0)
            }
        }
        send(then: response.content) {
            ResponseSerializer.append(response, for: context, date: date, withContent: false, to: &$0)
        }
    }

    /// Sends what `append` adds, then content that is not copied; keeps what the socket does not take. A small response
    /// is one system call.
    /// - Parameter later: Whether it waits for the end of the loop's turn.
    private func send(later: Bool = false, then content: ResponseContent? = nil, _ append: (inout [UInt8]) -> Void) {
        guard machine.output.isEmpty, !later else {
            var bytes: [UInt8] = []
            append(&bytes)
            machine.output.add(bytes)
            if let content { machine.output.add(content) }
            return later ? shared.sendLater(self) : holdOutput(at: .now())
        }
        shared.writeBuffer.removeAll(keepingCapacity: true)
        append(&shared.writeBuffer)
        defer { if shared.writeBuffer.capacity > ServerLoop.keptWriteCapacity { shared.writeBuffer = [] } }
        guard let sent = shared.writeBuffer.withUnsafeBytes({ socket.send($0, more: content != nil) }) else {
            return close()
        }
        machine.output.count(sent)
        let isTaken = sent == shared.writeBuffer.count
        if !isTaken { machine.output.add(Array(shared.writeBuffer[sent...])) }
        if let content { machine.output.add(content) }
        if machine.output.isEmpty { return outputWasSent() }
        if isTaken { flush() } else { holdOutput(at: .now()) }
    }

    /// Sends more of the kept bytes.
    private func flush() {
        guard machine.output.send({ socket.send($0, more: $1) }) else { return close() }
        holdOutput(at: .now())
        if machine.output.isEmpty { outputWasSent() }
    }

    /// Sends what has waited for the end of the turn.
    func sendWaiting() {
        guard machine.isOpen, !machine.output.isEmpty else { return }
        flush()
        goOn()
    }

    private func outputWasSent() {
        machine.outputWasSent()
        stream?.waiting.take()?.resume(returning: true)
        if machine.output.measuresNow { measureSendQueue(at: .now()) }
    }

    // MARK: Streams

    /// Sends the head, and starts the producer of the content. The stream is already counted.
    private func begin(_ response: Response, _ produce: @escaping ResponseProducer, to head: RequestHead) {
        // Without chunks the content ends with the connection.
        let isFramed = head.minorVersion > 0
        let context = ResponseSerializer.Context(
            method: head.method, minorVersion: head.minorVersion, closes: machine.closesAfterResponse || !isFramed)
        respond(response, for: context, streaming: isFramed)
        guard machine.isOpen, !socket.peerHasEnded else {
            service.streams.leave()
            return close()
        }
        stream = ResponseBodyStream(produce, for: self, on: loop)
        // The drain came before the stream.
        if machine.isDraining { stream?.task.cancel() }
    }

    /// Sends a piece, and resumes `done` once the socket has taken it.
    func write(_ bytes: [UInt8], _ done: ResponseBodyStream.Taken) {
        assert(loop.isCurrent)
        switch machine.write(pieceOf: bytes.count, at: .now()) {
        case .refuse: done.resume(returning: false)
        case .skip: done.resume(returning: true)
        case .send(let isFramed):
            stream?.waiting = done
            send { ResponseSerializer.append(chunk: bytes, isFramed: isFramed, to: &$0) }
        }
    }

    /// - Parameter isWhole: Whether the content is complete. If not, the connection is cut.
    func streamEnded(isWhole: Bool) {
        assert(loop.isCurrent)
        let now = MonotonicTime.now()
        let end = machine.streamEnded(isWhole: isWhole, at: now)
        switch end {
        case .ignore: return
        case .cut: return close()
        case .sendLastChunk, .nothing:
            endStream()
            slot.markIdle(at: now)
            if end == .sendLastChunk { send { $0.append(contentsOf: ResponseSerializer.lastChunk) } }
            goOn()
        }
    }

    private func endStream() {
        guard let ended = stream.take() else { return }
        service.streams.leave()
        ended.end()
    }

    // MARK: Memory

    /// Counts received bytes that are kept. Most requests arrive in one read, and then it is nothing.
    private func holdInput(at now: MonotonicTime) {
        let bytes = machine.heldBytes
        guard bytes > Connection.leastHeldInput || heldInput.slot != nil else { return }
        heldInput.hold(bytes > Connection.leastHeldInput ? bytes : 0, of: service.input, with: slot, at: now)
    }

    /// Counts what is kept for the peer.
    private func holdOutput(at now: MonotonicTime) {
        let bytes = machine.output.heldBytes(ofSystem: 2 * service.limits.sendBufferBytes)
        heldOutput.hold(bytes, of: service.output, with: slot, at: now)
    }

    /// Asks the system how many bytes it still has for the peer. Without effect while others wait here.
    private func measureSendQueue(at now: MonotonicTime) {
        guard machine.output.isEmpty else { return }
        machine.output.update(inSystem: SystemCalls.unsentBytes(socket.descriptor))
        holdOutput(at: now)
    }

    // MARK: End

    /// Serves no more.
    private func close() {
        guard machine.isOpen else { return }
        heldInput.release(to: service.input)
        endStream()
        end(at: .now())
        if let slot = handshake.take() { service.handshakes.leave(slot) }
    }

    private func close(_ unreceived: ConnectionMachine.UnreceivedOutput) {
        machine.unreceived = unreceived
        if machine.isOpen { close() } else { end(at: .now()) }
    }

    /// Ends, or continues to.
    private func end(at now: MonotonicTime) {
        switch machine.end(inSystem: SystemCalls.unsentBytes(socket.descriptor), at: now) {
        case .none: return
        case .linger:
            if slot.idleSince == nil { slot.markIdle(at: now) }
            // The acknowledgement of the end, which comes after everything else, is an event.
            socket.endWriting()
            holdOutput(at: now)
        case .wait: holdOutput(at: now)
        case .release(let resetting):
            if resetting { SystemCalls.resetAtClose(socket.descriptor) }
            heldOutput.release(to: service.output)
            socket.close(on: loop)
            service.connections.remove(slot, isRestricted: machine.restriction != nil)
            slotHolder.connection = nil
        }
    }
}

/// What the slots of a connection refer to, and what refers to the connection until it is closed.
///
/// Slots that refer to the connection itself would need a weak reference. With one, each strong reference to the
/// connection is counted in a second object, at several times the cost.
///
/// Sendable without the compiler's check: `connection` is set before the connection is opened, and used on the loop's
/// thread from then on.
final class ConnectionSlotHolder: SlotHolder, @unchecked Sendable {
    private let loop: EventLoop
    fileprivate var connection: Connection?

    init(loop: EventLoop) { self.loop = loop }

    func wasEvicted(from slot: Slot) { loop.execute { self.connection?.lost(slot) } }
}
