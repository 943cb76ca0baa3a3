import Dispatch
import EventLoops
import Glibc
public import Logging
public import Primitives
import Synchronization

/// Makes the response to a request. ``Server``'s ``ErrorRenderer`` turns a thrown ``HTTPError`` into a response, and
/// any other error into a 500 that reveals nothing about it.
public typealias Handler = @Sendable (Request) async throws -> Response

/// As ``Handler``, for handlers that mostly need not wait. What it does before it returns must be fast: the loop of the
/// connection serves nothing else meanwhile.
public typealias ImmediateHandler = @Sendable (Request) throws -> ValueOrTask<Response>

/// A handler that always runs in a task.
public func immediate(_ handler: @escaping Handler) -> ImmediateHandler {
    { request in .task { try await handler(request) } }
}

/// Makes the response of an error. The request is nil if it could not be read.
public typealias ErrorRenderer = @Sendable (HTTPError, Request?) -> Response

/// Refuses a request while the event loop of its connection has more to do than it can. Called instead of the handler,
/// and before any task is made; must be fast.
///
/// The duration is how long the request may have waited for the loop. Nil lets the handler have the request.
public typealias LoadShedder = @Sendable (Request, Duration) -> Response?

/// An HTTP/1.1 server on sockets and epoll. Its loops run on Dispatch's threads.
///
/// ```swift
/// let handler = immediate { request in try await router.respond(to: request) }
/// let server = Server(configuration: .init(port: 8080), logger: logger, handler: handler)
/// let addresses = try server.start()
/// await server.shutdown(within: .seconds(30))
/// ```
public final class Server: Sendable {
    private struct State {
        var loops: [ServerLoop] = []
        var listeners: [Listener] = []
    }

    private let configuration: ServerConfiguration
    private let logger: Logger
    private let service: ConnectionService
    private let state = Mutex(State())

    /// Takes a configuration and a handler; ``start()`` opens the sockets.
    public init(
        configuration: ServerConfiguration, logger: Logger,
        errorRenderer: @escaping ErrorRenderer = { error, _ in error.plainResponse() },
        loadShedder: LoadShedder? = nil,
        handler: @escaping ImmediateHandler
    ) {
        self.configuration = configuration
        self.logger = logger
        service = ConnectionService(
            configuration: configuration, logger: logger, render: errorRenderer, shed: loadShedder, handler: handler)
    }

    /// Binds, listens and serves.
    /// - Returns: The bound addresses, with the ports that the system chose for 0, in the order of
    ///   ``ServerConfiguration/listeners`` and their hosts. A name may have several.
    /// - Throws: ``ServerError`` if a host is unknown, an address cannot be bound, the process has no room for the
    ///   event loops, or the server runs already. Then nothing is left open.
    public func start() throws(ServerError) -> [SocketAddress] {
        try start(processors: Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    }

    /// - Parameter processors: How many the machine has.
    package func start(processors: Int) throws(ServerError) -> [SocketAddress] {
        guard state.withLock({ $0.loops.isEmpty }) else { throw ServerError(.cannotListen, "the server runs already") }
        // If anything fails, the listeners that exist close their sockets.
        let listeners = try listen()
        do throws(SystemError) {
            let loops = try makeLoops(processors: processors)
            for listener in listeners { loops[0].events.execute { listener.open(on: loops) } }
            state.withLock { $0 = State(loops: loops, listeners: listeners) }
            return listeners.map(\.address)
        } catch {
            throw ServerError(.noEventLoop, "\(error)")
        }
    }

    /// What is served at a bound address; nil while the server does not run.
    package func point(at address: SocketAddress) -> ListeningPoint? {
        state.withLock { state in state.listeners.first { $0.address == address }?.point }
    }

    /// The number of open connections.
    public var connectionCount: Int { service.connections.total }

    /// The current load and the counts since creation.
    public var statistics: ServerStatistics { service.statistics }

    /// The delay of each event loop: the time until it runs work submitted now. Empty while the server does not run.
    public func loopDelays() async -> [Duration] {
        var delays: [Duration] = []
        for loop in state.withLock({ $0.loops }) {
            let given = ContinuousClock.now
            await withCheckedContinuation { done in loop.events.execute { done.resume() } }
            delays.append(ContinuousClock.now - given)
        }
        return delays
    }

    /// Stops: accepts no new connection, closes idle ones, completes running requests (with `Connection: close`), and
    /// closes the rest after `limit`.
    /// - Returns: The number of connections that were cut.
    @discardableResult
    public func shutdown(within limit: Duration) async -> Int {
        let (loops, listeners) = state.withLock { state in
            defer { state = State() }
            return (state.loops, state.listeners)
        }
        guard let first = loops.first else { return 0 }
        await withCheckedContinuation { done in
            first.events.execute {
                for listener in listeners { listener.close() }
                done.resume()
            }
        }
        for loop in loops { loop.events.execute { loop.events.drainMembers() } }
        await waitUntilNoConnection(within: limit)
        let cut = connectionCount
        for loop in loops { loop.events.execute { loop.events.abandonMembers() } }
        await waitUntilNoConnection(within: .seconds(1))
        return cut
    }

    private func listen() throws(ServerError) -> [Listener] {
        var listeners: [Listener] = []
        for point in configuration.listeners {
            let service = service(of: point)
            listeners += try ListeningSocket.make(point, configuration).map { socket in
                Listener(socket, of: point, service: service, logger: logger)
            }
        }
        return listeners
    }

    private func service(of point: ListeningPoint) -> ConnectionService {
        let own = point.handler.map(immediate)
        return switch point.kind {
        case .plain: own == nil ? service : service(tls: nil, handler: own)
        case .tls(let tls): service(tls: tls, handler: own)
        case .redirect(let origin): service(tls: nil, handler: HTTPSRedirect.handler(to: origin))
        }
    }

    /// - Parameter handler: Replaces the server's, and gets all requests also during an overload; nil for the server's.
    private func service(tls: ServerTLS?, handler: ImmediateHandler?) -> ConnectionService {
        ConnectionService(
            configuration: configuration, logger: logger, render: service.render,
            shed: handler == nil ? service.shed : nil, tls: tls, sharing: service, handler: handler ?? service.handler)
    }

    private func makeLoops(processors: Int) throws(SystemError) -> [ServerLoop] {
        let count =
            configuration.loops > 0
            ? configuration.loops : min(max(1, processors), ServerConfiguration.mostAutomaticLoops)
        var loops: [ServerLoop] = []
        for number in 0..<count {
            loops.append(try ServerLoop(label: "http-loop-\(number)", tick: configuration.timeouts.tick))
        }
        return loops
    }

    /// Waits until the last connection closes or the time is over.
    private func waitUntilNoConnection(within limit: Duration) async {
        let isOver = Atomic(false)
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            let finish: @Sendable () -> Void = {
                if !isOver.exchange(true, ordering: .relaxed) { done.resume() }
            }
            service.connections.whenNone(finish)
            let nanoseconds = Nanoseconds(min(limit, .seconds(86_400))).count
            DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(nanoseconds)), execute: finish)
        }
    }
}

extension ServerTimeouts {
    /// How often deadlines are checked: four times within the shortest, between 20 ms and 1 s.
    fileprivate var tick: Duration {
        min(max(min(header, body, idle, write, handshake) / 4, .milliseconds(20)), .seconds(1))
    }
}

/// A server that cannot be started.
public struct ServerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason, as a stable code.
    public enum Code: String, Sendable {
        /// The host name cannot be resolved.
        case unknownHost = "unknown_host"
        /// Another process listens there.
        case addressInUse = "address_in_use"
        /// The process may have no more event loops or file descriptors.
        case noEventLoop = "no_event_loop"
        /// Any other failure.
        case cannotListen = "cannot_listen"
    }

    public let code: Code
    /// The host or address, and the system's reason.
    public let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
