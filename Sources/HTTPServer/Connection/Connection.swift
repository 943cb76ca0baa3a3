import EventLoops
import Glibc
import HTTPCore
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
    private var handshake: Slot?
    @exclusivity(unchecked) private var heldOutput = BudgetShare()
    @exclusivity(unchecked) private var heldInput = BudgetShare()
    @exclusivity(unchecked) private var stream: ResponseStream?
    @exclusivity(unchecked) private var isRunning = false

    init(
        descriptor: Int32, peer: SocketAddress, loop: ServerLoop, service: ConnectionService, at now: MonotonicTime
    ) {
        socket = ByteStream(descriptor)
        client = ConnectedClient(peer, streams: service.streams)
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
        case (_, nil): run()
        }
    }

    // MARK: Events

    func becameReady(peerHasEnded: Bool, at now: MonotonicTime) {
        socket.becameReady(peerHasEnded: peerHasEnded)
        guard machine.isOpen else { return close() }
        if handshake != nil { return continueHandshake() }
        if !machine.output.isEmpty { flush() }
        // A peer that has ended its side counts as gone: a stream may have nothing to send for long.
        if peerHasEnded, stream != nil { return close() }
        // Where nothing is read, a reset would go unnoticed, and the descriptor would outlive the connection.
        if machine.isWaiting, SystemCalls.pendingError(socket.descriptor) != 0 { return close() }
        run()
    }

    func tick(at now: MonotonicTime) {
        guard machine.isOpen else { return close() }
        if machine.output.measuresAtTick { measureOutput() }
        guard now >= machine.deadline else { return }
        if handshake != nil { return failHandshake("it was not done in time") }
        run(machine.tick(at: now))
    }

    /// Takes at most one more request, which has arrived: closes now if idle, else after the current response.
    func drain() {
        machine.unreceived = .detach
        guard machine.isOpen else { return close() }
        stream?.task.cancel()
        takeLastRequest()
    }

    func abandon() { close(.detach) }

    /// A slot is given to another connection.
    fileprivate func lost(_ lost: Slot) {
        assert(loop.isCurrent)
        if lost === heldOutput.slot {
            service.limited(.unsentOutput)
            close(.discarded)
        } else if lost === heldInput.slot {
            heldInput.release(to: service.input)
            service.limited(.incompleteRequests)
            run(machine.refuseIncompleteRequest())
        } else if lost === handshake {
            service.limited(.handshakeEvicted)
            failHandshake("it was the oldest of its address at the limit of handshakes")
        } else if lost === slot {
            service.limited(.evicted)
            machine.unreceived = .discarded
            // A response that only waits for the end of the turn is the last one.
            if machine.output.isDue {
                machine.dropUnused()
                flush()
            }
            guard machine.mayRespond else { return close() }
            takeLastRequest()
            if machine.isReading { close() }
        }
    }

    /// A request may wait in the socket that the poller has not reported yet: it is served, as the last one.
    private func takeLastRequest() {
        socket.expectInput()
        run(machine.drain())
    }

    // MARK: TLS

    private func beginHandshake(_ tls: ServerTLS) {
        let now = MonotonicTime.now()
        let slot = slot.another(at: now)
        guard service.handshakes.enter(slot, at: now) else {
            service.limited(.handshakeEvicted)
            return failHandshake("there are too many handshakes")
        }
        handshake = slot
        machine.beginHandshake(until: now.advanced(by: service.timeouts.handshake))
        socket.tls = TLSSession(serving: tls.context, descriptor: socket.descriptor)
        guard socket.tls != nil else { return failHandshake("there is no memory for a session") }
        continueHandshake()
    }

    private func continueHandshake() {
        guard let session = socket.tls else { return }
        switch session.handshake() {
        case .waiting: return
        case .done:
            if let certificate = session.clientCertificate() {
                client = ConnectedClient(
                    client.address,
                    certificate: .init(subject: certificate.subject, fingerprint: certificate.fingerprint),
                    streams: service.streams)
            }
            endHandshake()
            run()
        case .failed(let reason):
            endHandshake()
            // OpenSSL has sent an alert: closing now could destroy it on its way.
            socket.tls = nil
            if session.sawPlainHTTP { return run(machine.refuse(.plainHTTPOnTLS)) }
            service.handshakeFailed(reason)
            run(machine.endWriting(at: .now()))
        }
    }

    /// The deadline of the first request begins.
    private func endHandshake() {
        if let slot = handshake.take() { service.handshakes.leave(slot) }
        machine.awaitFirstRequest(at: .now())
    }

    private func failHandshake(_ reason: String) {
        service.handshakeFailed(reason)
        close()
    }

    // MARK: Requests

    /// Performs the machine's actions until it waits for a handler, the socket or the client.
    private func run(_ first: ConnectionMachine.Action = .wait) {
        guard !isRunning else { return }
        isRunning = true
        defer { isRunning = false }
        var action = first
        var served = 0
        while machine.isOpen {
            if machine.isSent {
                // Other connections of the loop run first. They may change this one, so no action waits for them.
                if served == Connection.requestsPerTurn {
                    account()
                    return loop.execute { self.run() }
                }
                served += 1
                action = machine.nextAction(at: .now())
            }
            switch action {
            case .wait where machine.hasInterimResponse:
                flush()
                continue
            case .wait:
                if socket.mayRead, machine.wantsInput {
                    action = read()
                } else if machine.isDone {
                    // After a close, a request would have the system discard what the peer has not received.
                    let keeps = machine.unreceived != .discarded && SystemCalls.unsentBytes(socket.descriptor) > 0
                    action = keeps ? machine.endWriting(at: .now()) : .close
                } else {
                    return account()
                }
                continue
            case .close: close()
            case .endWriting: socket.endWriting()
            case .refuse(let error): refuse(error)
            case .handle(let head, let body): handle(head, body)
            }
            action = .wait
        }
    }

    private func read() -> ConnectionMachine.Action {
        switch socket.receive(into: loop.readBuffer) {
        case .bytes(let count): machine.receive(loop.received(count).span, at: .now())
        case .wouldBlock: .wait
        case .ended: machine.inputEnded()
        case .failed: .close
        }
    }

    private func handle(_ head: RequestHead, _ body: [UInt8]) {
        let request = Request(head: head, body: body, client: client)
        if shared.isBusy, let delay = loop.delay.excess(at: .now()), let response = service.shed?(request, delay) {
            return respond(response, to: head)
        }
        slot.markBusy()
        switch service.respond(to: request) {
        case .value(let response): respond(response, to: head)
        case .task(let work): run(work, for: request)
        }
    }

    private func run(_ work: @escaping @Sendable () async throws -> Response, for request: Request) {
        shared.requestsInProgress += 1
        // Runs here until the handler first suspends, and on this loop's thread after that.
        Task.immediate(executorPreference: loop) {
            let response = await service.run(work, for: request)
            assert(loop.isCurrent)
            shared.requestsInProgress -= 1
            respond(response, to: request.head)
            run()
        }
    }

    private func refuse(_ error: RequestError) {
        service.refused(error)
        if let refusal = machine.restriction?.refusal {
            service.limited(refusal == .tooManyConnections ? .full : .addressShare)
        }
        respond(service.render(error.httpError, nil), to: nil)
    }

    // MARK: Output

    // The response is borrowed: a copy would count several references.
    private func respond(_ response: borrowing Response, to head: RequestHead?) {
        guard machine.isOpen else { return }
        let now = MonotonicTime.now()
        if machine.output.isEmpty { swap(&machine.output.bytes, &shared.buffer) }
        let isLater = machine.respond(
            response, to: head, date: shared.date.lines(at: time(nil)), turnHasMore: loop.hasMoreWorkThisTurn, at: now)
        // A stream works until its end.
        if !machine.isStreaming { slot.markIdle(at: now) }
        // This may send at once, and serve the next request.
        if isLater { return shared.sendLater(self) }
        flush()
        if machine.isStreaming, let source = response.stream { begin(source) }
    }

    private func flush() {
        guard machine.send({ socket.send($0, more: $1) }) else { return close() }
        guard machine.output.isEmpty else { return }
        shared.keep(exchange(&machine.output.bytes, with: []))
        stream?.waiting.take()?.resume(returning: true)
        if machine.output.measuresNow { measureOutput() }
    }

    func sendWaiting() {
        guard machine.isOpen, !machine.output.isEmpty else { return }
        flush()
        run()
    }

    private func begin(_ source: StreamSource) {
        guard !socket.peerHasEnded else { return close() }
        let writer = ResponseWriter { [self] bytes in
            await withCheckedContinuation { done in loop.execute { self.write(bytes, done) } }
        }
        let task = Task(executorPreference: loop) {
            let isWhole: Bool
            do {
                try await source.produce(writer)
                isWhole = true
            } catch {
                isWhole = false
            }
            // When the task is over: until then it has the place, which the next request may need.
            self.loop.execute { self.streamEnded(isWhole: isWhole) }
        }
        stream = ResponseStream(task: task)
        // The drain came before the stream.
        if machine.isDraining { task.cancel() }
    }

    /// Sends a piece of the stream, and resumes `done` once the socket has taken it.
    private func write(_ piece: [UInt8], _ done: CheckedContinuation<Bool, Never>) {
        guard machine.write(piece, at: .now()) else { return done.resume(returning: false) }
        stream?.waiting = done
        flush()
        run()
    }

    /// - Parameter isWhole: Whether the content is complete. If not, the connection is cut.
    private func streamEnded(isWhole: Bool) {
        assert(loop.isCurrent)
        guard machine.isOpen else { return }
        let now = MonotonicTime.now()
        let action = machine.streamEnded(isWhole: isWhole, at: now)
        stream.take()?.end()
        slot.markIdle(at: now)
        flush()
        run(action)
    }

    // MARK: Memory

    /// Counts what is kept of requests, and for the peer. Mostly it is nothing.
    private func account() {
        // A closed connection would hold it for ever.
        assert(socket.descriptor >= 0)
        let input = machine.heldBytes
        heldInput.hold(input > Connection.leastHeldInput ? input : 0, of: service.input, with: slot)
        heldOutput.hold(
            machine.output.heldBytes(ofSystem: 2 * service.limits.sendBufferBytes), of: service.output, with: slot)
    }

    private func measureOutput() {
        machine.output.update(inSystem: SystemCalls.unsentBytes(socket.descriptor))
        account()
    }

    // MARK: End

    /// Serves no more; ends, or continues to.
    private func close(_ unreceived: ConnectionMachine.UnreceivedOutput? = nil) {
        if let unreceived { machine.unreceived = unreceived }
        stream.take()?.end()
        switch machine.end(inSystem: SystemCalls.unsentBytes(socket.descriptor), at: .now()) {
        case .none: return
        case .linger:
            if slot.idleSince == nil { slot.markIdle(at: .now()) }
            // The acknowledgement of the end, which comes after everything else, is an event.
            socket.endWriting()
            account()
        case .wait: account()
        case .release(let resetting):
            if resetting { SystemCalls.resetAtClose(socket.descriptor) }
            heldInput.release(to: service.input)
            heldOutput.release(to: service.output)
            socket.close(on: loop)
            service.connections.remove(slot, isRestricted: machine.restriction != nil)
            slotHolder.connection = nil
        }
        if let slot = handshake.take() { service.handshakes.leave(slot) }
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
