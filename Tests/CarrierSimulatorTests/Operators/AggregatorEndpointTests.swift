import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import Testing

/// The simulated aggregator knows its callers, its sessions and its phones.
@Suite("The simulated aggregator")
struct AggregatorEndpointTests {
    private let carriers = OperatorHarness().carriers

    @Test("Nobody prepares or ends a session without an access token")
    func unauthorized() async throws {
        for path in ["prepare", "process"] {
            let answer = try await carriers.post("/aggregator/\(path)", [("strategy", "ts43")])
            #expect(answer.status.code == 401, "\(path)")
        }
        #expect(try await carriers.post("/aggregator/token", []).status.code == 401)
    }

    @Test("The presentation of the wallet is bound to the request, the origin and the key of the card")
    func presentation() async throws {
        let request = try #require(
            JSONValue(parsing: Array(#"{"data":{"nonce":"N-1"}}"#.utf8)).object)
        let text = try await carriers.simulator.presentCredential(
            for: request, to: "https://shop.example", of: "+12025550123")
        let parts = text.split(separator: "~").map(String.init)
        try #require(parts.count == 2)
        func claims(_ token: String) throws -> JSONObject {
            let part = token.split(separator: ".").map(String.init)[1]
            return try #require(JSONValue(parsing: Base64URL.decode(part) ?? []).object)
        }
        #expect(try claims(parts[0])["cnf"]?.object?["jwk"]?.object?["crv"]?.string == "P-256")
        let binding = try claims(parts[1])
        #expect(binding["aud"]?.string == "origin:https://shop.example" && binding["nonce"]?.string == "N-1")
        #expect(binding["sd_hash"]?.string?.utf8.count == 43 && !text.contains("2025550123"))
    }

    @Test("The wallet answers no request whose signed part does not say who asks, and for whom")
    func unsignedRequest() async throws {
        func signed(_ header: String, _ claims: String) -> String {
            "\(Base64URL.encode(header.utf8)).\(Base64URL.encode(claims.utf8)).c2lnbmF0dXJl"
        }
        let (type, key) = (#""alg":"ES256","typ":"oauth-authz-req+jwt""#, #""jwks":{"keys":[{"use":"enc"}]}"#)
        let rows = [
            (signed(#"{\#(type),"x5c":["Y2VydA"]}"#, #"{"nonce":"N-1",\#(key)}"#), true),
            (signed(#"{\#(type),"x5c":["Y2VydA"]}"#, #"{"nonce":"N-2",\#(key)}"#), false),
            (signed(#"{\#(type),"x5c":["Y2VydA"]}"#, #"{"nonce":"N-1"}"#), false),
            (signed(#"{\#(type)}"#, #"{"nonce":"N-1",\#(key)}"#), false),
            (signed(#"{"alg":"ES256","typ":"JWT","x5c":["Y2VydA"]}"#, #"{"nonce":"N-1",\#(key)}"#), false),
            ("x", false),
        ]
        for (text, isAnswered) in rows {
            let query = #"{"credentials":[{"meta":{"credential_authorization_jwt":"\#(text)"}}]}"#
            let request = try #require(
                JSONValue(parsing: Array(#"{"data":{"nonce":"N-1","dcql_query":\#(query)}}"#.utf8)).object)
            let presentation = try? await carriers.simulator.presentCredential(
                for: request, to: "https://shop.example", of: "+12025550123")
            #expect((presentation != nil) == isAnswered, "\(text)")
        }
    }
}
