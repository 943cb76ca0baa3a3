import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import Synchronization

// The hosts of the providers: their certificates and their clocks.
extension Doctor {
    func expiry(_ end: Timestamp, _ subject: String, fix: String) -> Finding {
        let days = end.seconds(since: clock.now()) / 86_400
        let message = "is valid until \(UTCTime.text(end)), \(days) more days"
        if days < 3 { return .problem(.certificates, subject, message, fix: fix) }
        if days < 14 { return .warning(.certificates, subject, message, fix: fix) }
        return .ok(.certificates, subject, message)
    }

    func examineHosts(_ exchanges: [ExchangeRecorder.Exchange]) -> [Finding] {
        clocks(exchanges) + certificates(exchanges)
    }

    private func certificates(_ exchanges: [ExchangeRecorder.Exchange]) -> [Finding] {
        let encrypted = exchanges.filter { $0.url.scheme == .https }
        let plain = Set(exchanges.filter { $0.url.scheme == .http }.map(\.host)).sorted()
        let hosts = Set(encrypted.map(\.host)).sorted()
        return hosts.compactMap { host in certificate(host, encrypted.filter { $0.host == host }) }
            + plain.map { .ok(.certificates, $0, "none: plain http on this machine") }
    }

    private func certificate(_ host: String, _ exchanges: [ExchangeRecorder.Exchange]) -> Finding? {
        // Only the first response on a connection has the expiry.
        if let expiry = exchanges.compactMap({ $0.response?.certificateExpiry }).first {
            let fix = "ask whoever runs the host to renew it: sign-ins fail when it expires"
            return self.expiry(expiry, host, fix: fix)
        }
        if let refused = exchanges.compactMap(\.failure).first(where: { $0.code == .tls }) {
            return .problem(.certificates, host, refused.reason, fix: refused.code.remedy)
        }
        // A host without a response is reported elsewhere.
        guard exchanges.contains(where: { $0.response != nil }) else { return nil }
        return .ok(.certificates, host, "is valid; the TLS library does not report until when")
    }

    /// The differences between this machine's clock and the hosts', by the `Date` of their responses.
    private func clocks(_ exchanges: [ExchangeRecorder.Exchange]) -> [Finding] {
        let answered = exchanges.filter { $0.response != nil }
        return Set(answered.map(\.host)).sorted().map { host in
            let skews = answered.filter { $0.host == host }.compactMap(skew)
            // A cache may send an old Date: the smallest difference is the most reliable.
            guard let least = skews.min(by: { $0.magnitude < $1.magnitude }) else {
                return .warning(
                    .clock, host, "its responses have no Date, so the clocks cannot be compared",
                    fix: "check that NTP sets this machine's clock")
            }
            return difference(least, host)
        }
    }

    private func difference(_ skew: Int64, _ host: String) -> Finding {
        let allowedSeconds = configuration.idToken.clockSkewSeconds
        let magnitude = Int64(clamping: skew.magnitude)
        guard magnitude > 1 else { return .ok(.clock, host, "agrees with this machine's clock") }
        let message = "is \(magnitude) s \(skew > 0 ? "ahead of" : "behind") this machine's clock"
        let fix = "set this machine's clock with NTP; if it is right, tell whoever runs the host"
        if magnitude > allowedSeconds {
            let refused = "\(message), more than id_token.clock_skew allows (\(allowedSeconds) s)"
            return .problem(.clock, host, refused, fix: fix)
        }
        if magnitude > allowedSeconds / 2 { return .warning(.clock, host, message, fix: fix) }
        return .ok(.clock, host, message)
    }

    /// The least seconds by which the server is ahead; 0 if its time is between sending and receiving.
    private func skew(_ exchange: ExchangeRecorder.Exchange) -> Int64? {
        guard let text = exchange.response?.date, let date = UTCTime.moment(text, in: .http) else { return nil }
        if date > exchange.ended { return date.seconds(since: exchange.ended) }
        if date < exchange.began { return date.seconds(since: exchange.began) }
        return 0
    }

    /// The certificate of this server. The configuration's loader has checked that its files are valid.
    func examineTLS() -> [Finding] {
        guard configuration.tls.isOn, let path = configuration.tls.certificateFile else { return [] }
        do throws(ConfigurationProblem) {
            return [
                finding(
                    try ServerTLS(configuration.tls, .system).validity, path,
                    fix: "renew it; a running server loads new files by itself")
            ]
        } catch {
            return [.problem(.certificates, error.key, error.reason, fix: error.remedy)]
        }
    }

    func finding(_ validity: ClosedRange<Timestamp>, _ path: String, fix: String) -> Finding {
        let now = clock.now()
        guard now >= validity.lowerBound else {
            let start = UTCTime.text(validity.lowerBound)
            return .problem(.certificates, path, "is not valid before \(start)", fix: "check this machine's clock")
        }
        guard now <= validity.upperBound else {
            return .problem(.certificates, path, "expired on \(UTCTime.text(validity.upperBound))", fix: fix)
        }
        return expiry(validity.upperBound, path, fix: fix)
    }
}

/// Passes requests on to another client and records the exchanges.
final class ExchangeRecorder: HTTPClient {
    struct Exchange: Sendable {
        let url: EndpointURL
        let began: Timestamp
        let ended: Timestamp
        let result: Result<OutboundResponse, OutboundError>

        /// With the port.
        var host: String { "\(url.host):\(url.port)" }

        var response: OutboundResponse? { try? result.get() }

        var failure: OutboundError? { if case .failure(let error) = result { error } else { nil } }
    }

    private let client: any HTTPClient
    private let clock: WallClock
    private let kept = Mutex<[Exchange]>([])

    init(_ client: any HTTPClient, clock: WallClock) {
        self.client = client
        self.clock = clock
    }

    /// In the order in which they ended. Unbounded: it is for the few requests of one examination.
    var exchanges: [Exchange] { kept.withLock { $0 } }

    func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        let began = clock.now()
        let result: Result<OutboundResponse, OutboundError>
        do throws(OutboundError) {
            result = .success(try await client.send(request))
        } catch {
            result = .failure(error)
        }
        let exchange = Exchange(url: request.url, began: began, ended: clock.now(), result: result)
        kept.withLock { $0.append(exchange) }
        return try result.get()
    }
}
