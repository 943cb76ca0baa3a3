import Foundation
import LatchkeyClient
import Synchronization
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The app of the Swift client.
extension SignInHarness {
    var url: URL { get throws { try #require(URL(string: "http://127.0.0.1:\(app.port)")) } }

    func clientConfiguration() throws -> Latchkey.Configuration {
        Latchkey.Configuration(baseURL: try url, clientID: SignInHarness.clientID, apiKey: "test-key")
    }

    func client(
        tokens: any TokenStore = MemoryTokenStore(), _ transport: any Transport = URLSessionTransport(),
        pace: Pace = .system
    ) throws -> Latchkey {
        Latchkey(try clientConfiguration(), tokens: tokens, transport: transport, pace: pace)
    }

    /// The response of the carrier's SDK.
    func sdkResponse(scope: String = "openid", user: String? = nil) throws -> AuthorizedResponse {
        let fields = try authorizedResponse(scope: scope, user: user)
        var response = AuthorizedResponse(
            code: try #require(fields["code"]), mccmnc: SignInHarness.mccmnc, redirectURI: SignInHarness.redirectURI,
            codeVerifier: fields["code_verifier"], nonce: fields["nonce"])
        response.scopes = scope.split(separator: " ").map(String.init)
        return response
    }
}

/// A phone's network: loses responses of the server and records the requests.
final class LossyNetwork: Transport {
    private struct State {
        var losses: [String: Int] = [:]
        var sent: [URLRequest] = []
    }

    private let network = URLSessionTransport()
    private let state = Mutex(State())

    /// Loses the next `count` responses of a path.
    func lose(_ count: Int, from path: String) { state.withLock { $0.losses[path] = count } }

    /// The number of requests.
    var count: Int { state.withLock { $0.sent.count } }

    func sent(to path: String) -> [URLRequest] { state.withLock { $0.sent.filter { $0.url?.path == path } } }

    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        state.withLock { $0.sent.append(request) }
        let response = try await network.send(request)
        let isLost = state.withLock { state in
            guard let path = request.url?.path, let left = state.losses[path], left > 0 else { return false }
            state.losses[path] = left - 1
            return true
        }
        if isLost { throw URLError(.networkConnectionLost) }
        return response
    }
}

/// A phone's clock, which waiting advances.
final class PhoneClock: Sendable {
    private let seconds = Mutex<TimeInterval>(0)
    private let start = Date()

    var waited: TimeInterval { seconds.withLock { $0 } }

    func advance(by interval: TimeInterval) { seconds.withLock { $0 += interval } }

    var pace: Pace {
        Pace(now: { self.start.addingTimeInterval(self.waited) }, sleep: { self.advance(by: $0) })
    }
}

/// The error of a call that must fail.
func failure<Value>(
    _ call: () async throws(LatchkeyError) -> Value, sourceLocation: SourceLocation = #_sourceLocation
) async throws -> LatchkeyError {
    do throws(LatchkeyError) {
        _ = try await call()
    } catch {
        return error
    }
    return try #require(nil as LatchkeyError?, "the call did not fail", sourceLocation: sourceLocation)
}
