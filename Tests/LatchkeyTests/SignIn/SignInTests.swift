import CarrierSimulator
import LatchkeyConfiguration
import Primitives
import TestSupport
import Testing

/// The sign-in over real sockets, with real signatures, a real database and simulated carriers.
@Suite(.serialized) struct SignInOverSocketsTests {
    @Test(
        "A user signs in, is recognised, signs out, and is no longer recognised",
        arguments: ["310010", "310410", "310260", "311870"])
    func wholeLife(mccmnc: String) async throws {
        try await SignInHarness.with { harness in
            let signIn = try await harness.app.signIn(try harness.authorizedResponse(mccmnc: mccmnc))
            #expect(signIn.status == 200)
            #expect(signIn.json["token_type"]?.string == "bearer")
            #expect(signIn.json["expires"]?.integer == 3600)
            #expect(signIn.json["new_user"]?.bool == true)
            #expect(signIn.json["refresh_token"]?.string != nil)
            #expect(signIn.json["correlation_id"]?.string != nil)
            #expect(signIn.response["cache-control"] == "no-store")
            let token = try #require(signIn.token)

            let me = try await harness.app.me(token)
            #expect(me.status == 200)
            #expect(me.json["user_id"]?.integer != nil)
            #expect(me.json["zenkey_sub"]?.string != nil)

            #expect(try await harness.app.signOut(token).status == 200)
            let after = try await harness.app.me(token)
            #expect(after.status == 401)
            #expect(after.error == "invalid_token")
            #expect(after.response["www-authenticate"]?.hasPrefix("Bearer") == true)
            #expect(try await harness.app.signOut(token).status == 401)
        }
    }

    @Test("The same subject is the same user")
    func sameUser() async throws {
        try await SignInHarness.with { harness in
            var users: [Int64?] = []
            for _ in 0..<2 {
                let token = try #require(try await harness.app.signIn(try harness.authorizedResponse()).token)
                users.append(try await harness.app.me(token).json["user_id"]?.integer)
            }
            #expect(users[0] != nil)
            #expect(users[0] == users[1])
        }
    }

    @Test("The JSON of the published iOS app's AuthorizedResponse signs in")
    func publishedApp() async throws {
        try await SignInHarness.with { harness in
            var fields = try harness.authorizedResponse(scope: "openid name email", acr: "a3", context: "Pay $10")
            fields["correlation_id"] = "6D1E4F0C-1B5A-4C7D-9E43-0F1C8E6A2B11"
            let response = try await harness.app.send(
                "POST", "/auth/zenkey-signin",
                headers: [
                    "Content-Type: application/json", "Accept: application/json", "User-Agent: Example/1 CFNetwork",
                ],
                body: App.json(fields))
            #expect(response.status == 200)
            #expect(response.json["correlation_id"]?.string == "6D1E4F0C-1B5A-4C7D-9E43-0F1C8E6A2B11")
        }
    }

    @Test("A form and the SDK's property names sign in too")
    func otherSpellings() async throws {
        try await SignInHarness.with { harness in
            let form = try await harness.app.send(
                "POST", "/auth/zenkey-signin", headers: ["Content-Type: application/x-www-form-urlencoded"],
                body: App.form(try harness.authorizedResponse()))
            #expect(form.status == 200)
            let fields = try harness.authorizedResponse()
            let names = ["code_verifier": "codeVerifier", "redirect_uri": "redirectURI", "client_id": "clientId"]
            let renamed = Dictionary(uniqueKeysWithValues: fields.map { (names[$0.key] ?? $0.key, $0.value) })
            #expect(try await harness.app.signIn(renamed).status == 200)
            let other = try await harness.app.send(
                "POST", "/auth/zenkey/sign-in", headers: ["Content-Type: application/json"],
                body: App.json(try harness.authorizedResponse()))
            #expect(other.status == 200)
        }
    }

    @Test("The attributes of the granted scopes reach the profile", arguments: ["310010", "310410"])
    func attributes(mccmnc: String) async throws {
        try await SignInHarness.with { harness in
            var fields = try harness.authorizedResponse(mccmnc: mccmnc, scope: "openid name email phone postal_code")
            fields["scope"] = "openid name email phone postal_code"
            let token = try #require(try await harness.app.signIn(fields).token)
            let me = try await harness.app.me(token)
            for name in ["name", "email", "phone_number", "postal_code"] {
                #expect(me.json[name]?.string?.isEmpty == false, "\(name)")
            }
        }
    }

    @Test("A repeated request within a minute gets a session of the same user, and the code is posted once")
    func retried() async throws {
        try await SignInHarness.with { harness in
            let fields = try harness.authorizedResponse()
            async let first = harness.app.signIn(fields)
            async let second = harness.app.signIn(fields)
            let responses = [try await first, try await second, try await harness.app.signIn(fields)]
            #expect(responses.map(\.status) == [200, 200, 200])
            #expect(Set(responses.compactMap(\.token)).count == 3)
            #expect(harness.simulator.log.tokenPosts(SignInHarness.mccmnc) == 1)
        }
    }

    @Test("Invalid input is refused with a status and a description of the error", arguments: Refusal.all)
    func refused(refusal: Refusal) async throws {
        try await SignInHarness.with { harness in
            let fields = refusal.change(try harness.authorizedResponse())
            let answer = try await harness.app.signIn(fields)
            #expect(answer.status == refusal.status)
            #expect(answer.error == refusal.error)
            let text = answer.json["error_description"]?.string ?? ""
            #expect(text.contains(refusal.says), "\(text)")
            #expect(answer.json["request_id"]?.string == answer.response["x-request-id"])
            for secret in ["code", "code_verifier"] {
                if let value = fields[secret], value.utf8.count > 20 { #expect(!answer.response.text.contains(value)) }
            }
            #expect(try await harness.app.signIn(try harness.authorizedResponse()).status == 200)
        }
    }

    @Test("A used code is refused")
    func usedCode() async throws {
        try await SignInHarness.with { harness in
            var fields = try harness.authorizedResponse()
            #expect(try await harness.app.signIn(fields).status == 200)
            fields["state"] = "another request with the same code"
            let again = try await harness.app.signIn(fields)
            #expect(again.status == 401)
            #expect(again.error == "invalid_grant")
        }
    }
}

/// A change of a valid request, and the expected response.
struct Refusal: Sendable, CustomTestStringConvertible {
    let name: String
    let status: Int
    let error: String
    let says: String
    let change: @Sendable ([String: String]) -> [String: String]

    var testDescription: String { name }

    private static func row(
        _ name: String, _ status: Int, _ error: String, _ says: String, _ field: String, _ value: String?
    ) -> Refusal {
        Refusal(name: name, status: status, error: error, says: says) { fields in
            var fields = fields
            fields[field] = value
            return fields
        }
    }

    static let all: [Refusal] = [
        row(
            "wrong verifier", 401, "invalid_grant", "code_verifier", "code_verifier",
            String(repeating: "w", count: 43)),
        row("short verifier", 400, "invalid_request", "code_verifier", "code_verifier", "short"),
        row("no verifier", 400, "invalid_request", "code_verifier", "code_verifier", nil),
        row("unknown code", 401, "invalid_grant", "code", "code", String(repeating: "x", count: 30)),
        row("no code", 400, "invalid_request", "code", "code", nil),
        row("unknown client", 400, "invalid_request", "client_id", "client_id", "nobody"),
        row(
            "redirect URI not registered", 400, "invalid_request", "redirect_uri", "redirect_uri",
            "https://app.example/cb2"),
        row("mccmnc of letters", 400, "invalid_request", "mccmnc", "mccmnc", "31o010"),
        row("mccmnc of 4 digits", 400, "invalid_request", "mccmnc", "mccmnc", "3100"),
        row("unknown carrier", 400, "invalid_request", "discovery", "mccmnc", "999999"),
        row("wrong nonce", 401, "invalid_id_token", "nonce", "nonce", "another"),
        row("context too long", 400, "invalid_request", "context", "context", String(repeating: "c", count: 281)),
        row("context that the token does not have", 401, "invalid_id_token", "context", "context", "Pay $10"),
    ]
}
