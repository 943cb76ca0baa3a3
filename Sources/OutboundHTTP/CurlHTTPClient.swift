import CLatchkeyCurl
public import OpenIDConnect
import Synchronization

/// Requests to carriers, sent by libcurl on a thread of its own.
///
/// What ``HTTPClient`` asks for holds: certificates and host names are checked (TLS 1.2 at least), redirects are
/// answers like any other, the deadline runs from the call of ``send(_:)`` and includes waiting, the cap on the body
/// counts decompressed bytes, and a request goes out once: libcurl's own second try after a reused connection broke
/// is refused. Connections are kept and used again. HTTP/1.1; no cookies, no credentials from files, no proxy but a
/// configured one.
///
/// Cancelling the calling task does not end the exchange; its deadline does. The client lives until ``shutdown()`` or
/// until nobody holds it.
public final class CurlHTTPClient: HTTPClient {
    private let inbox: Inbox
    private let allowLoopbackHTTP: Bool
    private let underWay = Atomic(0)

    /// - Throws: ``OutboundHTTPStartError`` if libcurl, the file of certificate authorities or a thread is not to be had.
    public init(_ configuration: OutboundHTTPConfiguration = OutboundHTTPConfiguration()) throws(OutboundHTTPStartError)
    {
        try configuration.check()
        let multi = try MultiHandle(keptConnections: configuration.keptConnections)
        inbox = Inbox(waking: multi)
        allowLoopbackHTTP = configuration.allowLoopbackHTTP
        try Self.startThread(TransferLoop(configuration, inbox: inbox, multi: multi))
    }

    deinit {
        inbox.stop()
    }

    /// Sends one request and gives its whole answer.
    ///
    /// - Throws: ``OutboundError``; see its codes.
    public func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        let timeout = min(max(request.timeout, .zero), Exchange.longestTimeout)
        let deadline = ContinuousClock.now + timeout
        guard request.url.scheme == .https || allowLoopbackHTTP else {
            throw OutboundError(
                .addressRefused, mayHaveBeenSent: false, reason: "\(request.url.host): plain http is not allowed")
        }
        underWay.add(1, ordering: .relaxed)
        defer { underWay.subtract(1, ordering: .relaxed) }
        let outcome = await withCheckedContinuation { continuation in
            inbox.post(Exchange(request, deadline: deadline, continuation: continuation))
        }
        return try outcome.get()
    }

    /// Exchanges under way, those that wait for a connection among them.
    public var exchangesUnderWay: Int { underWay.load(ordering: .relaxed) }

    /// Fails what is under way or waiting, and all that comes later, with `shutDown`; returns when the thread is done
    /// and all connections are closed. May be called more than once.
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
