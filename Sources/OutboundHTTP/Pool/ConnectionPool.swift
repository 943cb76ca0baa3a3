import EventLoops
import Primitives
import Synchronization

/// The connections of a client on one loop, and the exchanges under way on them.
///
/// Sendable without the compiler's check: everything but its constants is used on its loop's thread only.
final class ConnectionPool: LoopMember, @unchecked Sendable {
    let loop: EventLoop
    let shared: ClientContext
    /// For requests on their way to a socket.
    var writeBuffer: [UInt8] = []
    private var registration: EventLoop.Registration?
    /// The earliest deadline, or an earlier time.
    private var due = MonotonicTime.never
    private var connections: [OutboundConnection] = []
    private var connectors: [Connector] = []
    /// Exchanges that start at the end of the loop's turn.
    private var starting: [Exchange] = []
    /// More do not wait, so that the first of them does not wait long.
    private static let mostStarting = 32
    /// By host, the one that was used last at the end. Empty ones are removed now and then.
    private var idle: [HostKey: [OutboundConnection]] = [:]
    /// Hosts whose exchanges have ended, and whose waiting exchanges may start.
    private var released: [HostKey] = []
    private var isReleasing = false
    private var isClosed = false

    /// On the loop's thread.
    init(loop: EventLoop, shared: ClientContext) {
        self.loop = loop
        self.shared = shared
        registration = loop.register(self)
    }

    // MARK: Exchanges

    /// Takes an exchange: it starts, waits or fails.
    func admit(_ exchange: Exchange) {
        assert(loop.isCurrent)
        guard !isClosed else { return exchange.fail(.shutDown, Self.shutDown) }
        guard exchange.deadline > .now() else { return exchange.finish(.failure(Self.tooLate(exchange))) }
        guard RequestWriter.isLegal(exchange.request.headers) else {
            return exchange.fail(.malformed, "a header field of the request is not valid")
        }
        exchange.pool = self
        let starts = shared.limits.queues.withLock { $0.starts(exchange, at: exchange.host) }
        if starts { startLater(exchange) } else { arm(exchange.deadline) }
    }

    /// Starts an exchange that the limits have admitted, once the loop has served the other events of its turn.
    ///
    /// So the requests of a turn leave one after the other. A server on the same machine wakes up for each that finds
    /// it asleep, and then takes the processor from the loop.
    private func startLater(_ exchange: Exchange) {
        assert(loop.isCurrent)
        guard loop.hasMoreWorkThisTurn else { return start(exchange) }
        starting.append(exchange)
        if starting.count == 1 { loop.execute { self.startWaiting() } }
        if starting.count == ConnectionPool.mostStarting { startWaiting() }
    }

    private func startWaiting() {
        let exchanges = starting
        // One that fails at once lets another start.
        starting = []
        for exchange in exchanges { start(exchange) }
    }

    private func start(_ exchange: Exchange) {
        guard !isClosed else { return finish(exchange, .failure(exchange.error(.shutDown, Self.shutDown))) }
        let now = MonotonicTime.now()
        guard exchange.deadline > now else { return finish(exchange, .failure(Self.tooLate(exchange))) }
        arm(exchange.deadline)
        if let connection = takeIdle(exchange.host, at: now) { return connection.begin(exchange) }
        let connector = Connector(exchange, pool: self, at: now)
        connectors.append(connector)
        arm(connector.deadline)
        connector.begin(at: now)
    }

    func finish(_ exchange: Exchange, _ outcome: Exchange.Outcome) {
        assert(loop.isCurrent)
        if case .failure(let error) = outcome { forgetAddresses(of: exchange, after: error) }
        release(exchange.host)
        exchange.finish(outcome)
    }

    /// Has the host looked up again if there was no usable connection to its addresses: it may have moved.
    private func forgetAddresses(of exchange: Exchange, after error: OutboundError) {
        guard !error.mayHaveBeenSent else { return }
        switch error.code {
        case .unreachable, .tls, .timedOut, .addressRefused:
            shared.resolver.forget(shared.proxy?.host ?? exchange.host.name)
        case .closed, .malformed, .tooLarge, .overloaded, .suspended, .shutDown: break
        }
    }

    /// Starts what waits for a place. Not recursively: what starts may fail at once.
    private func release(_ host: HostKey) {
        released.append(host)
        guard !isReleasing else { return }
        isReleasing = true
        defer { isReleasing = false }
        while let host = released.popLast() {
            guard let next = shared.limits.queues.withLock({ $0.leave(host) }), let pool = next.pool else { continue }
            if pool === self { startLater(next) } else { pool.loop.execute { pool.startLater(next) } }
        }
    }

    private static func tooLate(_ exchange: Exchange) -> OutboundError {
        exchange.timeoutError("waiting for a connection")
    }

    // MARK: Connections

    func connected(_ connection: OutboundConnection, for connector: Connector) {
        connectors.removeAll { $0 === connector }
        connections.append(connection)
        connection.establish(for: connector.exchange, until: connector.establishDeadline)
    }

    func failed(_ connector: Connector, _ error: OutboundError) {
        connectors.removeAll { $0 === connector }
        finish(connector.exchange, .failure(error))
    }

    func remove(_ connection: OutboundConnection, wasIdle: Bool) {
        if wasIdle { removeIdle(connection) }
        connections.removeAll { $0 === connection }
    }

    func keep(_ connection: OutboundConnection) {
        idle[connection.host, default: []].append(connection)
        arm(connection.deadline)
        guard !shared.limits.keep(maximum: shared.configuration.maximumIdleConnections) else { return }
        // At least the new one is there.
        let oldest = idle.values.compactMap(\.first).min { $0.deadline < $1.deadline }
        oldest?.close()
    }

    private func takeIdle(_ host: HostKey, at now: MonotonicTime) -> OutboundConnection? {
        guard let index = idle.index(forKey: host) else { return nil }
        let silence = shared.limits.silence(of: host)
        while let connection = idle.values[index].popLast() {
            shared.limits.release()
            connection.leaveIdle()
            let isTrusted = silence.map { silence in connection.keptAt.map { $0 > silence } ?? true } ?? true
            if isTrusted, connection.deadline > now, connection.isReusable() { return connection }
            connection.close()
        }
        return nil
    }

    private func removeIdle(_ connection: OutboundConnection) {
        guard let index = idle[connection.host]?.firstIndex(where: { $0 === connection }) else { return }
        idle[connection.host]?.remove(at: index)
        shared.limits.release()
    }

    // MARK: Time

    /// Has deadlines checked at this time. It is moved to an earlier time only: an exchange that ends in time costs
    /// nothing.
    func arm(_ time: MonotonicTime) {
        guard time < due else { return }
        due = time
        if let registration { loop.setAlarm(of: registration, to: due) }
    }

    func tick(at now: MonotonicTime) {
        guard now >= due else { return }
        due = .never
        for connector in connectors where connector.deadline <= now { connector.timePassed(at: now) }
        for connection in connections where connection.deadline <= now { connection.timePassed(at: now) }
        if idle.values.contains(where: \.isEmpty) { idle = idle.filter { !$0.value.isEmpty } }
        let (expired, next) = shared.limits.removeWaiting(of: self, until: now)
        for exchange in expired { exchange.finish(.failure(Self.tooLate(exchange))) }
        arm(next)
        for connector in connectors { arm(connector.deadline) }
        for connection in connections { arm(connection.deadline) }
    }

    // MARK: End

    func abandon() { close() }

    /// Fails all exchanges, and all later ones; closes all connections.
    func close() {
        assert(loop.isCurrent)
        guard !isClosed else { return }
        isClosed = true
        if let registration { loop.unregister(registration, descriptor: nil) }
        let (waiting, _) = shared.limits.removeWaiting(of: self, until: .never)
        var active: [Exchange] = []
        for connector in connectors {
            connector.end()
            active.append(connector.exchange)
        }
        connectors = []
        for connection in connections {
            if let exchange = connection.end() { active.append(exchange) }
        }
        for exchange in waiting { exchange.fail(.shutDown, Self.shutDown) }
        for exchange in active { finish(exchange, .failure(exchange.error(.shutDown, Self.shutDown))) }
    }

    static let shutDown = "the client was shut down"
}
