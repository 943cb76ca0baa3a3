import CLatchkeyCurl
public import OpenIDConnect
import Synchronization

/// Sends requests to carriers by libcurl, on its own thread.
///
/// It fulfils the demands of ``HTTPClient``: certificates and host names are verified (TLS 1.2 at least), redirects are
/// not followed, the deadline counts from the call of ``send(_:)`` and includes waiting, the limit on the body counts
/// decompressed bytes, and a request is sent once: libcurl's second try after a reused connection broke is refused.
/// Connections are reused. HTTP/1.1; no cookies, no credentials from files, no proxy but a configured one.
///
/// Cancelling the calling task does not end the exchange; its deadline does. The client runs until ``shutdown()`` or
/// its last reference is gone.
public final class CurlHTTPClient: HTTPClient {
    private let inbox: Inbox
    private let allowLoopbackHTTP: Bool
    private let inFlight = Atomic(0)

    /// Starts a client.
    /// - Throws: ``OutboundHTTPStartError`` if libcurl, the CA bundle or a thread is not available.
    public init(_ configuration: OutboundHTTPConfiguration = OutboundHTTPConfiguration()) throws(OutboundHTTPStartError)
    {
        try configuration.check()
        let multi = try MultiHandle(keptConnections: configuration.keptConnections)
        inbox = Inbox(waking: multi)
        allowLoopbackHTTP = configuration.allowLoopbackHTTP
        try Self.startThread(TransferLoop(configuration, inbox: inbox, multi: multi))
    }

    deinit { inbox.stop() }

    /// Sends one request and returns its whole response.
    ///
    /// - Throws: ``OutboundError``; see its codes.
    public func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        let timeout = min(max(request.timeout, .zero), Exchange.longestTimeout)
        let deadline = ContinuousClock.now + timeout
        guard request.url.scheme == .https || allowLoopbackHTTP else {
            throw OutboundError(
                .addressRefused, mayHaveBeenSent: false,
                reason: "\(request.url.host): plain http is not allowed; use https")
        }
        inFlight.add(1, ordering: .relaxed)
        defer { inFlight.subtract(1, ordering: .relaxed) }
        let outcome = await withCheckedContinuation { continuation in
            inbox.post(Exchange(request, deadline: deadline, continuation: continuation))
        }
        return try outcome.get()
    }

    /// How many exchanges are under way, including those that wait for a connection.
    public var exchangesInFlight: Int { inFlight.load(ordering: .relaxed) }

    /// Fails all exchanges, and all later ones, with `shutDown`; returns when the thread has ended and all connections
    /// are closed. May be called more than once.
    public func shutdown() async {
        inbox.stop()
        await inbox.waitForEnd()
    }

    private static func startThread(_ loop: TransferLoop) throws(OutboundHTTPStartError) {
        let context = Unmanaged.passRetained(loop)
        let error = ccurl_start_thread(
            { context in
                guard let context else { return }
                Unmanaged<TransferLoop>.fromOpaque(context).takeRetainedValue().run()
            }, context.toOpaque())
        guard error == 0 else {
            context.release()
            throw OutboundHTTPStartError(.thread, "error \(error)")
        }
    }
}
