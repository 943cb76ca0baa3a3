import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import Testing

@Suite("Request log")
struct RequestLogTests {
    let carriers = Harness()

    @Test("The log counts each kind of request, for its carrier and in total")
    func counts() async throws {
        let token = try await carriers.signIn("310010")["access_token"]?.string ?? ""
        _ = try await carriers.signIn("310410")
        _ = try await carriers.keySet("310010")
        _ = try await carriers.get("/.well-known/openid_configuration?client_id=shop&mccmnc=310010")
        _ = try await carriers.get("/.well-known/openid_configuration?client_id=shop&mccmnc=99999")
        _ = try await carriers.get("/carriers/310010/userinfo", headers: [.authorization: "Bearer \(token)"])
        let log = carriers.simulator.log
        #expect(log.tokenPosts("310010") == 1 && log.tokenPosts("310410") == 1 && log.tokenPosts() == 2)
        #expect(log.keyFetches("310010") == 1 && log.keyFetches("310410") == 0)
        #expect(log.count(.discovery, "310010") == 1 && log.count(.discovery) == 2)
        #expect(log.count(.userInfo, "310010") == 1 && log.count(.userInfo, "310410") == 0)
        #expect(log.count(.canary) == 0)
    }

    @Test("The log keeps refused requests too, with their parameters and credentials")
    func entries() async throws {
        carriers.simulator.setFaults([.token500], for: "310010")
        _ = try await carriers.redeem("a-code", changing: ["correlation_id": "c-1"])
        let entry = try carriers.simulator.log.last(.token, "310010").required
        #expect(entry["code"] == "a-code" && entry["correlation_id"] == "c-1" && entry.method == "POST")
        #expect(entry.authorization?.hasPrefix("Basic ") == true)
    }

    @Test("A printed entry shows the names of its parameters, not their values")
    func description() async throws {
        _ = try await carriers.redeem("the-code")
        let text = "\(try carriers.simulator.log.last(.token).required)"
        #expect(text == "POST token 310010 [grant_type code redirect_uri code_verifier]")
    }

    @Test("The log says what a carrier refused, and why, at each endpoint")
    func refusals() async throws {
        _ = try await carriers.redeem("no-code")
        _ = try await carriers.get("/carriers/310010/userinfo")
        _ = try await carriers.get("/carriers/310010/authorize?client_id=nobody")
        let query = carriers.authorizationQuery(changing: ["code_challenge": nil])
        _ = try await carriers.get("/carriers/310010/authorize?" + Forms.encode(query))
        _ = try await carriers.signIn("310410")
        let refused = carriers.simulator.log.refusals(at: "310010")
        #expect(refused.map(\.endpoint) == [.token, .userInfo, .authorization, .authorization])
        #expect(
            refused.map(\.code) == ["invalid_grant", "invalid_token", "unauthorized_client", "invalid_request"])
        #expect("\(refused[0])" == "token: invalid_grant. The code is unknown.")
        #expect(carriers.simulator.log.refusals(at: "310410").isEmpty)
        let providers = Harness(carriers: CarrierSimulator.Carrier.otherProviders)
        _ = try await providers.get("/providers/acme/logout?client_id=nobody")
        #expect(providers.simulator.log.refusals(at: "acme").map(\.endpoint) == [.endSession])
        for _ in 0..<1040 { _ = try await carriers.get("/carriers/310010/userinfo") }
        #expect((512...1024).contains(carriers.simulator.log.refusals(at: "310010").count))
    }

    @Test("The log keeps the latest requests, counts all of them, and truncates long values")
    func bounds() async throws {
        for _ in 0..<1040 { _ = try await carriers.get("/.well-known/openid_configuration?client_id=shop") }
        let long = String(repeating: "v", count: 3000)
        _ = try await carriers.get("/.well-known/openid_configuration?client_id=\(long)")
        let log = carriers.simulator.log
        #expect(log.count(.discovery) == 1041)
        #expect((512...1024).contains(log.entries.count))
        #expect(log.entries.last?["client_id"]?.count == 2048)
    }
}
