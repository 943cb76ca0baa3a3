import Crypto
import HTTPTypes
import LatchkeyAPI
import Logging
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

/// What must not sign anyone in with an ID token that somebody brings.
@Suite("A native ID token is refused")
struct NativeSignInAttackTests {
    /// More or changed claims as JSON, of a token issued 11 minutes or less ago, and the check that fails.
    private static func refused(at now: Int64) -> [(what: String, claims: [String: String?], check: String)] {
        [
            ("for another app of the provider", ["aud": "\"client-2\""], "audience"),
            ("for the bundle id of another app", ["aud": "\"com.example.app.evil\""], "audience"),
            ("for two audiences", ["aud": "[\"client-1\",\"\(NativeApp.bundleID)\"]"], "audience"),
            ("without audience", ["aud": nil], "audience"),
            ("of another issuer", ["iss": "\"https://accounts.evil.example\""], "issuer"),
            ("without subject", ["sub": nil], "subject"),
            ("without nonce", ["nonce": nil], "nonce"),
            ("with another nonce", ["nonce": "\"another\""], "nonce"),
            ("with the hash of another nonce", ["nonce": "\"\(NativeApp.sha256("another"))\""], "nonce"),
            ("with a nonce that is a list", ["nonce": "[\"\(NativeApp.nonce)\"]"], "nonce"),
            ("with an azp that is no text", ["azp": "7"], "authorized_party"),
            ("with an empty azp", ["azp": "\"\""], "authorized_party"),
            ("that is too old", ["iat": "\(now - 661)"], "issued_at"),
            ("of the future", ["iat": "\(now + 61)", "exp": "\(now + 600)"], "issued_at"),
            ("that has expired", ["iat": "\(now - 400)", "exp": "\(now - 61)"], "expiry"),
            ("that is a logout token", ["events": "{}"], "id_token_claims"),
        ]
    }

    @Test(
        "if it is not what the provider gave this app now, and it spends nothing",
        arguments: refused(at: 0).map(\.what))
    func claims(what: String) async throws {
        let native = try NativeApp()
        let now = native.app.clock.now.secondsSinceEpoch
        let row = try #require(Self.refused(at: now).first { $0.what == what })
        let nonce = try await native.issuedNonce()
        let answer = try await native.signIn(native.idToken(nonce: nonce, row.claims), nonce: nonce)
        #expect(answer.status == 401 && answer.error == "invalid_id_token", "\(answer.body)")
        #expect(answer.description.contains("(\(row.check))"), "\(answer.description)")
        #expect(native.app.log.signIns.last?.metadata["check"] == row.check)
        #expect(try await native.signIn(native.idToken(nonce: nonce), nonce: nonce).status == 200)
    }

    @Test("only after ten minutes and the clock skew, whatever id_token.max_age_of_issue allows")
    func age() async throws {
        for (age, status) in [(660, 200), (661, 401)] as [(Int64, Int)] {
            let native = try NativeApp(party: { $0.idTokenRules.maximumAgeSeconds = 86_400 })
            let now = native.app.clock.now.secondsSinceEpoch
            let answer = try await native.signIn(["iat": "\(now - age)"])
            #expect(answer.status == status, "\(age): \(answer.body)")
        }
    }

    @Test("without a nonce also at a provider whose codes need none")
    func withoutNonce() async throws {
        let native = try NativeApp(party: { $0.idTokenRules.nonceMayBeMissing = true })
        let nonce = try await native.issuedNonce()
        let answer = try await native.signIn(native.idToken(nonce: nil), nonce: nonce)
        #expect(answer.description.contains("(nonce)"), "\(answer.body)")
    }

    @Test("unless it is signed with the provider's key", arguments: ["none", "HS256", "stranger", "changed"])
    func signature(how: String) async throws {
        let native = try NativeApp()
        let nonce = try await native.issuedNonce()
        let genuine = native.idToken(nonce: nonce)
        let parts = genuine.split(separator: ".").map(String.init)
        let claims = String(decoding: try #require(Base64URL.decode(parts[1])), as: UTF8.self)
        let forged: String
        switch how {
        case "none": forged = TokenText.compact(header: #"{"alg":"none"}"#, payload: claims) { _ in [] }
        case "HS256":
            forged = TokenText.compact(header: #"{"alg":"HS256","kid":"key-1"}"#, payload: claims) { signed in
                let key = SymmetricKey(data: Array("CLIENT-secret".utf8))
                return Array(HMAC<SHA256>.authenticationCode(for: signed, using: key))
            }
        case "stranger": forged = try TestSigningKey(keyID: "key-1").token(claims: claims)
        default:
            let changed = Base64URL.encode(claims.replacing("SUBJECT-of-jane", with: "SUBJECT-of-ravi").utf8)
            forged = "\(parts[0]).\(changed).\(parts[2])"
        }
        let answer = try await native.signIn(forged, nonce: nonce)
        #expect(answer.status == 401 && answer.error == "invalid_id_token", "\(answer.body)")
        #expect(try await native.signIn(genuine, nonce: nonce).status == 200)
    }

    @Test("the second time, at any instance", arguments: [true, false])
    func replay(isElsewhere: Bool) async throws {
        for rule in SignInConfiguration.NativeSignInRules.Nonce.allCases {
            let native = try NativeApp(nonce: rule)
            let nonce = rule == .issued ? try await native.issuedNonce() : NativeApp.nonce
            let token = native.idToken(nonce: nonce)
            #expect(try await native.signIn(token, nonce: nonce).status == 200)
            let other = isElsewhere ? try native.instance(nonce: rule) : native
            for more in [[], [("correlation_id", "\"another\"")], [("client_id", "\"client-1\"")]] {
                let answer = try await other.signIn(token, nonce: nonce, more)
                #expect(answer.text("token") == nil && [400, 401].contains(answer.status), "\(rule) \(answer.body)")
            }
        }
    }

    @Test(
        "where its nonce need not be issued, after it was used where it must, and the reverse, at any instance",
        arguments: [true, false], [SignInConfiguration.NativeSignInRules.Nonce.client, .none])
    func otherRule(isIssuedFirst: Bool, rule: SignInConfiguration.NativeSignInRules.Nonce) async throws {
        for isHashed in [false, true] {
            let native = try NativeApp()
            let other = try native.instance(nonce: rule)
            let nonce = try await native.issuedNonce()
            let inToken = isHashed ? NativeApp.sha256(nonce) : nonce
            let token = native.idToken(nonce: inToken)
            let ways = [(native, nonce), (other, nonce), (other, inToken)]
            var ended = 0
            for (app, nonce) in isIssuedFirst ? ways : ways.reversed() {
                if try await app.signIn(token, nonce: nonce).text("token") != nil { ended += 1 }
            }
            #expect(ended == 1, "hashed: \(isHashed)")
        }
    }

    @Test("as used for as long as it would be accepted, also with a nonce that was issued")
    func memoryOfNonce() async throws {
        let native = try NativeApp()
        let nonce = try await native.issuedNonce()
        native.app.clock.advance(bySeconds: 599)
        // The provider's clock is fast.
        let now = native.app.clock.now.secondsSinceEpoch
        let token = native.idToken(nonce: nonce, ["iat": "\(now + 60)", "exp": "\(now + 3600)"])
        #expect(try await native.signIn(token, nonce: nonce).status == 200)
        native.app.clock.advance(bySeconds: 720)
        _ = try await native.app.store.purgeExpired(at: native.app.clock.now, limit: 100)
        for app in [native, try native.instance(nonce: .client)] {
            let answer = try await app.signIn(token, nonce: nonce)
            #expect(answer.status == 401 && answer.description.contains("used before"), "\(answer.body)")
        }
    }

    @Test("the second time, before the code that came with it is redeemed")
    func replayWithCode() async throws {
        let native = try NativeApp.redeeming { $0.native.nonce = .client }
        native.answerCode(native.idToken(nonce: nil))
        let token = native.idToken(nonce: NativeApp.nonce)
        for (code, status) in [("CODE-7", 200), ("CODE-8", 401)] {
            let answer = try await native.signIn(
                token, nonce: NativeApp.nonce, [("authorization_code", "\"\(code)\"")])
            #expect(answer.status == status, "\(answer.body)")
        }
        #expect(native.app.carrier.tokenPosts == 1)
    }

    @Test("if it is the same one with its other signature")
    func otherSignature() async throws {
        let native = try NativeApp(nonce: .client)
        let token = native.idToken(nonce: NativeApp.nonce)
        let other = NativeApp.otherSignature(of: token)
        #expect(other != token)
        #expect(try await native.signIn(other, nonce: NativeApp.nonce).status == 200)
        let answer = try await native.signIn(token, nonce: NativeApp.nonce)
        #expect(answer.status == 401 && answer.description.contains("used before"), "\(answer.body)")
    }

    @Test("as used for as long as it would be accepted")
    func memory() async throws {
        let native = try NativeApp(nonce: .client)
        let now = native.app.clock.now.secondsSinceEpoch
        // The provider's clock is fast.
        let token = native.idToken(nonce: "n", ["iat": "\(now + 60)", "exp": "\(now + 3600)"])
        #expect(try await native.signIn(token, nonce: "n").status == 200)
        native.app.clock.advance(bySeconds: 720)
        _ = try await native.app.store.purgeExpired(at: native.app.clock.now, limit: 100)
        let answer = try await native.signIn(token, nonce: "n")
        #expect(answer.status == 401 && answer.description.contains("used before"), "\(answer.body)")
        // The answer to the request before is not known any more either.
        native.app.clock.advance(bySeconds: 61)
        _ = try await native.app.store.purgeExpired(at: native.app.clock.now, limit: 100)
        let late = try await native.signIn(token, nonce: "n")
        #expect(late.description.contains("(issued_at)"), "\(late.body)")
    }

    @Test("with a nonce that was used, has expired, or was issued for another provider or a redirect")
    func nonces() async throws {
        let native = try NativeApp()
        let used = try await native.issuedNonce()
        #expect(try await native.signIn(native.idToken(nonce: used), nonce: used).status == 200)
        let expiring = try await native.issuedNonce()
        let withCode = try NativeApp(client: { $0.nonce = .issued })
        let spent = try await withCode.issuedNonce()
        withCode.app.carrier.script { $0.nonce = spent }
        let body = SignInBody().with("mccmnc", nil).with("nonce", "\"\(spent)\"")
        #expect(try await withCode.app.post("/auth/bank/sign-in", body.json).status == 200)
        #expect(try await withCode.signIn(withCode.idToken(nonce: spent), nonce: spent).status == 400)
        let ofRedirect = try await native.nonceOfRedirect()
        let ofCarriers = try await native.issuedNonce(at: "zenkey")
        for nonce in [used, ofRedirect, ofCarriers] {
            let token = native.idToken(nonce: nonce, ["jti": "\"another token\""])
            let answer = try await native.signIn(token, nonce: nonce)
            #expect(answer.status == 400 && answer.description.hasPrefix("nonce was not issued"), "\(answer.body)")
        }
        native.app.clock.advance(bySeconds: 601)
        let answer = try await native.signIn(native.idToken(nonce: expiring), nonce: expiring)
        #expect(answer.status == 400, "\(answer.body)")
    }

    @Test("with a nonce that is no text, where the app sends none", arguments: ["7", #"["n"]"#, "{}", "true", #""""#])
    func nonceOfAnotherType(_ nonce: String) async throws {
        let native = try NativeApp(nonce: .none)
        let token = native.idToken(nonce: nil, ["nonce": nonce])
        let answer = try await native.signIn(token, nonce: nil)
        #expect(answer.status == 401 && answer.description.contains("(nonce)"), "\(answer.body)")
        #expect(try await native.signIn(native.idToken(nonce: nil), nonce: nil).status == 200)
    }

    @Test("in place of a code, and an ID token beside a code is not read")
    func notACode() async throws {
        let native = try NativeApp()
        let nonce = try await native.issuedNonce()
        let token = native.idToken(nonce: nonce)
        let body = SignInBody().with("mccmnc", nil).with("code", nil).with("id_token", "\"\(token)\"")
        let answer = try await native.app.post("/auth/bank/sign-in", body.json)
        #expect(answer.status == 400 && answer.description.contains("code is missing"), "\(answer.body)")
        #expect(native.app.carrier.tokenPosts == 0)
    }

    static let callerRows: [(clientID: String, provider: String, apiKey: String?, status: Int, error: String)] = [
        ("nobody", "bank", TestApp.apiKey, 400, "invalid_request"),
        ("client-1", "nowhere", TestApp.apiKey, 404, "not_found"), ("client-1", "bank", nil, 401, "invalid_api_key"),
        ("client-1", "bank", "another key", 401, "invalid_api_key"),
        ("client-1", "bank", "key of client-9", 400, "unauthorized_client"),
    ]

    @Test("of a caller or a client that may not bring it", arguments: callerRows)
    func callers(clientID: String, provider: String, apiKey: String?, status: Int, error: String) async throws {
        let native = try NativeApp(keys: ["key of client-9": APIGrant(clients: ["client-9"])])
        let nonce = try await native.issuedNonce()
        let token = native.idToken(nonce: nonce)
        let answer = try await native.signIn(
            token, nonce: nonce, [("client_id", "\"\(clientID)\"")], at: provider, apiKey: apiKey)
        #expect(answer.status == status && answer.error == error, "\(answer.body)")
        #expect(try await native.signIn(token, nonce: nonce).status == 200)
    }

    @Test("of a client without native_audiences", arguments: [nil, "\"client-1\""] as [String?])
    func withoutAudiences(clientID: String?) async throws {
        let native = NativeApp(try TestApp())
        let nonce = try await native.issuedNonce()
        let answer = try await native.signIn(
            native.idToken(nonce: nonce), nonce: nonce, clientID.map { [("client_id", $0)] } ?? [])
        #expect(answer.status == 400 && answer.error == "unauthorized_client", "\(answer.body)")
        #expect(answer.description.contains("native_audiences"))
    }

    static let bodyRows: [(body: String, problem: String)] = [
        ("{}", "id_token is missing"), (#"{"id_token":7}"#, "id_token must be a string"),
        (#"{"id_token":"a b"}"#, "id_token must have visible ASCII"),
        (#"{"id_token":"\#(String(repeating: "x", count: 65_537))"}"#, "The body is not JSON"),
        (#"{"id_token":"x","nonce":["n"]}"#, "nonce must be a string"),
        (#"{"id_token":"x","authorization_code":{}}"#, "authorization_code must be a string"),
        (#"{"id_token":"x","idToken":"y"}"#, "have different values"),
    ]

    @Test("in a malformed request", arguments: bodyRows)
    func bodies(body: String, problem: String) async throws {
        let answer = try await NativeApp().app.post("/auth/bank/native", body)
        #expect(answer.status == 400 && answer.description.contains(problem), "\(answer.body)")
    }

    static let codeRows: [(what: String, status: Int, claims: [String: String?]?)] = [
        ("the provider refuses it", 400, nil), ("it is another user's", 200, ["sub": "\"SUBJECT-of-ravi\""]),
        ("it is another client's", 200, ["aud": "\"client-2\""]), ("its ID token is old", 200, ["iat": "1"]),
        ("its at_hash is of other tokens", 200, ["at_hash": "\"AAAAAAAAAAAAAAAAAAAAAA\""]),
    ]

    @Test("never for its code, whose tokens are not stored, and the log says so", arguments: codeRows.map(\.what))
    func code(what: String) async throws {
        let row = try #require(Self.codeRows.first { $0.what == what })
        let native = try NativeApp.redeeming()
        if let claims = row.claims {
            native.answerCode(native.idToken(nonce: nil, claims))
        } else {
            native.app.carrier.script {
                $0.token = { _ throws(OutboundError) in .json(#"{"error":"invalid_grant"}"#, status: 400) }
            }
        }
        let answer = try await native.signIn([:], [("authorization_code", "\"CODE-7\"")])
        let token = try #require(answer.text("token"), "\(answer.body)")
        let line = native.app.log.lines.first { $0.message == "native code not redeemed" }
        #expect(line?.level == .warning && line?.metadata["cause"]?.isEmpty == false)
        #expect(!native.app.log.text.contains("CODE-7"))
        #expect(try await native.app.asUser(.delete, "/users/me", token).status == 200)
        #expect(native.revocations == [])
    }

    @Test("and nothing of a token, a nonce or a code is in the log")
    func log() async throws {
        let native = try NativeApp()
        let nonce = try await native.issuedNonce()
        let token = native.idToken(nonce: nonce)
        let more = [("authorization_code", "\"CODE-7\"")]
        _ = try await native.signIn(token, nonce: "another", more)
        _ = try await native.signIn(token, nonce: nonce, more)
        for text in [token, nonce, "CODE-7", "SUBJECT-of-jane"] { #expect(!native.app.log.text.contains(text)) }
        #expect(native.app.log.signIns.map(\.message) == ["sign-in refused", "sign-in"])
    }
}

extension NativeApp {
    /// The nonce that the server puts into the authorization request of a redirect.
    func nonceOfRedirect() async throws -> String {
        let query = "client_type=ios&redirect_uri=com.example.app%3A%2F%2Fcb"
        let redirecting = try TestApp(beside: app, client: { $0.redirectURIs = ["com.example.app://cb"] })
        let answer = try await redirecting.send(
            .get, "/auth/bank/start?" + query, [.accept: "application/json"])
        let location = try #require(answer.text("location"), "\(answer.body)")
        return try #require(location.firstMatch(of: /[?&]nonce=([^&]+)/).map { String($0.1) })
    }
}
