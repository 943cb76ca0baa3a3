import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

@testable import Redirects

/// Rules of redirect sign-ins that need a manual clock, or access to the store.
@Suite struct RedirectSignInTests {
    private static let start = RedirectStart(
        provider: ProviderReference(provider: "zenkey"), clientType: .ios, redirectURI: "com.example.app://cb",
        callbackURL: "https://login.example/auth/zenkey/callback")

    private func state(of step: RedirectStep) throws -> String { try value("state", of: step) }

    /// A parameter of the request that the browser is sent with.
    private func value(_ name: String, of step: RedirectStep) throws -> String {
        guard case .goOn(let location, _, _) = step else { throw TestFailure() }
        let query = location.split(separator: "?").last?.split(separator: "&") ?? []
        return String(try #require(query.first { $0.hasPrefix(name + "=") }).dropFirst(name.count + 1))
    }

    private struct TestFailure: Error {}

    private func answer(_ state: String, provider: String = "zenkey") -> AuthorizationResponse {
        var answer = AuthorizationResponse(provider: provider)
        answer.state = Secret(state)
        answer.error = "access_denied"
        return answer
    }

    private func approval(_ state: String) -> AuthorizationResponse {
        var answer = AuthorizationResponse(provider: "zenkey")
        answer.state = Secret(state)
        answer.code = Secret("CODE-1")
        return answer
    }

    @Test(
        "A state is valid for an hour, or as long as the settings say",
        arguments: [(nil, 3599, true), (nil, 3600, false), (7200, 7199, true), (60, 60, false)]
            as [(Int64?, Int64, Bool)])
    func expiry(lifetime: Int64?, seconds: Int64, isGood: Bool) async throws {
        let app = try TestApp(redirects: { $0.lifetime = lifetime ?? $0.lifetime })
        let flow = app.redirectSignIn
        let state = try state(of: try await flow.start(Self.start, browser: nil))
        app.clock.advance(bySeconds: seconds)
        if isGood {
            guard case .finished = try await flow.finish(answer(state), browser: nil) else {
                throw TestFailure()
            }
        } else {
            await #expect {
                try await flow.finish(answer(state), browser: nil)
            } throws: {
                ($0 as? SignInError)?.code == .invalidRequest
            }
        }
    }

    @Test("A failure carries the correlation id of the start, or the one that the server made")
    func correlationID() async throws {
        let app = try TestApp()
        let flow = app.redirectSignIn
        for given in [CorrelationID("1B2C-of-the-app"), nil] {
            var start = Self.start
            start.correlationID = given
            let state = try state(of: try await flow.start(start, browser: nil))
            guard case .finished(let end) = try await flow.finish(answer(state), browser: nil) else {
                throw TestFailure()
            }
            let id = try #require(end.items.first { $0.name == "correlation_id" }?.value)
            #expect(given == nil || id == given?.text)
            #expect(end.location.hasSuffix("&correlation_id=\(id)"))
            #expect(app.log.signIns.last?.metadata["correlation_id"] == "\(id)")
        }
    }

    @Test(
        "The error that a browser brings is a plain code, and none of this API's",
        arguments: [
            ("login_required", "login_required"), ("interaction_required", "interaction_required"),
            ("consent_required", "consent_required"), ("account_selection_required", "account_selection_required"),
            ("unmet_authentication_requirements", "unmet_authentication_requirements"), ("sim_swapped", "sim_swapped"),
            ("user_not_registered", "access_denied"),
            ("invalid_id_token", "access_denied"), ("<script>", "access_denied"), ("a,outcome=ok", "access_denied"),
            ("a b", "access_denied"), (String(repeating: "x", count: 65), "access_denied"),
        ])
    func browsersError(error: String, expected: String) async throws {
        let app = try TestApp()
        let flow = app.redirectSignIn
        let state = try state(of: try await flow.start(Self.start, browser: nil))
        var response = answer(state)
        response.error = error
        guard case .finished(let end) = try await flow.finish(response, browser: nil) else {
            throw TestFailure()
        }
        #expect(end.items.first { $0.name == "error" }?.value == expected)
        #expect(app.log.signIns.last?.metadata["outcome"] == "\(expected)")
    }

    @Test("A state of one provider is unknown to another")
    func otherProvider() async throws {
        let app = try TestApp()
        let flow = app.redirectSignIn
        let state = try state(of: try await flow.start(Self.start, browser: nil))
        await #expect {
            try await flow.finish(answer(state, provider: "other"), browser: nil)
        } throws: {
            ($0 as? SignInError)?.code == .invalidRequest
        }
    }

    @Test("A sign-in under way is stored encrypted under its state")
    func sealed() async throws {
        let app = try TestApp()
        let state = try state(of: try await app.redirectSignIn.start(Self.start, browser: nil))
        let hash = TokenHash(sha256Of: state)
        let content = try #require(
            try await app.store.takeOneTimeRecord(hash, purpose: "redirect attempt", at: app.clock.now))
        #expect(content.count > 100)
        #expect(!String(decoding: content, as: UTF8.self).contains("com.example.app"))
    }

    @Test("A record of one state cannot be decrypted with another")
    func sealedUnderItsOwn() async throws {
        let app = try TestApp()
        let flow = app.redirectSignIn
        let own = try state(of: try await flow.start(Self.start, browser: nil))
        func hash(_ state: String) -> TokenHash { TokenHash(sha256Of: state) }
        let content = try #require(
            try await app.store.takeOneTimeRecord(hash(own), purpose: "redirect attempt", at: app.clock.now))
        let other = String(repeating: "x", count: own.utf8.count)
        for state in [own, other] {
            _ = try await app.store.addOneTimeRecord(
                OneTimeRecord(
                    handle: hash(state), purpose: "redirect attempt", content: content,
                    expiresAt: app.clock.now.advanced(bySeconds: 60)), insteadOf: [])
        }
        await #expect {
            try await flow.finish(answer(other), browser: nil)
        } throws: {
            ($0 as? SignInError)?.code == .invalidRequest
        }
        guard case .finished = try await flow.finish(answer(own), browser: nil) else { throw TestFailure() }
    }

    @Test("A start with every parameter keeps all of them, and its row is short")
    func allParameters() async throws {
        let app = try TestApp()
        var start = Self.start
        start.network = MCCMNC("310410")
        start.demand.scopes = ["openid", "email", "phone"]
        start.demand.acrValues = ["a3", "a2"]
        start.demand.context = "Pay \u{20AC}10 to \u{1F600}"
        start.demand.prompt = [.login, .consent]
        start.demand.maximumAge = 300
        start.codeChallenge = Base64URL.encode(Array(repeating: 7 as UInt8, count: 32))
        start.trackingID = "track 1"
        let step = try await app.redirectSignIn.start(start, browser: nil)
        let (state, nonce) = (try state(of: step), try value("nonce", of: step))
        let hash = TokenHash(sha256Of: state)
        let content = try #require(
            try await app.store.takeOneTimeRecord(hash, purpose: "redirect attempt", at: app.clock.now))
        #expect(content.count + OneTimeRecord.overhead <= OneTimeRecordQuota.unit, "\(content.count)")
        _ = try await app.store.addOneTimeRecord(
            OneTimeRecord(
                handle: hash, purpose: "redirect attempt", content: content,
                expiresAt: app.clock.now.advanced(bySeconds: 60)), insteadOf: [])
        app.carrier.script {
            $0.nonce = nonce
            $0.claims["acr"] = "\"a2\""
            $0.claims["auth_time"] = "\(app.clock.now.secondsSinceEpoch)"
            $0.claims["context"] = "\"Pay \u{20AC}10 to \u{1F600}\""
        }
        guard
            case .finished(let end) = try await app.redirectSignIn.finish(
                approval(state), browser: nil)
        else {
            throw TestFailure()
        }
        #expect(end.location.hasPrefix("com.example.app://cb?"), "\(end.location)")
        #expect(end.location.contains("tracking_id=track%201"), "\(end.location)")
    }

    @Test("A one-time record is taken once, for its purpose, before it expires")
    func notes() async throws {
        let testStore = try TestStore()
        let store: any Store = testStore.store
        let now = Timestamp(secondsSinceEpoch: 100)
        func hash(_ byte: UInt8) throws -> TokenHash {
            try #require([UInt8](repeating: byte, count: 32).withUnsafeBytes { TokenHash($0) })
        }
        func add(_ byte: UInt8) async throws {
            _ = try await store.addOneTimeRecord(
                OneTimeRecord(handle: try hash(byte), purpose: "p", content: [1, 0, 255], expiresAt: now),
                insteadOf: [])
        }
        try await add(1)
        let before = now.advanced(bySeconds: -1)
        #expect(try await store.takeOneTimeRecord(try hash(1), purpose: "q", at: before) == nil)
        #expect(try await store.takeOneTimeRecord(try hash(1), purpose: "p", at: before) == [1, 0, 255])
        #expect(try await store.takeOneTimeRecord(try hash(1), purpose: "p", at: before) == nil)
        try await add(2)
        #expect(try await store.takeOneTimeRecord(try hash(2), purpose: "p", at: now) == nil)
        #expect(try await store.purgeExpired(at: now, limit: 10) == 1)
    }

    @Test(
        "Origins are serialised as browsers do",
        arguments: [
            ("https://a.example/x", "https://a.example"), ("https://A.example:443/x", "https://a.example"),
            ("http://127.0.0.1:80", "http://127.0.0.1"), ("https://a.example:8443?x", "https://a.example:8443"),
            ("com.example:/x", nil), ("https://u@a.example/", nil), ("https:///x", nil),
        ])
    func origins(uri: String, origin: String?) {
        #expect(AppRedirectURI.origin(of: uri) == origin)
    }
}
