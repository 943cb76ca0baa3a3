import CarrierSimulator
import Crypto
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// Request objects (RFC 9101) and signed authorization responses (JARM) of a carrier.
@Suite("Signed authorization requests and responses")
struct SignedAuthorizationTests {
    static let faults: [CarrierSimulator.Fault] = [
        .requestObjectRequired, .jarmUnsigned, .jarmMixed, .jarmAlgNone, .jarmOtherIssuer, .jarmMissingIssuer,
        .jarmOtherAudience, .jarmMissingAudience, .jarmExpired, .jarmMissingExpiry, .jarmBadSignature,
    ]

    let carriers = Harness()
    static let page = "/carriers/310010/authorize"
    static let issuer = Harness.base + "/carriers/310010"

    /// A request object with every parameter of the harness's request, and some changes, in JSON.
    private func object(
        _ changes: [String: String?] = [:], header: String = #"{"alg":"ES256","typ":"oauth-authz-req+jwt","kid":"k"}"#
    ) throws -> String {
        let now = carriers.clock.now.secondsSinceEpoch
        var members: [(String, String)] = carriers.authorizationQuery(changing: [:]).map { ($0.0, "\"\($0.1)\"") }
        members += [
            ("iss", "\"shop\""), ("aud", "\"\(Self.issuer)\""), ("iat", "\(now)"), ("nbf", "\(now)"),
            ("exp", "\(now + 300)"), ("jti", "\"j-1\""),
        ]
        for (name, json) in changes {
            members.removeAll { $0.0 == name }
            if let json { members.append((name, json)) }
        }
        let claims = "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
        let signed = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
        let signature = try Harness.signingKey.signature(for: Array(signed.utf8)).rawRepresentation
        return signed + "." + Base64URL.encode(Array(signature))
    }

    private func show(_ request: String, _ beside: [(String, String)] = []) async throws -> Response {
        try await carriers.get(
            "\(Self.page)?\(Forms.encode([("client_id", "shop"), ("request", request)] + beside))")
    }

    /// The error of a page.
    private func error(_ response: Response) -> String? {
        guard response.status != .ok, response.headers[.location] == nil else { return nil }
        return response.text.firstMatch(of: /<code>([a-z_]+)<\/code>/).map { String($0.1) }
    }

    @Test("A signed request is shown, and an approval has a valid code")
    func flow() async throws {
        let request = try object()
        #expect(try await show(request, [("response_type", "code")]).status == .ok)
        let approved = try await carriers.post(
            Self.page + "/approve", [("client_id", "shop"), ("request", request), ("user", "ravi")])
        let (address, query) = try approved.destination()
        #expect(address == Harness.redirectURI)
        #expect(query["state"] == "s&1")
        #expect(try await carriers.redeem(try query["code"].required).status == .ok)
    }

    @Test("A carrier that requires signed requests says so, and refuses any other, also a pushed one")
    func required() async throws {
        let path = "/carriers/310010/.well-known/openid-configuration"
        #expect(try await carriers.get(path).object()["require_signed_request_object"]?.bool == false)
        carriers.simulator.setFaults([.requestObjectRequired], for: "310010")
        #expect(try await carriers.get(path).object()["require_signed_request_object"]?.bool == true)
        let query = carriers.authorizationQuery(changing: [:])
        #expect(error(try await carriers.get("\(Self.page)?\(Forms.encode(query))")) == "invalid_request")
        let headers: HTTPFields = [.authorization: Forms.basic(id: Harness.clientID, secret: Harness.secret)]
        let plain = try await carriers.post("/carriers/310010/par", query, headers: headers)
        #expect(try plain.object()["error"]?.string == "invalid_request")
        let pushed = try await carriers.post(
            "/carriers/310010/par", [("client_id", "shop"), ("request", try object())], headers: headers)
        #expect(pushed.status == .created)
        let uri = try pushed.object()["request_uri"]?.string ?? ""
        let shown = try await carriers.get(
            "\(Self.page)?\(Forms.encode([("client_id", "shop"), ("request_uri", uri)]))")
        #expect(shown.status == .ok)
    }

    @Test("A request object that breaks a rule is refused with a page")
    func objects() async throws {
        let now = carriers.clock.now.secondsSinceEpoch
        let rows: [(String, String?)] = [
            ("iss", nil), ("iss", "\"other\""), ("client_id", "\"other\""), ("aud", nil),
            ("aud", "\"https://x.example\""),
            ("iat", nil), ("exp", nil), ("exp", "\(now - 61)"), ("exp", "\(now + 3601)"), ("nbf", nil),
            ("nbf", "\(now + 61)"), ("nbf", "\(now - 3601)"), ("jti", nil), ("sub", "\"shop\""),
            ("request", "\"x\""), ("request_uri", "\"urn:x\""), ("response_type", "\"token\""), ("prompt", "7"),
        ]
        for (name, json) in rows {
            #expect(
                error(try await show(try object([name: json]))) == "invalid_request_object", "\(name) \(json ?? "")")
        }
        for header in [
            #"{"alg":"none","typ":"oauth-authz-req+jwt","kid":"k"}"#, #"{"alg":"ES256","typ":"JWT","kid":"k"}"#,
            #"{"alg":"ES256","typ":"oauth-authz-req+jwt"}"#, #"{"alg":"RS256","typ":"oauth-authz-req+jwt","kid":"k"}"#,
        ] {
            #expect(error(try await show(try object(header: header))) == "invalid_request_object", "\(header)")
        }
        #expect(error(try await show("no JWT")) == "invalid_request_object")
        for beside in [("scope", "openid email profile phone"), ("state", "s"), ("redirect_uri", Harness.redirectURI)] {
            #expect(error(try await show(try object(), [beside])) == "invalid_request", "\(beside)")
        }
    }

    /// The parameters of the response to a request with a response mode.
    private func response(_ mode: String) async throws -> Query {
        let query = carriers.authorizationQuery(changing: ["response_mode": mode])
        let approved = try await carriers.post(Self.page + "/approve", query + [("user", "ravi")])
        return try approved.destination().query
    }

    private func claims(_ response: Query) throws -> JSONObject {
        let parts = try response["response"].required.split(separator: ".").map(String.init)
        return try JSONValue(parsing: try Base64URL.decode(parts[1]).required).object.required
    }

    @Test("With response_mode=jwt the response is a JWT of the carrier for the client, and nothing else")
    func signedResponse() async throws {
        for mode in ["jwt", "query.jwt"] {
            let response = try await response(mode)
            #expect(response.items.map(\.name) == ["response"])
            let claims = try claims(response)
            #expect(claims["iss"]?.string == Self.issuer)
            #expect(claims["aud"]?.string == "shop")
            #expect(claims["exp"]?.integer == carriers.clock.now.secondsSinceEpoch + 120)
            #expect(claims["state"]?.string == "s&1")
            #expect(try await carriers.redeem(try (claims["code"]?.string).required).status == .ok)
        }
        let denied = try await carriers.post(
            Self.page + "/deny", carriers.authorizationQuery(changing: ["response_mode": "jwt"]))
        #expect(try claims(try denied.destination().query)["error"]?.string == "access_denied")
        #expect(try await response("query")["code"] != nil)
    }

    @Test("The faults change the response as they say")
    func faults() async throws {
        func response(_ fault: CarrierSimulator.Fault) async throws -> Query {
            carriers.simulator.setFaults([fault], for: "310010")
            return try await self.response("jwt")
        }
        let unsigned = try await response(.jarmUnsigned)
        #expect(unsigned["response"] == nil && unsigned["code"] != nil)
        let mixed = try await response(.jarmMixed)
        #expect(mixed["response"] != nil && mixed["code"] != nil)
        #expect(try claims(try await response(.jarmOtherIssuer))["iss"]?.string == "https://example.org")
        #expect(try claims(try await response(.jarmMissingIssuer))["iss"] == nil)
        #expect(try claims(try await response(.jarmOtherAudience))["aud"]?.string != "shop")
        #expect(try claims(try await response(.jarmMissingAudience))["aud"] == nil)
        let bare = try SignedToken(try (try await response(.jarmAlgNone)["response"]).required)
        #expect(bare.algorithm == "none" && bare.signature.isEmpty)
        #expect(
            try claims(try await response(.jarmExpired))["exp"]?.integer
                == carriers.clock.now.secondsSinceEpoch - 360)
        #expect(try claims(try await response(.jarmMissingExpiry))["exp"] == nil)
        _ = try claims(try await response(.jarmBadSignature))
    }
}
