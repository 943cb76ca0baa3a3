import OpenIDConnect
import Primitives
import Synchronization

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
