import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import Testing

@Suite("Authorization endpoint")
struct AuthorizationTests {
    let carriers = Harness()
    static let endpoint = "/carriers/310010/authorize"

    private func show(_ changes: [String: String?] = [:]) async throws -> Response {
        try await carriers.get("\(Self.endpoint)?\(Forms.encode(carriers.authorizationQuery(changing: changes)))")
    }

    private func approve(_ changes: [String: String?] = [:], headers: HTTPFields = [:]) async throws -> Response {
        try await carriers.post(
            "\(Self.endpoint)/approve", carriers.authorizationQuery(changing: changes), headers: headers)
    }

    @Test("The page shows the client, the requested scopes and the users, by GET and by POST")
    func page() async throws {
        let page = try await show(["context": "Pay 5.00 to the shop"])
        #expect(page.status == .ok)
        for text in ["Northwind Mobile", "shop", "Pay 5.00 to the shop", "Your name", "Jane Doe", "Ravi Okafor"] {
            #expect(page.text.contains(text))
        }
        let query = carriers.authorizationQuery(changing: ["context": "Pay 5.00 to the shop"])
        #expect(try await carriers.post(Self.endpoint, query).text == page.text)
    }

    @Test("Approval redirects to the client with all of the carrier's parameters and a valid code")
    func approval() async throws {
        let response = try await approve()
        #expect(response.status == .seeOther)
        let (address, query) = try response.destination()
        #expect(address == Harness.redirectURI)
        #expect(query.items.map(\.name) == ["code", "state", "mccmnc", "correlation_id", "iss"])
        #expect(query["state"] == "s&1")
        #expect(query["mccmnc"] == "310010")
        #expect(query["correlation_id"] == "c-1")
        #expect(query["iss"] == "https://carriers.example/carriers/310010")
        #expect(try await carriers.redeem(try query["code"].required).status == .ok)
    }

    @Test("With form_post the response is a page whose form goes to the client, and with form_post.jwt it has the JWT")
    func formPost() async throws {
        let page = try await approve(["response_mode": "form_post", "state": "s&\"1"])
        #expect(page.status == .ok)
        #expect(page.headers[.location] == nil)
        #expect(page.text.contains("<form method=\"post\" action=\"\(Harness.redirectURI)\">"))
        #expect(page.text.contains("name=\"state\" value=\"s&amp;&quot;1\""))
        #expect(page.text.contains("name=\"code\""))
        let signed = try await approve(["response_mode": "form_post.jwt"])
        #expect(signed.text.contains("name=\"response\" value=\"ey"))
        #expect(!signed.text.contains("name=\"code\""))
        let denied = try await carriers.post(
            "\(Self.endpoint)/deny", carriers.authorizationQuery(changing: ["response_mode": "form_post"]))
        #expect(denied.text.contains("name=\"error\" value=\"access_denied\""))
    }

    @Test("Approval responds with JSON if the request accepts JSON")
    func approvalAsJSON() async throws {
        let response = try await approve(headers: [.accept: "application/json"]).object()
        #expect(response["state"]?.string == "s&1")
        #expect(response["redirect_uri"]?.string == Harness.redirectURI)
        #expect(try await carriers.redeem(try response["code"]?.string.required ?? "").status == .ok)
    }

    @Test("The chosen user signs in; an unknown user is an error")
    func users() async throws {
        func subject(_ user: String?) async throws -> String? {
            let code = try await approve(["user": user]).destination().query["code"].required
            let token = try await carriers.redeem(code).object()["id_token"]?.string
            return try SignedToken(token ?? "").claims["sub"]?.string
        }
        #expect(try await subject("jane") == subject(nil))
        #expect(try await subject("ravi") != subject("jane"))
        #expect(try await approve(["user": "nobody"]).destination().query["error"] == "user_not_found")
    }

    @Test("A redirect URI keeps its query")
    func redirectURIWithQuery() async throws {
        let simulator = CarrierSimulator(
            clients: [.init(id: "shop", secret: Secret("x"), redirectURIs: ["https://shop.example/?a=b"])])
        let request = try Request(
            .post, "\(Self.endpoint)/approve", headers: [.contentType: "application/x-www-form-urlencoded"],
            body: Array(
                Forms.encode(carriers.authorizationQuery(changing: ["redirect_uri": "https://shop.example/?a=b"])).utf8)
        )
        let location = try await simulator.router.respond(to: request).headers[.location]
        #expect(location?.hasPrefix("https://shop.example/?a=b&code=") == true)
    }

    @Test("Denial redirects with access_denied and no code")
    func denial() async throws {
        let response = try await carriers.post("\(Self.endpoint)/deny", carriers.authorizationQuery())
        let (address, query) = try response.destination()
        #expect(address == Harness.redirectURI)
        #expect(query["error"] == "access_denied")
        #expect(query["state"] == "s&1")
        #expect(query["code"] == nil)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let title: String
        let changes: [String: String?]
        var error = ""
        var testDescription: String { title }
    }

    @Test(
        "An unknown client or redirect URI gets a page and no redirect",
        arguments: [
            Row(title: "no client", changes: ["client_id": nil]),
            Row(title: "an unknown client", changes: ["client_id": "nobody"]),
            Row(title: "no redirect URI", changes: ["redirect_uri": nil]),
            Row(title: "another redirect URI", changes: ["redirect_uri": "https://evil.example/"]),
            Row(title: "a longer redirect URI", changes: ["redirect_uri": Harness.redirectURI + "/more"]),
            Row(title: "another client's redirect URI", changes: ["redirect_uri": "https://other.example/back"]),
        ])
    func shown(row: Row) async throws {
        for response in [try await show(row.changes), try await approve(row.changes)] {
            #expect(response.status == .badRequest)
            #expect(response.headers[.location] == nil)
        }
    }

    @Test(
        "Another invalid request redirects with the error, from the page and from the approval",
        arguments: [
            Row(
                title: "another response type", changes: ["response_type": "token"],
                error: "unsupported_response_type"),
            Row(title: "no response type", changes: ["response_type": nil], error: "unsupported_response_type"),
            Row(title: "a scope without openid", changes: ["scope": "name"], error: "invalid_scope"),
            Row(title: "no scope", changes: ["scope": nil], error: "invalid_scope"),
            Row(title: "an unknown scope", changes: ["scope": "openid everything"], error: "invalid_scope"),
            Row(title: "no PKCE", changes: ["code_challenge": nil], error: "invalid_request"),
            Row(title: "PKCE without method", changes: ["code_challenge_method": nil], error: "invalid_request"),
            Row(title: "PKCE plain", changes: ["code_challenge_method": "plain"], error: "invalid_request"),
            Row(title: "a challenge that is no hash", changes: ["code_challenge": "abc"], error: "invalid_request"),
            Row(title: "an unknown acr", changes: ["acr_values": "a2 a9"], error: "invalid_request"),
            Row(
                title: "a context of 281 characters", changes: ["context": String(repeating: "é", count: 281)],
                error: "invalid_request"),
            Row(title: "an unknown prompt", changes: ["prompt": "always"], error: "invalid_request"),
            Row(title: "prompt none and another", changes: ["prompt": "none login"], error: "invalid_request"),
            Row(title: "an unknown hint", changes: ["login_hint_token": "x"], error: "invalid_login_hint_token"),
            Row(
                title: "a nonce of 2049 bytes", changes: ["nonce": String(repeating: "n", count: 2049)],
                error: "invalid_request"),
        ])
    func sentBack(row: Row) async throws {
        for response in [try await show(row.changes), try await approve(row.changes)] {
            let (address, query) = try response.destination()
            #expect(address == Harness.redirectURI)
            #expect(query["error"] == row.error)
            #expect(query["state"] == "s&1")
            #expect(query["code"] == nil)
        }
    }

    @Test("A repeated parameter is refused")
    func repeated() async throws {
        let query = carriers.authorizationQuery() + [("nonce", "n-2")]
        #expect(
            try await carriers.get("\(Self.endpoint)?\(Forms.encode(query))").destination().query["error"]
                == "invalid_request")
    }

    @Test("A context of 280 characters is accepted, independent of its bytes")
    func longestContext() async throws {
        #expect(try await show(["context": String(repeating: "é", count: 280)]).status == .ok)
    }

    @Test(
        "The first supported level is the token's acr",
        arguments: [(nil, "a3"), ("a1", "a1"), ("a2 a1 a3", "a1"), ("a3 a1", "a3")])
    func acr(wanted: String?, level: String) async throws {
        let code = try await approve(["acr_values": wanted]).destination().query["code"].required
        let token = try await carriers.redeem(code).object()["id_token"]?.string
        #expect(try SignedToken(token ?? "").claims["acr"]?.string == level)
    }

    @Test("Without a page, the device satisfies a1 and not a3")
    func promptNone() async throws {
        let silent = try await show(["prompt": "none", "acr_values": "a1"]).destination().query
        #expect(try await carriers.redeem(try silent["code"].required).status == .ok)
        let refused = try await show(["prompt": "none"]).destination().query
        #expect(refused["error"] == "interaction_required")
    }

    static let faults: [CarrierSimulator.Fault] = [
        .authorizationDenied, .authorizationServerError, .authorizationOtherIssuer, .authorizationMissingIssuer,
        .authorizationOtherState, .authorizationMissingState,
    ]

    @Test("The authorization response shows the fault", arguments: faults)
    func faulty(fault: CarrierSimulator.Fault) async throws {
        carriers.simulator.setFaults([fault], for: "310010")
        let query = try await approve().destination().query
        switch fault {
        case .authorizationDenied: #expect(query["error"] == "access_denied" && query["code"] == nil)
        case .authorizationServerError: #expect(try await show().destination().query["error"] == "server_error")
        case .authorizationOtherIssuer: #expect(query["iss"] == "https://example.org/" && query["code"] != nil)
        case .authorizationMissingIssuer: #expect(query["iss"] == nil && query["code"] != nil)
        case .authorizationOtherState: #expect(query["state"].map { $0 != "s&1" } == true && query["code"] != nil)
        case .authorizationMissingState: #expect(query["state"] == nil && query["code"] != nil)
        default: Issue.record("no row for this fault")
        }
    }

    @Test("A code issued by a call follows the same rules")
    func issueCode() throws {
        func refusal(
            mccmnc: String = "310010", redirectURI: String = Harness.redirectURI, challenge: String = Harness.challenge,
            user: String? = nil
        ) -> String? {
            do throws(CarrierSimulator.OAuthError) {
                _ = try carriers.simulator.issueCode(
                    mccmnc: mccmnc, clientID: "shop", redirectURI: redirectURI, codeChallenge: challenge, user: user)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(refusal() == nil)
        #expect(refusal(mccmnc: "99999") == "invalid_request")
        #expect(refusal(redirectURI: "https://evil.example/") == "invalid_request")
        #expect(refusal(challenge: "") == "invalid_request")
        #expect(refusal(user: "nobody") == "user_not_found")
    }
}
