import HTTPServer
import HTTPTypes
import LatchkeyAPI
import Primitives
import SignIn
import TestSupport
import Testing

/// Access to operators' pages when a reload changes the trusted proxies.
@Suite("A reload changes the trusted proxies")
struct AddressAllowlistTests {
    @Test(arguments: ["/metrics", "/status"])
    func reload(path: String) async throws {
        let app = try TestApp()
        var pages = OperatorPages()
        pages.metrics = { [] }
        let beginning = Timestamp(secondsSinceEpoch: 0)
        pages.status = { ServiceStatus(version: "1", startedAt: beginning, now: beginning) }
        let api = LatchkeyAPI(
            useCases: app.useCases, apiKeys: APIKeys([]), operatorPages: pages, logger: app.log.logger)
        let handler = api.handler()
        func status(askedFor client: String, by field: String = "X-Forwarded-For") async throws -> Int {
            var fields: HTTPFields = [:]
            fields[try #require(HTTPField.Name(field))] = client
            fields[try #require(HTTPField.Name("Host"))] = "localhost:8080"
            let request = try Request(
                .get, path, headers: fields, body: [], peer: SocketAddress(host: "127.0.0.1", port: 1))
            return try await handler(request).status.code
        }
        #expect(try await status(askedFor: "127.0.0.1") == 404)
        var limits = RequestLimits()
        limits.proxies = TrustedProxies(["127.0.0.0/8"].compactMap(IPAddressRange.init))
        api.replaceLimits(limits)
        #expect(try await status(askedFor: "127.0.0.1") == 200)
        for unknown in ["203.0.113.9", "unknown", "203.0.113.9, unknown", "", "unix:"] {
            #expect(try await status(askedFor: unknown) == 404, "\(unknown)")
        }
        #expect(try await status(askedFor: "127.0.0.1", by: "X-Real-IP") == 404)
        api.replaceLimits(RequestLimits())
        #expect(try await status(askedFor: "127.0.0.1") == 404)
    }
}
