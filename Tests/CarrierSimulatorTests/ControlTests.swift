import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import Testing

@Suite("Controls over HTTP")
struct ControlTests {
    let carriers = Harness()

    @Test("A form sets faults, JSON replaces them, and an empty request clears them")
    func setFaults() async throws {
        let path = "/carriers/310010/faults"
        let first = try await carriers.post(
            path, [("faults", "token-500, id-token-expired"), ("delay_seconds", "3")]
        ).object()
        #expect(first["faults"]?.array == [.string("id-token-expired"), .string("token-500")])
        #expect(carriers.simulator.carriers[0].faults == [.token500, .idTokenExpired])
        #expect(carriers.simulator.carriers[0].delay == .seconds(3))
        let second = try await carriers.post(path, json: #"{"faults": ["jwks-empty"]}"#).object()
        #expect(second["faults"]?.array == [.string("jwks-empty")])
        #expect(carriers.simulator.carriers[0].delay == .seconds(3))
        #expect(try await carriers.post(path, []).object()["faults"]?.array == [])
    }

    @Test("The list contains every fault with its summary")
    func list() async throws {
        let known = try await carriers.get("/carriers/310410/faults").object()["known_faults"]?.object
        #expect(known?.members.map(\.name) == CarrierSimulator.Fault.allCases.map(\.name))
        #expect(known?["jwks-empty"]?.string == CarrierSimulator.Fault.keysEmpty.summary)
    }

    @Test(
        "An invalid setting changes nothing",
        arguments: [
            [("faults", "token-500,no-such-fault")], [("faults", "token-500"), ("delay_seconds", "-1")],
            [("faults", "token-500"), ("delay_seconds", "99999999999999999999")],
        ])
    func refused(form: [(String, String)]) async throws {
        let response = try await carriers.post("/carriers/310010/faults", form)
        #expect(response.status == .badRequest)
        #expect(try response.object()["error"]?.string == "invalid_request")
        #expect(carriers.simulator.carriers[0].faults.isEmpty)
    }

    @Test(
        "Content that is neither a form nor flat JSON is refused",
        arguments: [#"{"faults": {}}"#, "[]", "{", #"{"faults": [1]}"#, String(repeating: "[", count: 50_000)])
    func badJSON(text: String) async throws {
        #expect(try await carriers.post("/carriers/310010/faults", json: text).status == .badRequest)
        #expect(try await carriers.post("/demo/codes", json: text).status == .badRequest)
    }

    @Test("A demo code is valid and comes with all values that a mobile app sends")
    func demoCode() async throws {
        let response = try await carriers.post(
            "/demo/codes", json: #"{"client_id": "shop", "mccmnc": 310410, "context": "Pay", "acr_values": "a3"}"#
        ).object()
        #expect(response["mccmnc"]?.string == "310410")
        #expect(response["redirect_uri"]?.string == Harness.redirectURI)
        #expect(response["context"]?.string == "Pay" && response["acr_values"]?.string == "a3")
        let redeemed = try await carriers.redeem(
            try response["code"]?.string.required ?? "", at: "310410",
            changing: ["code_verifier": response["code_verifier"]?.string])
        let token = try SignedToken(try redeemed.object()["id_token"]?.string.required ?? "")
        #expect(token.claims["nonce"]?.string == response["nonce"]?.string)
        #expect(token.claims["context"]?.string == "Pay")
    }

    @Test("A demo code for a code challenge comes without a code verifier")
    func demoCodeForChallenge() async throws {
        let response = try await carriers.post(
            "/demo/codes", [("client_id", "shop"), ("code_challenge", Harness.challenge), ("nonce", "n-9")]
        ).object()
        #expect(response["code_verifier"] == nil)
        #expect(response["nonce"]?.string == "n-9" && response["mccmnc"]?.string == "310010")
        #expect(try await carriers.redeem(try response["code"]?.string.required ?? "").status == .ok)
    }

    @Test(
        "A demo code follows the rules of the authorization endpoint",
        arguments: [
            ("client_id", "nobody", "unauthorized_client"),
            ("redirect_uri", "https://evil.example/", "invalid_request"),
            ("scope", "name", "invalid_scope"), ("mccmnc", "99999", "invalid_request"),
            ("user", "nobody", "user_not_found"),
        ])
    func demoRefused(name: String, value: String, error: String) async throws {
        let response = try await carriers.post("/demo/codes", [(name, value)])
        #expect(response.status == .badRequest)
        #expect(try response.object()["error"]?.string == error)
    }
}
