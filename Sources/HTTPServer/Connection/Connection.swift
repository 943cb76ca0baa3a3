import EventLoops
import HTTPCore
import HTTPTypes
import Primitives

/// A connection's socket: performs the actions of its ``ConnectionMachine``.
///
/// Sendable without the compiler's check: touched on its loop's thread only; the tasks of its handlers run there too.
///
/// Properties that every request uses several times are not checked for overlapping accesses at run time: each access
/// is over before other code runs.
final class Connection: LoopMember, @unchecked Sendable {
    /// How far the response to the current request has come.
    enum ResponseProgress {
        case none
        /// The response is complete; the socket has not taken all of it.
        case sending
        /// The response is not complete: the handler still writes pieces.
        case streaming
        case sent
    }

    /// How many requests of one connection are served before the loop turns to other connections.
    private static let requestsPerTurn = 32

    /// Replaced at the end of a handshake in which the client sent a certificate.
    var client: ConnectedClient
    let loop: EventLoop
    let shared: ServerLoop
    let service: ConnectionService
    @exclusivity(unchecked) var socket: ByteStream
    /// Nil on a plain connection and after the handshake. Until then no request is read.
    @exclusivity(unchecked) var handshake: Handshake?
    @exclusivity(unchecked) var machine: ConnectionMachine
    let slotHolder: ConnectionSlotHolder
    /// Among all connections, or among those beyond the limits.
    let slot: Slot
    /// The response to everything but probes, of a connection beyond the limits.
    private(set) var refusal: RequestError?
    /// What the socket has not taken yet.
    @exclusivity(unchecked) var output = UnsentOutput()
    @exclusivity(unchecked) var unsent = UnsentAccounting()
    @exclusivity(unchecked) var heldOutput = BudgetShare()
    @exclusivity(unchecked) var heldInput = BudgetShare()
    @exclusivity(unchecked) var progress = ResponseProgress.none
    /// Whether the connection closes after the current response.
    @exclusivity(unchecked) var closesAfterResponse = false
    @exclusivity(unchecked) var stream: ResponseBodyStream?
    @exclusivity(unchecked) private(set) var isRunning = false
    @exclusivity(unchecked) var lifetime = Lifetime.open
    /// What happens at the end to bytes that the peer has not received.
    var unreceived = UnreceivedOutput.linger

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

    /// Begins to serve, or refuses beyond a limit. On the loop's thread.
    func open(refusing refusal: RequestError?) {
        self.refusal = refusal
        do {
            try socket.register(self, on: loop)
        } catch {
            return close()
        }
        if let refusal { return restrict(refusal) }
        guard let tls = service.tls else { return run(.wait) }
        beginHandshake(tls)
    }

    // MARK: Events

    func becameReady(peerHasEnded: Bool, at now: MonotonicTime) {
        socket.becameReady(peerHasEnded: peerHasEnded)
        if let session = socket.tls {
            if handshake != nil { return continueHandshake(session) }
            if session.endIsDue { socket.endWriting() }
        }
        if case .closing(let deadline) = lifetime { return continueClosing(until: deadline, at: now) }
        if !isFlushed {
            send()
            if let next = takeNext() { return run(next) }
        }
        guard isOpen else { return }
        // A peer that has ended its side counts as gone: a stream may have nothing to send for long.
        if peerHasEnded, stream != nil { return close() }
        if machine.wantsInput { return run(.wait) }
        // Nothing is read: a reset would go unnoticed, and the descriptor would outlive the connection.
        if SystemCalls.pendingError(socket.descriptor) != 0 { close() }
    }

    func tick(at now: MonotonicTime) {
        if case .closing(let deadline) = lifetime { return continueClosing(until: deadline, at: now) }
        if let handshake {
            guard now >= handshake.deadline else { return }
            return failHandshake("it was not done in time")
        }
        if unsent.isDue { measureSendQueue(at: now) }
        guard isOpen, now >= machine.deadline else { return }
        if let refusal, machine.isIdle { return run(.refuse(refusal)) }
        run(machine.tick(at: now))
    }

    /// Takes no further request: closes now if idle, else after the current response.
    func drain() {
        leaveOutputToSystem()
        // No request has been made during a handshake.
        guard handshake == nil else { return close() }
        // A request may wait in the socket: it is served before the connection counts as idle.
        if machine.isIdle {
            socket.mayRead = true
            run(.wait)
        }
        guard isOpen else { return }
        // A reader that has not taken the last piece would delay the shutdown.
        if stream != nil, !isFlushed { return close() }
        stream?.task.cancel()
        run(machine.drain())
    }

    /// Closes at once, whatever is in progress.
    func abandon() {
        leaveOutputToSystem()
        close()
    }

    // MARK: Serving

    /// Performs the machine's actions until it waits for a handler, the socket or the client.
    func run(_ first: ConnectionMachine.Action) {
        guard !isRunning else { return }
        isRunning = true
        defer { isRunning = false }
        var action = first
        var served = 0
        while isOpen {
            switch action {
            case .wait:
                guard socket.mayRead, machine.wantsInput else { return }
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
        if let refusal, !service.probePaths.contains(head.path) { return refuse(refusal) }
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
        guard isOpen else { return }
        if let produce = response.stream, head.method != .head, ResponseSerializer.mayHaveContent(response.status) {
            if service.streams.enter() { return begin(response, produce, to: head) }
            response = service.render(.tooManyStreams, nil)
        }
        let context = ResponseSerializer.Context(
            method: head.method, minorVersion: head.minorVersion,
            closes: machine.closesAfterResponse)
        respond(response, for: context)
        if !isRunning, let next = takeNext() { run(next) }
    }

    private func refuse(_ given: RequestError) {
        let error = refusal ?? given
        service.refused(error)
        if let refusal { service.limited(refusal == .tooManyConnections ? .full : .addressShare) }
        respond(service.render(error.httpError, nil), for: .init(method: .get, minorVersion: 1, closes: true))
    }
}
