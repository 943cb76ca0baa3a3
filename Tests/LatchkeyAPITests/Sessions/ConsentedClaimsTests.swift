import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

/// The claims beyond the profile that a user consented to share: what apps get, and what the store has.
@Suite("The claims that a user consented to share")
struct ConsentedClaimsTests {
    private static let scopes = ConsentedClaim.allCases.map(\.rawValue)
    private static let flat = #"""
        "address":{"street_address":"1 Main St","locality":"SECRET-Town","postal_code":"01234","country":"US"},
        "birthdate":"1984-05-17","last_4_social":"0042","is_adult":true,"is_adult_18":"true","is_adult_21":false,
        "is_over_13":"true","proofing":"PROOF-level-2"
        """#
    private static let nested = #"""
        "address":{"value":{"street_address":"1 Main St","locality":"SECRET-Town","postal_code":"01234",
        "country":"US"}},
        "birthdate":{"value":"1984-05-17"},"last_4_social":{"value":"0042"},"is_adult":{"value":true},
        "is_adult_18":{"value":"true"},"is_adult_21":{"value":false},"is_over_13":{"value":true},
        "proofing":{"value":"PROOF-level-2"}
        """#
    /// The values in responses, as JSON.
    private static let values = [
        "address": #"""
        {"formatted":"1 Main St, SECRET-Town, 01234, US","street_address":"1 Main St","locality":"SECRET-Town",\#
        "postal_code":"01234","country":"US"}
        """#,
        "birthdate": #""1984-05-17""#, "last_4_social": #""0042""#, "is_adult": "true", "is_adult_18": "true",
        "is_adult_21": "false", "is_over_13": "true", "proofing": #""PROOF-level-2""#,
    ]
    private static let sensitive = ["1 Main St", "SECRET-Town", "1984-05-17", "PROOF-level-2"]
    private static let keys = EncryptionKey([UInt8](repeating: 7, count: 32)).map { [$0] } ?? []

    private func tell(_ app: TestApp, _ members: String) {
        app.carrier.script {
            $0.userInfo = { _ throws(OutboundError) in .json(#"{"sub":"SUBJECT-of-jane","name":"Jane",\#(members)}"#) }
        }
    }

    private func body(_ app: TestApp, _ scopes: [String] = scopes) -> SignInBody {
        SignInBody().code("CODE-\(app.carrier.tokenPosts)")
            .with("scope", "\"\((["openid"] + scopes).joined(separator: " "))\"")
    }

    private func shown(_ answer: Answer) -> [String: String] {
        var shown: [String: String] = [:]
        for name in Self.scopes { shown[name] = answer.json?[name]?.text }
        return shown
    }

    @Test("are in GET /users/me and in the store, encrypted", arguments: [flat, nested])
    func kept(members: String) async throws {
        let app = try TestApp(vaultKeys: Self.keys)
        tell(app, members)
        let token = try await app.token(body(app))
        #expect(shown(try await app.me(token)) == Self.values)
        // From the store, without the cache.
        app.clock.advance(bySeconds: 60)
        let me = try await app.me(token)
        #expect(shown(me) == Self.values)
        let stored = try #require(try await app.store.session(TokenHash(ofSessionToken: token), at: app.clock.now)).user
        #expect(stored.assertions?.claims != nil)
        for text in Self.sensitive + ["is_adult"] {
            #expect(try !app.testStore.files(contain: text), "\(text)")
            #expect(stored.assertions?.claims?.contains(text) == false)
            #expect(!app.log.text.contains(text))
        }
        #expect(me.text("claims_by") == FakeCarrier.issuer)
        // A later sign-in that does not ask for them keeps them; an edit of the profile, too.
        tell(app, #""email":"jane@mail.example""#)
        #expect(shown(try await app.me(try await app.token(body(app, ["email"])))) == Self.values)
        #expect(shown(try await app.patch(token, #"{"name":"J"}"#)) == Self.values)
    }

    @Test("are withdrawn if they are asked for and do not come")
    func withdrawn() async throws {
        let app = try TestApp(vaultKeys: Self.keys)
        tell(app, Self.flat)
        _ = try await app.token(body(app))
        tell(app, #""birthdate":"1984-05-17""#)
        let token = try await app.token(body(app, ["birthdate", "last_4_social"]))
        #expect(shown(try await app.me(token)) == Self.values.filter { $0.key != "last_4_social" })
        tell(app, #""email":"jane@mail.example""#)
        let me = try await app.me(try await app.token(body(app)))
        #expect(shown(me).isEmpty)
        #expect(me.json?["claims_by"] == nil)
    }

    @Test("are shown to the client that the user shared them with, and to no other")
    func otherClient() async throws {
        let app = try TestApp(vaultKeys: Self.keys, otherClients: ["client-2"])
        func other(_ scopes: [String]) async throws -> String {
            app.carrier.script { $0.claims = ["aud": "\"client-2\""] }
            let uri = "\"https://other.example/cb\""
            return try await app.token(
                body(app, scopes).with("client_id", "\"client-2\"").with("redirect_uri", uri))
        }
        tell(app, Self.flat)
        let first = try await app.token(body(app, ["birthdate", "last_4_social"]))
        let mine = Self.values.filter { ["birthdate", "last_4_social"].contains($0.key) }
        #expect(shown(try await app.me(first)) == mine)
        let second = try await other(["name"])
        #expect(shown(try await app.me(second)).isEmpty)
        #expect(shown(try await app.patch(second, #"{"name":"J"}"#)).isEmpty)
        let third = try await other(["is_adult"])
        #expect(shown(try await app.me(third)) == ["is_adult": "true"])
        #expect(shown(try await app.me(first)) == mine)
    }

    @Test("are kept only if their scope was asked for", arguments: scopes)
    func requested(scope: String) async throws {
        let app = try TestApp(vaultKeys: Self.keys)
        tell(app, Self.flat)
        #expect(shown(try await app.me(try await app.token(body(app, ["name"])))).isEmpty)
        #expect(
            shown(try await app.me(try await app.token(body(app, [scope])))) == Self.values.filter { $0.key == scope })
    }

    @Test("may be asked for by the client's scopes")
    func clientScopes() async throws {
        let app = try TestApp(vaultKeys: Self.keys, client: { $0.scopes = ["openid", "birthdate"] })
        tell(app, Self.flat)
        #expect(shown(try await app.me(try await app.token())) == Self.values.filter { $0.key == "birthdate" })
    }

    @Test("change with the carrier's, and cannot be edited")
    func changed() async throws {
        let app = try TestApp(vaultKeys: Self.keys)
        tell(app, Self.flat)
        let first = try await app.token(body(app))
        tell(app, #""last_4_social":"7777","is_adult_21":true"#)
        let expected = Self.values.merging(["last_4_social": #""7777""#, "is_adult_21": "true"]) { $1 }
        for token in [try await app.token(body(app, ["last_4_social", "is_adult_21"])), first] {
            #expect(shown(try await app.me(token)) == expected)
        }
        for name in Self.scopes {
            let refused = try await app.patch(first, #"{"\#(name)":null}"#)
            #expect(refused.status == 400)
            #expect(refused.description.contains("\(name) cannot be changed"))
        }
    }

    @Test("are not written again at a sign-in that changes nothing", arguments: [true, false])
    func unchanged(hasKey: Bool) async throws {
        let app = try TestApp(vaultKeys: hasKey ? Self.keys : [])
        tell(app, Self.flat)
        func stored(_ token: String) async throws -> String? {
            try await app.store.session(TokenHash(ofSessionToken: token), at: app.clock.now)?.user.assertions?.claims
        }
        let first = try await stored(try await app.token(body(app)))
        #expect(first != nil)
        #expect(try await stored(try await app.token(body(app))) == first)
    }

    @Test("are stored without the sensitive ones if there is no key")
    func noKey() async throws {
        let app = try TestApp()
        tell(app, Self.flat)
        let token = try await app.token(body(app))
        #expect(shown(try await app.me(token)) == Self.values.filter { ["true", "false"].contains($0.value) })
        for text in Self.sensitive { #expect(try !app.testStore.files(contain: text), "\(text)") }
    }

    @Test("are in zenkey_attributes, and kept through the registration", arguments: [flat, nested])
    func registered(members: String) async throws {
        var rules = TestRegistration()
        rules.isRequired = true
        let app = try TestApp(vaultKeys: Self.keys, registration: rules)
        tell(app, members)
        let offer = try await app.signIn(body(app))
        #expect(offer.status == 403)
        for (name, value) in Self.values {
            let shown = offer.json?["zenkey_attributes"]?.object?[name]?.object?["value"]
            #expect(shown?.text == value, "\(name)")
        }
        for text in Self.sensitive { #expect(try !app.testStore.files(contain: text), "\(text)") }
        let handle = try #require(offer.text("state_key"))
        let token = try #require(try await app.post("/users", #"{"state_key":"\#(handle)"}"#).text("token"))
        #expect(shown(try await app.me(token)) == Self.values)
        for text in Self.sensitive {
            #expect(try !app.testStore.files(contain: text), "\(text)")
            #expect(!app.log.text.contains(text))
        }
    }

    private static func of(_ publicID: String, _ stored: String?) -> User {
        User(
            id: UserID(1), publicID: publicID, profile: Profile(),
            assertions: ProviderAssertions(email: nil, phoneNumber: nil, claims: stored),
            createdAt: Timestamp(secondsSinceEpoch: 0))
    }

    private static func claims(_ date: String = "1984-05-17", from issuer: String = "https://a.example") -> ClientClaims
    {
        var claims = ConsentedClaims()
        claims[.birthdate] = .text(date)
        return ClientClaims(claims, for: "client-1", from: issuer)
    }

    @Test("of one user cannot be read as another's, and an unknown key hides them")
    func bound() throws {
        let claims = Self.claims()
        let vault = ClaimsVault(keys: Self.keys)
        func read(_ vault: ClaimsVault, _ stored: String?, of publicID: String = "jane") -> ClientClaims? {
            vault.claims(of: Self.of(publicID, stored), for: "client-1")
        }
        let stored = try #require(vault.stored(claims, of: "jane"))
        #expect(read(vault, stored) == claims)
        #expect(vault.claims(of: Self.of("jane", stored), for: "client-2") == nil)
        #expect(read(vault, stored, of: "ravi") == nil)
        #expect(vault.claims(in: stored, of: TokenHash(sha256Of: "jane")).isEmpty)
        let other = try #require(EncryptionKey([UInt8](repeating: 8, count: 32)))
        #expect(read(ClaimsVault(keys: [other]), stored) == nil)
        #expect(read(ClaimsVault(keys: []), stored) == nil)
        let rotated = ClaimsVault(keys: [other] + Self.keys)
        #expect(read(rotated, stored) == claims)
        let resealed = try #require(rotated.resealed(stored, of: "jane"))
        #expect(read(ClaimsVault(keys: [other]), resealed) == claims)
        for text in ["", ":", "{", "{}", "[1]", "x:y", stored + "A", String(stored.dropLast(4))] {
            #expect(read(vault, text) == nil, "\(text)")
            #expect(read(ClaimsVault(keys: []), text) == nil, "\(text)")
        }
    }

    @Test("in plain text are not believed once there is a key, until the operator encrypts them")
    func forged() throws {
        let forged = #"{"clients":[{"client_id":"client-1","issuer":"https://a.example","claims":{"is_adult":true}}]}"#
        let vault = ClaimsVault(keys: Self.keys)
        #expect(vault.claims(of: Self.of("jane", forged), for: "client-1") == nil)
        #expect(
            ClaimsVault(keys: []).claims(of: Self.of("jane", forged), for: "client-1")?.claims[.isAdult] == .flag(true))
        let sealed = vault.resealed(forged, of: "jane")
        #expect(vault.claims(of: Self.of("jane", sealed), for: "client-1")?.claims[.isAdult] == .flag(true))
    }

    @Test("stay if their key is missing, whatever a sign-in brings")
    func keyMissing() throws {
        let stored = try #require(ClaimsVault(keys: Self.keys).stored(Self.claims(), of: "jane"))
        let other = try #require(EncryptionKey([UInt8](repeating: 8, count: 32)))
        for keys in [[], [other]] {
            let update = ClaimsVault(keys: keys).update(with: Self.claims("1990-01-01"), asked: ["birthdate"])
            #expect(update("jane", stored) == stored)
        }
        let update = ClaimsVault(keys: [other] + Self.keys).update(with: Self.claims("1990-01-01"), asked: [])
        let updated = update("jane", stored)
        #expect(
            ClaimsVault(keys: [other]).claims(of: Self.of("jane", updated), for: "client-1")?.claims[.birthdate]
                == .text("1990-01-01"))
    }

    @Test("of another provider replace all of a client's, and are named after it")
    func otherProvider() throws {
        let vault = ClaimsVault(keys: Self.keys)
        var adult = ConsentedClaims()
        adult[.isAdult] = .flag(true)
        let weaker = ClientClaims(adult, for: "client-1", from: "https://b.example")
        let stored = vault.stored(Self.claims(), of: "jane")
        func after(_ brought: ClientClaims, asked: [String]) -> ClientClaims? {
            vault.claims(
                of: Self.of("jane", vault.update(with: brought, asked: asked)("jane", stored)), for: "client-1")
        }
        #expect(after(weaker, asked: ["is_adult"]) == weaker)
        let nothing = ClientClaims(ConsentedClaims(), for: "client-1", from: "https://b.example")
        #expect(after(nothing, asked: ["is_adult", "birthdate"]) == Self.claims())
    }

    @Test("are kept for the last sixteen clients")
    func clients() throws {
        let vault = ClaimsVault(keys: Self.keys)
        var stored: String?
        for number in 1...17 {
            let claims = ClientClaims(Self.claims().claims, for: "client-\(number)", from: "https://a.example")
            stored = vault.update(with: claims, asked: [])("jane", stored)
        }
        let user = Self.of("jane", stored)
        #expect((1...17).filter { vault.claims(of: user, for: "client-\($0)") == nil } == [1])
    }

    @Test("print nothing")
    func redacted() {
        var claims = ConsentedClaims()
        claims[.last4Social] = .text("0042")
        var text = "\(claims) \(String(reflecting: claims))"
        dump(claims, to: &text)
        #expect(!text.contains("0042"))
    }

    @Test("arrive with a backchannel authentication")
    func backchannel() async throws {
        let calls = try BackchannelCalls(vaultKeys: Self.keys)
        tell(calls.app, Self.flat)
        let handle = try #require(
            try await calls.start(["scope": "\"openid birthdate last_4_social\""]).text("auth_req_id"))
        #expect(try await calls.notify().status < 300)
        #expect(try !calls.app.testStore.files(contain: "1984-05-17"))
        let token = try #require(try await calls.poll(handle).text("token"))
        #expect(
            shown(try await calls.app.me(token))
                == Self.values.filter { ["birthdate", "last_4_social"].contains($0.key) })
        #expect(try !calls.app.testStore.files(contain: "1984-05-17"))
    }
}
