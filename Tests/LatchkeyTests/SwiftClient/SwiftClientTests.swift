import CarrierSimulator
import Crypto
import Foundation
import LatchkeyClient
import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import Registration
import SignIn
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The Swift client against the real server and simulated carriers, over real sockets.
@Suite(.serialized) struct SwiftClientTests {
    @Test("An app signs its user in, shows and changes the profile, and signs out")
    func wholeLife() async throws {
        try await SignInHarness.with { harness in
            let store = MemoryTokenStore()
            let latchkey = try harness.client(tokens: store)
            let session = try await latchkey.signIn(with: try harness.sdkResponse(scope: "openid name email"))
            #expect(session.isNewUser)
            #expect(!session.correlationID.isEmpty)
            #expect(await store.load() == session.tokens)
            #expect(try await latchkey.isSignedIn())

            let user = try await latchkey.me()
            #expect(user.id > 0)
            #expect(!user.publicID.isEmpty)
            #expect(user.profile[.email]?.contains("@") == true)
            #expect(abs(user.createdAt.timeIntervalSinceNow) < 300)
            let changed = try await latchkey.update([.username: "jo", .email: nil])
            #expect(changed.profile[.username] == "jo")
            #expect(changed.profile[.email] == nil)
            #expect(changed.profile[.name] == user.profile[.name])

            try await latchkey.signOut()
            #expect(await store.load() == nil)
            #expect(try await harness.app.me(session.tokens.token).status == 401)
            #expect(try await failure { () async throws(LatchkeyError) in try await latchkey.me() }.isSignedOut)
            try await latchkey.signOut()
        }
    }

    @Test("An app whose session tokens are JWTs needs no other code")
    func accessTokens() async throws {
        let key = try #require(EncryptionKey([UInt8](repeating: 31, count: 32)))
        try await SignInHarness.with(configure: { configuration in
            configuration.publicURL = EndpointURL("https://login.example/", policy: .httpsOnly)
            configuration.encryptionKeys = [key]
            configuration.providers = []
            for index in configuration.zenkey.clients.indices {
                configuration.zenkey.clients[index].accessToken.form = .jwt
                configuration.zenkey.clients[index].accessToken.audience = ["orders"].compactMap(ClientID.init)
            }
        }) { harness in
            let network = LossyNetwork()
            let clock = PhoneClock()
            let latchkey = try harness.client(network, pace: clock.pace)
            let session = try await latchkey.signIn(with: try harness.sdkResponse(scope: "openid name email"))
            let parts = session.tokens.token.split(separator: ".").map(String.init)
            try #require(parts.count == 3)
            let claims = try JSONValue(parsing: try #require(Base64URL.decode(parts[1]))).object
            let metadata = try await harness.app.send("GET", "/.well-known/oauth-authorization-server").json
            #expect(metadata["issuer"]?.string == "https://login.example")
            #expect(claims?["iss"] == metadata["issuer"])
            let user = try await latchkey.me()
            clock.advance(by: 595)
            network.lose(1, from: "/auth/token")
            #expect(try await latchkey.me().id == user.id)
            #expect(network.sent(to: "/auth/token").count == 2)
            try await latchkey.signOut()
            #expect(try await harness.app.me(session.tokens.token).status == 401)
        }
    }

    @Test("An app with a key has tokens that are worth nothing without it, also if its clock is wrong")
    func boundTokens() async throws {
        try await SignInHarness.with(configure: { configuration in
            for index in configuration.zenkey.clients.indices {
                configuration.zenkey.clients[index].boundTokens = .optional
            }
        }) { harness in
            let store = MemoryTokenStore()
            let network = LossyNetwork()
            let clock = PhoneClock()
            var configuration = try harness.clientConfiguration()
            configuration.proofKey = P256.Signing.PrivateKey()
            let latchkey = Latchkey(configuration, tokens: store, transport: network, pace: clock.pace)
            let session = try await latchkey.signIn(with: try harness.sdkResponse())
            let user = try await latchkey.me()
            // The session token is about to expire, and the clock is an hour fast.
            clock.advance(by: 3595)
            network.lose(1, from: "/auth/token")
            #expect(try await latchkey.me().id == user.id)
            #expect(await store.load() != session.tokens)
            for key in [P256.Signing.PrivateKey(), nil] {
                var other = configuration
                other.proofKey = key
                let thief = Latchkey(other, tokens: store, transport: network, pace: clock.pace)
                let refusal = try await failure { () async throws(LatchkeyError) in try await thief.me() }
                #expect(refusal.code == .invalidKeyProof)
            }
            try await latchkey.signOut()
        }
    }

    @Test("A user lists the sessions of all devices and ends one of them or all others")
    func sessions() async throws {
        try await SignInHarness.with { harness in
            let phones = [try harness.client(), try harness.client(), try harness.client()]
            for phone in phones { _ = try await phone.signIn(with: try harness.sdkResponse()) }
            let sessions = try await phones[0].sessions()
            #expect(sessions.count == 3)
            #expect(sessions.filter(\.isCurrent).count == 1)
            #expect(sessions.allSatisfy { $0.clientID == SignInHarness.clientID && $0.expiresAt > Date() })
            let own = try #require(try await phones[1].sessions().first { $0.isCurrent })
            try await phones[0].revokeSession(own.id)
            #expect(try await failure { () async throws(LatchkeyError) in try await phones[1].me() }.isSignedOut)
            #expect(try await phones[0].revokeOtherSessions() == 1)
            #expect(try await phones[0].sessions().count == 1)
            let gone = try await failure { () async throws(LatchkeyError) in
                try await phones[0].revokeSession("unknown")
            }
            #expect(gone.status == 404)
            try await phones[0].eraseAccount()
            #expect(try await phones[0].isSignedIn() == false)
        }
    }

    @Test("After a lost sign-in response, the identical request is sent again")
    func lostSignIn() async throws {
        try await SignInHarness.with { harness in
            let network = LossyNetwork()
            let clock = PhoneClock()
            let path = "/auth/zenkey/sign-in"
            network.lose(2, from: path)
            let latchkey = try harness.client(network, pace: clock.pace)
            _ = try await latchkey.signIn(with: try harness.sdkResponse())
            #expect(harness.simulator.log.tokenPosts(SignInHarness.mccmnc) == 1)
            #expect(Set(network.sent(to: path).map(\.httpBody)).count == 1)
            #expect(network.sent(to: path).count == 3)
            #expect(clock.waited == 3)

            let next = try harness.sdkResponse()
            network.lose(100, from: path)
            let lost = try await failure { () async throws(LatchkeyError) in
                try await latchkey.signIn(with: next)
            }
            #expect(lost.code == .networkFailure)
            #expect(lost.status == nil)
            #expect(clock.waited - 3 <= 55, "later the server would take it for another")
        }
    }

    @Test("Concurrent calls with an expired token cause one refresh")
    func singleFlight() async throws {
        try await SignInHarness.with { harness in
            let network = LossyNetwork()
            let clock = PhoneClock()
            let latchkey = try harness.client(network, pace: clock.pace)
            let first = try await latchkey.signIn(with: try harness.sdkResponse())
            clock.advance(by: 3595)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<16 { group.addTask { _ = try await latchkey.me() } }
                try await group.waitForAll()
            }
            #expect(network.sent(to: "/auth/token").count == 1)
            #expect(network.sent(to: "/users/me").count == 16)
            #expect(try await latchkey.token() != first.tokens.token)
        }
    }

    @Test("A refused token is refreshed once, and the request is repeated")
    func refreshedAt401() async throws {
        try await SignInHarness.with { harness in
            let network = LossyNetwork()
            let good = try await harness.client().signIn(with: try harness.sdkResponse()).tokens
            let store = MemoryTokenStore(
                Tokens(
                    token: String(repeating: "x", count: 43), refreshToken: good.refreshToken,
                    expiresAt: good.expiresAt))
            let latchkey = try harness.client(tokens: store, network)
            _ = try await latchkey.me()
            #expect(network.sent(to: "/users/me").count == 2)
            #expect(network.sent(to: "/auth/token").count == 1)
            #expect(try await harness.app.me(try #require(await store.load()).token).status == 200)
        }
    }

    @Test("After a lost refresh response, the refresh is repeated within the grace period")
    func lostRefresh() async throws {
        try await SignInHarness.with { harness in
            let network = LossyNetwork()
            let clock = PhoneClock()
            let latchkey = try harness.client(network, pace: clock.pace)
            _ = try await latchkey.signIn(with: try harness.sdkResponse())
            clock.advance(by: 3595)
            network.lose(1, from: "/auth/token")
            _ = try await latchkey.me()
            #expect(network.sent(to: "/auth/token").count == 2)
            #expect(try await latchkey.sessions().count == 1)
        }
    }

    @Test("Two processes of an app that share a store refresh one after the other, and both stay signed in")
    func sharedStore() async throws {
        try await SignInHarness.with { harness in
            let clock = PhoneClock()
            let store = MemoryTokenStore()
            let app = try harness.client(tokens: store, pace: clock.pace)
            let widget = try harness.client(tokens: store, pace: clock.pace)
            _ = try await app.signIn(with: try harness.sdkResponse())
            clock.advance(by: 3595)
            async let first = app.me()
            async let second = widget.me()
            #expect(try await first.id == (try await second.id))
            #expect(try await app.sessions().count == 1)
        }
    }

    @Test("A session that was ended elsewhere is deleted; while the server is unreachable, it is kept")
    func endedElsewhere() async throws {
        try await SignInHarness.with { harness in
            let store = MemoryTokenStore()
            let latchkey = try harness.client(tokens: store, pace: PhoneClock().pace)
            let session = try await latchkey.signIn(with: try harness.sdkResponse())
            #expect(try await harness.app.signOut(session.tokens.token).status == 200)
            let ended = try await failure { () async throws(LatchkeyError) in try await latchkey.me() }
            #expect(ended.isSignedOut)
            #expect(ended.status == 401)
            #expect(await store.load() == nil)

            _ = try await latchkey.signIn(with: try harness.sdkResponse())
            var wrong = try harness.clientConfiguration()
            wrong = Latchkey.Configuration(baseURL: wrong.baseURL, clientID: wrong.clientID, apiKey: "wrong")
            let unkeyed = Latchkey(wrong, tokens: store)
            let refused = try await failure { () async throws(LatchkeyError) in try await unkeyed.me() }
            #expect(refused.code == .invalidAPIKey)
            #expect(refused.kind == .invalidRequest)
            #expect(refused.requestID != nil)
            #expect(await store.load() != nil)

            await harness.service.shutdown(within: .seconds(5))
            let silent = try await failure { () async throws(LatchkeyError) in try await latchkey.me() }
            #expect(silent.code == .networkFailure)
            #expect(await store.load() != nil)
            let out = try await failure { () async throws(LatchkeyError) in try await latchkey.signOut() }
            #expect(out.code == .networkFailure)
            #expect(await store.load() == nil, "who signs out is signed out on this device")
        }
    }

    @Test("An unknown user registers with the carrier's attributes")
    func registration() async throws {
        try await SignInHarness.with(configure: { $0.registration.mode = .required }) { harness in
            let latchkey = try harness.client()
            let response = try harness.sdkResponse(scope: "openid name email")
            let error = try await failure { () async throws(LatchkeyError) in
                try await latchkey.signIn(with: response)
            }
            #expect(error.code == .userNotRegistered)
            let offer = try #require(error.registration)
            let email = try #require(offer.attributes[.email])
            #expect(try #require(offer.expiresAt) > Date())
            var registration = offer.registration()
            registration.profile[.username] = "jo"
            let session = try await latchkey.register(registration)
            #expect(session.isNewUser)
            let user = try await latchkey.me()
            #expect(user.profile[.username] == "jo")
            #expect(user.profile[.email] == email)
            // The same request again would get the same session.
            registration.profile[.username] = "joe"
            let again = try await failure { () async throws(LatchkeyError) in
                try await latchkey.register(registration)
            }
            #expect(again.code == .invalidToken)
            for text in ["\(error)", String(reflecting: offer), "\(registration)"] {
                #expect(!text.contains(email))
            }
        }
    }

    @Test("The carrier's error has its code and an error type for the user")
    func refused() async throws {
        try await SignInHarness.with { harness in
            let latchkey = try harness.client()
            var response = try harness.sdkResponse()
            response.correlationID = "corr-7"
            _ = try await latchkey.signIn(with: response)
            response.state = "another request with the same code"
            let used = response
            let error = try await failure { () async throws(LatchkeyError) in try await latchkey.signIn(with: used) }
            #expect(error.code == .invalidGrant)
            #expect(error.kind == .requestDenied)
            #expect(error.status == 401)
            #expect(error.correlationID == "corr-7")
            #expect(!error.message.isEmpty)
            #expect(!error.isSignedOut, "a refused code says nothing of the session there is")
            #expect(try await latchkey.isSignedIn())
        }
    }

    private static let appURI = "com.example.app:/signed-in"

    /// Completes a sign-in in a browser and returns the URL that opens the app.
    private func callback(_ signIn: LatchkeyClient.RedirectSignIn) async throws -> URL {
        let browser = Browser()
        let asked = try await browser.get(signIn.url.absoluteString)
        return try #require(URL(string: try await browser.get(try await browser.approve(asked).location).location))
    }

    private func options() -> RedirectOptions {
        var options = RedirectOptions()
        options.mccmnc = SignInHarness.mccmnc
        options.loginHint = "+12025550123"
        return options
    }

    @Test("Every option of a start is a parameter of its URL, and one that is left out is none")
    func startOptions() throws {
        let url = try #require(URL(string: "https://login.example.com/base"))
        let latchkey = Latchkey(
            .init(baseURL: url, clientID: "client-1", apiKey: "key"), tokens: MemoryTokenStore())
        let always: [String: String] = [
            "client_type": "ios", "client_id": "client-1", "redirect_uri": Self.appURI, "code_challenge_method": "S256",
        ]
        let rows: [(String, String?, (inout RedirectOptions) -> Void)] = [
            ("nothing", nil, { _ in }), ("mccmnc", "310410", { $0.mccmnc = "310410" }),
            ("scope", "openid email", { $0.scopes = ["openid", "email"] }),
            ("acr_values", "a3 a2", { $0.acrValues = ["a3", "a2"] }),
            ("context", "Pay €10", { $0.context = "Pay €10" }),
            ("prompt", "login", { $0.prompt = "login" }), ("max_age", "0", { $0.maxAge = 0 }),
            ("login_hint", "+12025550123", { $0.loginHint = "+12025550123" }),
            ("correlation_id", "c-1", { $0.correlationID = "c-1" }),
            ("client_type", "android", { $0.clientType = .android }),
        ]
        for (name, value, set) in rows {
            var options = RedirectOptions()
            set(&options)
            let started = latchkey.startRedirect(to: Self.appURI, options)
            #expect(started.url.path == "/base/auth/zenkey/start")
            let items = URLComponents(url: started.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
            var found = Dictionary(items.map { ($0.name, $0.value ?? "") }) { $0 + $1 }
            #expect(found.removeValue(forKey: "code_challenge")?.utf8.count == 43)
            var expected = always
            if let value { expected[name] = value }
            #expect(found == expected, "\(name)")
        }
    }

    @Test("A browser signs the user in only for the app that started the sign-in")
    func redirects() async throws {
        try await SignInHarness.with(configure: { $0.zenkey.clients[0].redirectURIs.append(Self.appURI) }) { harness in
            let latchkey = try harness.client()
            let started = latchkey.startRedirect(to: Self.appURI, options())
            #expect(started.callbackScheme == "com.example.app")
            let kept = try JSONDecoder().decode(
                LatchkeyClient.RedirectSignIn.self, from: try JSONEncoder().encode(started))
            #expect(kept == started)
            let session = try await latchkey.finish(kept, callback: try await callback(started))
            #expect(session.isNewUser)
            #expect(try await latchkey.me().id > 0)

            let others = latchkey.startRedirect(to: Self.appURI, options())
            let url = try await callback(others)
            let injected = try await failure { () async throws(LatchkeyError) in
                try await latchkey.finish(started, callback: url)
            }
            #expect(injected.code == .invalidGrant)
            for text in [
                "https://app.example/?status=failure&error=x", Self.appURI, Self.appURI + "/more?status=success",
                Self.appURI + "?x=1",
            ] {
                let foreign = try #require(URL(string: text))
                let error = try await failure { () async throws(LatchkeyError) in
                    try await latchkey.finish(started, callback: foreign)
                }
                #expect(error.code == .foreignCallback, "\(text)")
            }

            harness.simulator.setFaults([.authorizationDenied], for: SignInHarness.mccmnc)
            let denied = latchkey.startRedirect(to: Self.appURI, options())
            let back = try await callback(denied)
            let error = try await failure { () async throws(LatchkeyError) in
                try await latchkey.finish(denied, callback: back)
            }
            #expect(error.code == .accessDenied)
            #expect(error.kind == .requestDenied)
            #expect(error.message.contains(" "), "a message in words")
        }
    }

    @Test("A browser's sign-in of an unknown user leads to a registration")
    func redirectToRegistration() async throws {
        try await SignInHarness.with(configure: { configuration in
            configuration.registration.mode = .required
            configuration.zenkey.clients[0].redirectURIs.append(Self.appURI)
        }) { harness in
            let latchkey = try harness.client()
            var options = options()
            options.scopes = ["openid", "email"]
            let started = latchkey.startRedirect(to: Self.appURI, options)
            let url = try await callback(started)
            let error = try await failure { () async throws(LatchkeyError) in
                try await latchkey.finish(started, callback: url)
            }
            #expect(error.code == .userNotRegistered)
            var registration = try #require(error.registration).registration()
            #expect(registration.profile[.email]?.contains("@") == true)
            registration.profile[.name] = "Jo"
            #expect(try await latchkey.register(registration).isNewUser)
        }
    }

    @Test("A user is asked on the phone, and the app waits for the decision")
    func phone() async throws {
        try await BackchannelHarness.with { harness in
            let clock = PhoneClock()
            let latchkey = try harness.base.client(pace: clock.pace)
            func ask() async throws -> PhoneSignIn {
                try await latchkey.askOnPhone(
                    "+12025550123", mccmnc: SignInHarness.mccmnc, redirectURI: SignInHarness.redirectURI)
            }
            let approved = try await ask()
            #expect(approved.expiresAt > Date())
            #expect(try await latchkey.poll(approved) == nil)
            #expect(try await harness.answerLatest(.approved) == [204])
            // A second poll within a second is refused; the client waits and continues.
            let patient = try harness.base.client()
            #expect(try await patient.waitForApproval(approved).isNewUser)
            #expect(try await patient.me().id > 0)

            let denied = try await ask()
            #expect(try await harness.answerLatest(.failed("access_denied")) == [204])
            let error = try await failure { () async throws(LatchkeyError) in
                try await latchkey.waitForApproval(denied)
            }
            #expect(error.code == .accessDenied)

            let cancelled = try await latchkey.askAgain(try await ask())
            try await latchkey.cancel(cancelled)
            let gone = try await failure { () async throws(LatchkeyError) in try await latchkey.poll(cancelled) }
            #expect(gone.status == 400)
        }
    }

    @Test("The client accepts the published API's status too")
    func phoneFound() async throws {
        // As Apple's URLSession returns it; Linux's drops the body of such a status.
        struct Found: Transport {
            func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
                let (data, response) = try await URLSessionTransport().send(request)
                guard request.httpMethod == "GET", let url = request.url,
                    let found = HTTPURLResponse(url: url, statusCode: 302, httpVersion: nil, headerFields: nil)
                else { return (data, response) }
                return (data, found)
            }
        }
        try await BackchannelHarness.with { harness in
            let latchkey = try harness.base.client(Found())
            let signIn = try await latchkey.askOnPhone(
                "+12025550123", mccmnc: SignInHarness.mccmnc, redirectURI: SignInHarness.redirectURI)
            #expect(try await harness.answerLatest(.approved) == [204])
            #expect(try await latchkey.poll(signIn) != nil)
        }
    }

    @Test("Printed, dumped and reflected values show no secrets")
    func redacted() async throws {
        let secret = "SECRET-of-this-test"
        var response = AuthorizedResponse(
            code: secret, mccmnc: "310010", redirectURI: "app:/x", codeVerifier: secret, nonce: secret)
        response.context = "Pay"
        let tokens = Tokens(token: secret, refreshToken: secret, expiresAt: Date())
        let url = try #require(URL(string: "https://login.example/base/"))
        let configuration = Latchkey.Configuration(baseURL: url, clientID: "c", apiKey: secret)
        let profile = Profile([.email: secret])
        let phone = try JSONDecoder().decode(
            PhoneSignIn.self, from: Data(#"{"handle":"\#(secret)","expiresAt":0}"#.utf8))
        for value in [response, tokens, configuration, profile, phone] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            #expect(!(dumped + "\(value)" + String(reflecting: value)).contains(secret), "\(type(of: value))")
        }
        #expect(try JSONDecoder().decode(Tokens.self, from: try JSONEncoder().encode(tokens)) == tokens)
        let started = Latchkey(configuration).startRedirect(to: "app:/x")
        #expect(started.url.absoluteString.hasPrefix("https://login.example/base/auth/zenkey/start?client_type=ios&"))
        let shown = "\(started)" + String(reflecting: started)
        let verifier = String(decoding: try JSONEncoder().encode(started), as: UTF8.self)
            .components(separatedBy: "\"hidden\":\"").last?.prefix(43)
        #expect(!shown.contains(try #require(verifier)))
    }
}

/// The origins that the client's requests reach.
@Suite(.serialized) struct SwiftClientOriginTests {
    private static func peer(_ answer: String) throws -> RawHTTPPeer {
        try RawHTTPPeer { connection in
            while connection.readRequest() != nil { connection.send(answer) }
        }
    }

    private static let empty = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

    private func latchkey(_ port: UInt16, trusting others: [UInt16] = []) throws -> Latchkey {
        var configuration = Latchkey.Configuration(
            baseURL: try #require(URL(string: "http://127.0.0.1:\(port)")), clientID: "c", apiKey: "the-key")
        configuration.trustedOrigins = others.compactMap { URL(string: "http://127.0.0.1:\($0)/api") }
        let tokens = Tokens(token: "the-token", refreshToken: "r", expiresAt: Date().addingTimeInterval(3600))
        return Latchkey(configuration, tokens: MemoryTokenStore(tokens))
    }

    @Test("The client follows no redirect: a code goes only to the configured server")
    func redirects() async throws {
        let other = try Self.peer(Self.empty)
        defer { other.stop() }
        let location = "Location: http://127.0.0.1:\(other.port)/taken\r\n"
        let server = try Self.peer("HTTP/1.1 307 Temporary Redirect\r\n\(location)Content-Length: 0\r\n\r\n")
        defer { server.stop() }
        let latchkey = try latchkey(server.port)
        let response = AuthorizedResponse(code: "c", mccmnc: "310010", redirectURI: "app:/x", codeVerifier: nil)
        let error = try await failure { () async throws(LatchkeyError) in try await latchkey.signIn(with: response) }
        #expect(error.code == .malformedResponse)
        #expect(error.status == 307)
        #expect(server.requests.count == 1)
        #expect(other.requests.isEmpty)
    }

    @Test("The session is sent only to Latchkey and to trusted origins, the API key only to Latchkey")
    func origins() async throws {
        let (server, service, stranger) = (
            try Self.peer(Self.empty), try Self.peer(Self.empty), try Self.peer(Self.empty)
        )
        defer { for peer in [server, service, stranger] { peer.stop() } }
        let latchkey = try latchkey(server.port, trusting: [service.port])
        func get(_ url: String) async throws -> Int {
            try await latchkey.data(for: URLRequest(url: try #require(URL(string: url)))).1.statusCode
        }
        #expect(try await get("http://127.0.0.1:\(server.port)/anything") == 200)
        #expect(server.requests.first?.fields["authorization"] == "Bearer the-token")
        #expect(server.requests.first?.fields["x-api-key"] == "the-key")
        #expect(try await get("http://127.0.0.1:\(service.port)/orders") == 200)
        #expect(service.requests.first?.fields["authorization"] == "Bearer the-token")
        #expect(service.requests.first?.fields["x-api-key"] == nil)
        for url in [
            "http://127.0.0.1:\(stranger.port)/", "http://127.0.0.1:\(server.port)@127.0.0.1:\(stranger.port)/",
            "https://127.0.0.1:\(server.port)/", "http://localhost:\(server.port)/", "/users/me",
        ] {
            let request = URLRequest(url: try #require(URL(string: url)))
            let error = try await failure { () async throws(LatchkeyError) in try await latchkey.data(for: request) }
            #expect(error.code == .untrustedOrigin, "\(url)")
        }
        #expect(stranger.requests.isEmpty)
        #expect(server.requests.count == 1)
    }
}
