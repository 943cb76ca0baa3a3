import HTTPServer
import HTTPTypes
import Primitives
import SignIn
import TestSupport
import Testing

@testable import LatchkeyAPI
@testable import StatusPage

/// Access to operators' pages when a reload changes the trusted proxies.
@Suite("A reload changes the trusted proxies")
struct AddressAllowlistTests {
    @Test("A client that the proxy names may see the metrics if its address is allowed, and never the status page")
    func reload() async throws {
        let app = try TestApp()
        var metricsEndpoint = MetricsEndpoint { [] }
        metricsEndpoint.allowedAddresses = ["127.0.0.0/8", "198.51.100.7"].compactMap(IPAddressRange.init)
        let api = LatchkeyAPI(
            useCases: app.useCases, apiKeys: APIKeys([]), metricsEndpoint: metricsEndpoint,
            features: [StatusRoutes.ofNothing],
            logger: app.log.logger)
        let handler = api.handler()
        func status(_ path: String, _ fields: [String: String]) async throws -> Int {
            var headers: HTTPFields = [:]
            for (name, value) in fields { headers[try #require(HTTPField.Name(name))] = value }
            headers[try #require(HTTPField.Name("Host"))] = "localhost:8080"
            let request = try Request(
                .get, path, headers: headers, body: [], peer: SocketAddress(host: "127.0.0.1", port: 1))
            return try await handler(request).status.code
        }
        func metrics(for client: String) async throws -> Int {
            try await status("/metrics", ["X-Forwarded-For": client])
        }
        for path in ["/metrics", "/status"] { #expect(try await status(path, [:]) == 200) }
        #expect(try await metrics(for: "198.51.100.7") == 404)
        var limits = RequestLimits()
        limits.proxies = TrustedProxies(ranges: ["127.0.0.0/8"].compactMap(IPAddressRange.init))
        api.replaceLimits(limits)
        #expect(try await metrics(for: "198.51.100.7") == 200)
        #expect(try await metrics(for: "127.0.0.1, 198.51.100.7") == 200)
        for unknown in ["203.0.113.9", "unknown", "203.0.113.9, unknown", "", "unix:"] {
            #expect(try await metrics(for: unknown) == 404, "\(unknown)")
        }
        // An address of this machine counts only as the peer's own.
        for local in ["127.0.0.1", "::1", "::ffff:127.0.0.1", "127.0.0.1, 127.0.0.1", "203.0.113.9, 127.0.0.1"] {
            for path in ["/metrics", "/status"] {
                #expect(try await status(path, ["X-Forwarded-For": local]) == 404, "\(path) \(local)")
            }
        }
        for path in ["/metrics", "/status"] {
            #expect(try await status(path, ["X-Real-IP": "127.0.0.1"]) == 404)
            #expect(try await status(path, [:]) == 200)
        }
        limits.proxies.field = .forwarded
        api.replaceLimits(limits)
        #expect(try await status("/metrics", ["Forwarded": "for=198.51.100.7"]) == 200)
        for value in [#"for=127.0.0.1;x=""#, #"for=127.0.0.1;x=", for=203.0.113.9"#, #"for=198.51.100.7;x=", for=a"#] {
            for path in ["/metrics", "/status"] {
                #expect(try await status(path, ["Forwarded": value]) == 404, "\(path) \(value)")
            }
        }
        api.replaceLimits(RequestLimits())
        #expect(try await metrics(for: "198.51.100.7") == 404)
    }
}
