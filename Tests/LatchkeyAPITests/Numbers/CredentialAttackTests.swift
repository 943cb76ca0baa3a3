import Crypto
import HTTPTypes
import LatchkeyConfiguration
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import PhoneVerification

/// Attacks on sign-ins and verifications by digital credentials. The aggregator would tell the number in each case, so
/// that nothing but this server's own checks stops them.
@Suite("Attacks with digital credentials")
struct CredentialAttackTests {
    private static func app(
        beside other: NumberApp? = nil, _ change: @escaping (inout AggregatorRules) -> Void = { _ in }
    ) throws -> NumberApp {
        var rules = NumberSignInRules()
        rules.registersUnknown = true
        return try NumberApp(beside: other, credentialRules: rules, aggregator: change)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let what: String
        let check: String
        var origin = FakeAggregator.origin
        let change: @Sendable (inout FakeAggregator.Deviation) -> Void

        var testDescription: String { what }

        init(
            _ what: String, _ check: String, origin: String = FakeAggregator.origin,
            _ change: @escaping @Sendable (inout FakeAggregator.Deviation) -> Void = { _ in }
        ) {
            (self.what, self.check, self.origin, self.change) = (what, check, origin, change)
        }
    }

    /// Another phone's wallet.
    private static let foreign = TestSigningKey(keyID: "wallet-1")

    static let rows: [Row] = [
        Row("for another origin", "audience", origin: "https://evil.example"),
        Row("for an origin that begins as ours", "audience", origin: FakeAggregator.origin + ".evil.example"),
        Row("for another app", "audience", origin: "android:apk-key-hash:" + String(repeating: "B", count: 43)),
        Row("for several origins", "audience") { $0.claims["aud"] = #"["\#(FakeAggregator.origin)"]"# },
        Row("for another session", "nonce") { $0.claims["nonce"] = #""NONCE-of-another-session""# },
        Row("without a nonce", "nonce") { $0.claims["nonce"] = .some(nil) },
        Row("bound with another key", "signature") { $0.signer = foreign },
        Row("with a changed hash", "sd_hash") {
            $0.claims["sd_hash"] = "\"\(Base64URL.encode([UInt8](repeating: 7, count: 32)))\""
        },
        Row("without a hash", "sd_hash") { $0.claims["sd_hash"] = .some(nil) },
        Row("with a disclosure that was added", "sd_hash") { deviation in
            deviation.changeLate = { $0.replacing("~", with: "~WyJhIl0~") }
        },
        Row("with a hash function that is not known", "sd_hash") { $0.issuerClaims["_sd_alg"] = #""sha-512""# },
        Row("issued long ago", "issued_at") { $0.claims["iat"] = "1700000000" },
        Row("issued in the future", "issued_at") { $0.claims["iat"] = "1900000000" },
        Row("without iat", "issued_at") { $0.claims["iat"] = .some(nil) },
        Row("of a card that has expired", "expiry") { $0.issuerClaims["exp"] = "1700000000" },
        Row("without a key", "confirmation_key") { $0.issuerClaims["cnf"] = .some(nil) },
        Row("bound by another kind of token", "type") { $0.type = "JWT" },
        Row("without the first part", "format") { deviation in
            deviation.changeLate = { String($0.split(separator: "~").last ?? "") }
        },
        Row("without a binding", "format") { deviation in
            deviation.changeLate = { String($0.prefix { $0 != "~" }) + "~" }
        },
    ]

    @Test("A credential that is not for this request signs nobody in, and the aggregator is not asked", arguments: rows)
    func refused(_ row: Row) async throws {
        let app = try Self.app()
        let started = try await app.startCredential()
        let text = try app.aggregator.presentation(nonce: started.nonce, origin: row.origin, row.change)
        let answer = try await app.confirm(started.id, presenting: text)
        #expect(answer.status == 401 && answer.error == "credential_invalid", "\(answer.body)")
        #expect(answer.description.contains("(\(row.check))"), "\(answer.body)")
        #expect(app.aggregator.processed.isEmpty)
        // The right one is still good.
        let right = try app.aggregator.presentation(nonce: started.nonce)
        #expect(try await app.confirm(started.id, presenting: right).status == 200)
    }

    @Test("A credential works once, also at a second server")
    func replay() async throws {
        let app = try Self.app()
        let other = try Self.app(beside: app)
        let started = try await app.startCredential()
        let text = try app.aggregator.presentation(nonce: started.nonce)
        #expect(try await app.confirm(started.id, presenting: text).status == 200)
        for server in [other, app] {
            let answer = try await server.confirm(started.id, presenting: text)
            #expect(answer.status == 401 && answer.error == "invalid_grant", "\(answer.body)")
        }
        #expect(app.aggregator.processed.count == 1)
        // Nor is it good for a session that is under way.
        let next = try await other.startCredential()
        #expect(try await other.confirm(next.id, presenting: text).error == "credential_invalid")
    }

    @Test("A credential of another session, found at a second server, ends neither")
    func otherSession() async throws {
        let app = try Self.app()
        let (mine, theirs) = (try await app.startCredential(), try await app.startCredential())
        let text = try app.aggregator.presentation(nonce: theirs.nonce)
        let answer = try await app.confirm(mine.id, presenting: text)
        #expect(answer.error == "credential_invalid" && answer.description.contains("(nonce)"), "\(answer.body)")
    }

    @Test("A session ends when the aggregator said it would")
    func expired() async throws {
        let app = try Self.app()
        let started = try await app.startCredential()
        app.clock.advance(bySeconds: 301)
        let text = try app.aggregator.presentation(nonce: started.nonce)
        let answer = try await app.confirm(started.id, presenting: text)
        #expect(answer.status == 401 && answer.error == "invalid_grant", "\(answer.body)")
        #expect(app.aggregator.processed.isEmpty)
    }

    @Test("A verification is not a sign-in, nor the reverse, and another user's session cannot end it")
    func purposes() async throws {
        let app = try Self.app()
        let session = try await PhoneVerificationWalk.session(app)
        let other = try await app.token()
        let verification = try await app.startVerification(session)
        let text = try app.aggregator.presentation(nonce: verification.nonce)
        #expect(try await app.confirm(verification.id, presenting: text).error == "invalid_grant")
        #expect(try await app.confirm(verification.id, of: other, presenting: text).status == 404)
        let signIn = try await app.startCredential()
        let own = try app.aggregator.presentation(nonce: signIn.nonce)
        #expect(try await app.confirm(signIn.id, of: session, presenting: own).status == 404)
        #expect(app.aggregator.processed.isEmpty)
        app.aggregator.script { $0.finding = #""verified":false"# }
        #expect(try await app.confirm(verification.id, of: session, presenting: text).status == 200)
    }

    // MARK: Links

    private static let link = #","mccmnc":"\#(FakeAggregator.linkNetwork)","redirect_uri":"com.example.app://cb""#

    @Test("A link is ended with the code of its browser, and what this server alone knows")
    func link() async throws {
        let app = try Self.app()
        let started = try await app.startCredential(Self.link)
        #expect(started.answer.text("strategy") == "link" && started.answer.json?["request"] == nil)
        #expect(started.answer.text("authorization_url") == FakeAggregator.base + "/link?s=1")
        let prepared = try #require(app.aggregator.prepared.first)
        #expect(prepared["redirect_uri"]?.string == NumberApp.redirectURI)
        let answer = try await app.confirm(started.id, #"{"code":"BROWSER-1"}"#)
        #expect(answer.status == 200, "\(answer.body)")
        let body = try #require(app.aggregator.processed.first)
        #expect(body["browser_code"]?.string == "BROWSER-1" && body["credential"] == nil)
        let code = try #require(body["code"]?.string)
        #expect(prepared["code_hash"]?.string == Base64URL.encode(Array(SHA256.hash(data: Array(code.utf8)))))
        #expect(!started.answer.body.contains(code))
        #expect(try await app.confirm(started.id, #"{"code":"BROWSER-1"}"#).error == "invalid_grant")
    }

    @Test("A link without the code of a browser, with a wallet's response, or to another page, signs nobody in")
    func otherBrowser() async throws {
        let app = try Self.app()
        let started = try await app.startCredential(Self.link)
        // Who has begun does not get the code: it goes to the browser that has opened the link.
        #expect(try await app.confirm(started.id, "{}").status == 400)
        let text = try app.aggregator.presentation(nonce: "NONCE")
        #expect(try await app.confirm(started.id, presenting: text).error == "invalid_request")
        #expect(app.aggregator.processed.isEmpty)
        // The code of another session's browser: the aggregator gets what this session alone has.
        let other = try await app.startCredential(Self.link)
        app.aggregator.script { $0.process = .json(#"{"error":"invalid_code"}"#, status: 400) }
        let refused = try await app.confirm(other.id, #"{"code":"BROWSER-of-another"}"#)
        #expect(refused.error == "aggregator_error", "\(refused.body)")
        let elsewhere = try await app.send(
            .post, "/auth/carriers/start",
            body: #"{"mccmnc":"\#(FakeAggregator.linkNetwork)","redirect_uri":"https://evil.example/"}"#)
        #expect(elsewhere.status == 400 && app.aggregator.prepared.count == 2, "\(elsewhere.body)")
        // Nor does a code end a session that waits for a wallet.
        let wallet = try await app.startCredential()
        #expect(try await app.confirm(wallet.id, #"{"code":"BROWSER-1"}"#).error == "invalid_request")
    }

    // MARK: QR codes

    @Test("A QR code verifies the number that was asked for, after the phone has scanned it")
    func desktop() async throws {
        let app = try Self.app { $0.verifiesDesktops = true }
        let session = try await PhoneVerificationWalk.session(app)
        let members = #","strategy":"desktop","phone_number":"\#(FakeAggregator.number)""#
        let started = try await app.startVerification(session, members)
        #expect(started.answer.text("qr_code") == FakeAggregator.base + "/scan/1")
        #expect(started.answer.integer("expires_in") == 120)
        app.aggregator.script { $0.finding = #""status":"pending""# }
        for _ in 0..<2 {
            let waiting = try await app.confirm(started.id, of: session, #"{"poll":true}"#)
            #expect(waiting.status == 200 && waiting.text("status") == "pending", "\(waiting.body)")
        }
        app.aggregator.script { $0.finding = #""verified":true"# }
        let answer = try await app.confirm(started.id, of: session, #"{"poll":true}"#)
        #expect(answer.text("status") == "verified", "\(answer.body)")
        #expect(try await app.confirm(started.id, of: session, #"{"poll":true}"#).error == "invalid_grant")
    }

    @Test("An app asks about once a second whether a phone has scanned the code, because each question costs")
    func polls() async throws {
        let app = try Self.app { $0.verifiesDesktops = true }
        let session = try await PhoneVerificationWalk.session(app)
        let started = try await app.startVerification(
            session, #","strategy":"desktop","phone_number":"\#(FakeAggregator.number)""#)
        app.aggregator.script { $0.finding = #""status":"pending""# }
        for _ in 0..<5 { #expect(try await app.confirm(started.id, of: session, #"{"poll":true}"#).status == 200) }
        #expect(try await app.confirm(started.id, of: session, #"{"poll":true}"#).status == 429)
        #expect(app.aggregator.processed.count == 5)
        app.clock.advance(bySeconds: 1)
        #expect(try await app.confirm(started.id, of: session, #"{"poll":true}"#).status == 200)
    }

    @Test("A QR code is asked about 300 times at most, however long its session lives")
    func allPolls() async throws {
        let app = try Self.app { $0.verifiesDesktops = true }
        let session = try await PhoneVerificationWalk.session(app)
        let started = try await app.startVerification(
            session, #","strategy":"desktop","phone_number":"\#(FakeAggregator.number)""#)
        app.aggregator.script { $0.finding = #""status":"pending""# }
        #expect(try await app.confirm(started.id, of: session, #"{"poll":true}"#).status == 200)
        let use = AllowanceUse(
            of: "all polls of verification \(started.id)", SharedAllowance(count: 300, seconds: 3600))
        for _ in 1..<300 { #expect(try await app.testStore.store.count([use], at: app.clock.now) == nil) }
        app.clock.advance(bySeconds: 5)
        #expect(try await app.confirm(started.id, of: session, #"{"poll":true}"#).status == 429)
        #expect(app.aggregator.processed.count == 1)
    }

    @Test("Only a poll asks for the state of a QR code: an empty confirmation is refused, and costs nothing")
    func emptyConfirmation() async throws {
        let app = try Self.app { $0.verifiesDesktops = true }
        let session = try await PhoneVerificationWalk.session(app)
        let started = try await app.startVerification(
            session, #","strategy":"desktop","phone_number":"\#(FakeAggregator.number)""#)
        for body in ["{}", #"{"poll":false}"#, #"{"poll":"yes"}"#, #"{"confirmation":""}"#] {
            let answer = try await app.confirm(started.id, of: session, body)
            #expect(answer.status == 400 && answer.error == "invalid_request", "\(answer.body)")
        }
        #expect(app.aggregator.processed.isEmpty)
        // Nor does a poll end what waits for a wallet, or a sign-in.
        let credential = try await app.startVerification(session)
        let poll = #"{"poll":true}"#
        #expect(try await app.confirm(credential.id, of: session, poll).error == "invalid_request")
        #expect(try await app.confirm(try await app.startCredential().id, poll).status == 400)
        #expect(app.aggregator.processed.isEmpty)
    }

    @Test("A phone that knows no network opens a link, if it says where its browser ends")
    func linkWithoutNetwork() async throws {
        let app = try Self.app()
        let started = try await app.startCredential(#","redirect_uri":"com.example.app://cb""#)
        #expect(started.answer.text("strategy") == "link", "\(started.answer.body)")
    }

    @Test("A QR code that somebody else photographs changes nothing, and signs nobody in")
    func photographed() async throws {
        let app = try Self.app { $0.verifiesDesktops = true }
        let session = try await PhoneVerificationWalk.session(app)
        let started = try await app.startVerification(
            session, #","strategy":"desktop","phone_number":"\#(FakeAggregator.number)""#)
        // The phone that scans it is another one.
        app.aggregator.script { $0.finding = #""verified":true,"phone_number":"+14155550102""# }
        let answer = try await app.confirm(started.id, of: session, #"{"poll":true}"#)
        #expect(answer.text("status") == "mismatch", "\(answer.body)")
        try await PhoneVerificationWalk(app, token: session).expectUnchanged()
        let signIn = try await app.send(.post, "/auth/carriers/start", body: #"{"strategy":"desktop"}"#)
        #expect(signIn.status == 400 && signIn.description.contains("signs nobody in"), "\(signIn.body)")
        #expect(app.aggregator.prepared.count == 1)
    }
}
