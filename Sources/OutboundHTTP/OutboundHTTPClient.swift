import EventLoops
public import Primitives
import Synchronization

/// Sends requests to providers, on the loop of the calling task if it runs on one, else on its own loop.
///
/// It fulfils the demands of ``HTTPClient``: certificates and host names are verified (TLS 1.2 at least), redirects are
/// not followed, the deadline counts from the call of ``send(_:)`` and includes waiting, the limit on the body counts
/// decompressed bytes, and a request is sent once, also if a reused connection breaks. Connections are reused.
/// A connection that presented a client certificate (RFC 8705) carries requests with this certificate only.
/// HTTP/1.1; no cookies, no credentials from files, no proxy but a configured one.
///
/// Cancelling the calling task does not end the exchange; its deadline does. The client runs until ``shutdown()`` or
/// its last reference is gone.
public final class OutboundHTTPClient: HTTPClient {
    private struct Pools {
        var byLoop: [ObjectIdentifier: ConnectionPool] = [:]
        var isStopped = false
    }

    private let shared: ClientContext
    /// For callers that run on no loop.
    private let ownLoop: EventLoop
    private let pools = Mutex(Pools())
    private let inFlight = Atomic(0)

    /// Starts a client.
    /// - Throws: ``OutboundHTTPStartError`` if the CA bundle, the proxy or a thread cannot be used.
    public convenience init(
        _ configuration: OutboundHTTPConfiguration = OutboundHTTPConfiguration()
    ) throws(OutboundHTTPStartError) {
        try self.init(configuration, resolver: Resolver())
    }

    package init(_ configuration: OutboundHTTPConfiguration, resolver: Resolver) throws(OutboundHTTPStartError) {
        shared = try ClientContext(configuration, resolver: resolver)
        // Its pool has an alarm at the next deadline.
        ownLoop = try mappingErrors(
            try EventLoop(label: "outbound-http", tick: .seconds(3600))
        ) { (error: SystemError) in OutboundHTTPStartError(.thread, "\(error)") }
    }

    deinit {
        let pools = pools.withLock { $0.byLoop.values }
        for pool in pools { pool.loop.execute { pool.close() } }
    }

    /// Sends one request and returns its whole response.
    ///
    /// - Throws: ``OutboundError``; see its codes.
    public func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        let timeout = min(max(request.timeout, .zero), Exchange.longestTimeout)
        let deadline = MonotonicTime.now().advanced(by: timeout)
        guard shared.configuration.urlPolicy.allows(request.url) else {
            throw OutboundError(
                .addressRefused, mayHaveBeenSent: false, host: request.url.host,
                reason: "plain http is not allowed; use https")
        }
        // Without TLS the server would not know the client, and tokens would not be bound.
        guard request.url.scheme == .https || request.clientTLS == nil else {
            throw OutboundError(
                .tls, mayHaveBeenSent: false, host: request.url.host,
                reason: "a client certificate cannot be presented over plain http; use https")
        }
        inFlight.add(1, ordering: .relaxed)
        defer { inFlight.subtract(1, ordering: .relaxed) }
        let outcome = await withUnsafeContinuation { continuation in
            submit(Exchange(request, deadline: deadline, continuation: continuation))
        }
        return try outcome.get()
    }

    /// How many exchanges are under way, including those that wait for a connection.
    public var exchangesInFlight: Int { inFlight.load(ordering: .relaxed) }

    /// Fails all exchanges, and all later ones, with `shutDown`; returns when all connections are closed. May be called
    /// more than once.
    public func shutdown() async {
        let pools = pools.withLock { pools in
            pools.isStopped = true
            return Array(pools.byLoop.values)
        }
        for pool in pools {
            await withCheckedContinuation { done in
                pool.loop.execute {
                    pool.close()
                    done.resume()
                }
            }
        }
    }

    private func submit(_ exchange: Exchange) {
        if let loop = EventLoop.current {
            return admit(exchange, on: loop)
        }
        ownLoop.execute { [self] in admit(exchange, on: ownLoop) }
    }

    /// On the loop's thread.
    private func admit(_ exchange: Exchange, on loop: EventLoop) {
        guard let pool = pool(on: loop) else { return exchange.fail(.shutDown, ConnectionPool.shutDown) }
        pool.admit(exchange)
    }

    /// Nil after ``shutdown()``.
    private func pool(on loop: EventLoop) -> ConnectionPool? {
        pools.withLock { pools in
            if pools.isStopped { return nil }
            if let known = pools.byLoop[ObjectIdentifier(loop)] { return known }
            let made = ConnectionPool(loop: loop, shared: shared)
            pools.byLoop[ObjectIdentifier(loop)] = made
            return made
        }
    }
}
