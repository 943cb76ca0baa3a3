package import OpenIDConnect
package import Synchronization

/// Sends requests to the simulator alone. It refuses all others before their host is resolved, and counts them.
package final class SimulatorOnlyClient: HTTPClient {
    private let client: any HTTPClient
    private let port: UInt16
    private let refusals: RefusalCounter

    package init(_ client: any HTTPClient, port: UInt16, refusals: RefusalCounter) {
        self.client = client
        self.port = port
        self.refusals = refusals
    }

    package func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        guard request.url.host == "127.0.0.1", request.url.port == port else {
            refusals.count.withLock { $0 += 1 }
            throw OutboundError(
                .addressRefused, mayHaveBeenSent: false, reason: "only the simulator may be requested")
        }
        return try await client.send(request)
    }
}

/// How many requests to other addresses were refused.
package final class RefusalCounter: Sendable {
    package let count = Mutex(0)

    package init() {}
}
