import HTTPServer
import HTTPTypes
import LatchkeyAPI
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

@testable import StatusPage

/// At most sixteen clients can watch the operator's status stream.
@Suite struct StatusWatcherTests {
    @Test("Of concurrent watchers sixteen get events, and the others are refused with 503")
    func together() async throws {
        let app = try TestApp()
        let handler = handler(of: app)
        // All are admitted before the first one is answered.
        let gate = Gate()
        let server = Server(
            configuration: ServerConfiguration(hosts: ["127.0.0.1"], port: 0, loops: 1), logger: app.log.logger,
            handler: immediate { request in
                let response = try await handler(request)
                await gate.pass()
                return response
            })
        let port = try server.start()[0].port
        do {
            try await watch(at: port, gate)
        } catch {
            await server.shutdown(within: .zero)
            throw error
        }
        await server.shutdown(within: .zero)
    }

    @Test("A response that is never read gives its place back")
    func unread() async throws {
        let handler = handler(of: try TestApp())
        var headers = HTTPFields()
        headers[try #require(HTTPField.Name("Host"))] = "localhost"
        let peer = SocketAddress(host: "127.0.0.1", port: 1)
        for _ in 0..<3 {
            var responses: [Response] = []
            for _ in 0..<20 {
                responses.append(
                    try await handler(Request(.get, "/status/events", headers: headers, body: [], peer: peer)))
            }
            #expect(responses.map(\.status.code) == Array(repeating: 200, count: 16) + [503, 503, 503, 503])
            #expect(responses.last?.headers[.retryAfter] == "1")
        }
    }

    private func handler(of app: TestApp) -> Handler {
        LatchkeyAPI(
            useCases: app.useCases, apiKeys: APIKeys([]), features: [StatusRoutes.ofNothing], logger: app.log.logger
        ).handler()
    }

    private func watch(at port: UInt16, _ gate: Gate) async throws {
        var clients: [RawClient] = []
        for _ in 0..<19 {
            let client = try await RawClient(port: port, limit: .seconds(60))
            try await client.send("GET /status/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            clients.append(client)
        }
        await gate.untilWaiting(clients.count)
        gate.open()
        var told = 0
        for client in clients {
            let head = try await client.readUntil("\r\n\r\n")
            guard head.hasPrefix("HTTP/1.1 200 ") else {
                #expect(head.hasPrefix("HTTP/1.1 503 "))
                #expect(head.contains("Retry-After: 1\r\n"))
                continue
            }
            _ = try await client.readUntil("\n\n")
            told += 1
        }
        #expect(told == 16)
        for client in clients { await client.close() }
    }
}

/// The routes without the rest of the feature, which needs a service.
extension StatusRoutes: APIFeature {
    static var schemas: KeyValuePairs<String, APISchema> { [:] }
    static var webhooks: [(name: String, value: JSONValue?)] { [] }
    static var startPaths: [String] { [] }
    var connectedOrigins: [String] { [] }
    func sessionErrand(of api: LatchkeyAPI) -> SessionErrand? { nil }
    func erasing(_ user: UserID, with useCases: UseCases) -> AccountEnding? { nil }
    var registration: (any PageRegistration)? { nil }
    var keyProofs: (any KeyProofs)? { nil }

    func signInRequest(
        _ fields: BodyFields, at provider: Provider, of api: LatchkeyAPI, terms: CallerTerms, caller: Caller?,
        device: String?
    ) -> SignInRequest? { nil }

    func startSignIn(
        _ request: Request, _ admission: Admission, at provider: Provider, of api: LatchkeyAPI
    ) -> Response? { nil }

    func describe(in json: inout JSONObjectWriter) {}

    func redirects(of api: LatchkeyAPI) -> (any BrowserRedirects)? { nil }

    /// Those of a server that has just started.
    static var ofNothing: StatusRoutes {
        let beginning = Timestamp(secondsSinceEpoch: 0)
        return StatusRoutes(status: { ServiceStatus(version: "1", startedAt: beginning, now: beginning) })
    }
}
