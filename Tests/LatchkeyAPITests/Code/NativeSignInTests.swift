import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

@testable import NativeSignIn

/// Sign-ins with ID tokens that apps get from the device, as they are meant.
@Suite("A native sign-in")
struct NativeSignInTests {
    @Test("is of the same user as the provider's other ways, and sends the provider nothing")
    func sameUser() async throws {
        let native = try NativeApp()
        let answer = try await native.signIn()
        #expect(answer.status == 200, "\(answer.body)")
        #expect(answer.json?["new_user"] == true)
        #expect(native.app.carrier.tokenPosts == 0 && native.app.carrier.userInfoRequests == 0)
        let other = try await native.app.post("/auth/bank/sign-in", SignInBody().with("mccmnc", nil).json)
        #expect(other.json?["new_user"] == false, "\(other.body)")
        let users = [answer, other].compactMap { $0.text("token") }
        let first = try await native.app.me(try #require(users.first)).integer("user_id")
        #expect(first != nil && users.count == 2)
        #expect(try await native.app.me(try #require(users.last)).integer("user_id") == first)
    }

    static let acceptedRows: [(what: String, claims: [String: String?])] = [
        ("another of the audiences", ["aud": "\"\(NativeApp.bundleID)\""]),
        ("the audience as a list", ["aud": "[\"\(NativeApp.bundleID)\"]"]),
        ("the app's own client id as azp", ["azp": "\"app-7.example\""]),
        ("c_hash, at_hash and nonce_supported", ["c_hash": "\"x\"", "at_hash": "\"x\"", "nonce_supported": "true"]),
        ("no auth_time and no acr", ["acr": nil]),
        ("many groups", ["groups": "[\(repeatElement("\"0123456789\"", count: 1_700).joined(separator: ","))]"]),
    ]

    @Test("takes what devices and SDKs give", arguments: acceptedRows.map(\.what))
    func accepted(what: String) async throws {
        let claims = try #require(Self.acceptedRows.first { $0.what == what }).claims
        let answer = try await NativeApp().signIn(claims)
        #expect(answer.status == 200, "\(answer.body)")
    }

    @Test("takes tokens with the other audiences that the client trusts", arguments: ["client-1", NativeApp.bundleID])
    func trustedAudiences(audience: String) async throws {
        let native = try NativeApp(client: { $0.trustedAudiences = ["api"].compactMap(ClientID.init) })
        let claims: [String: String?] = ["aud": "[\"\(audience)\",\"api\"]", "azp": "\"\(audience)\""]
        let answer = try await native.signIn(claims)
        #expect(answer.status == 200, "\(answer.body)")
        let other = try await native.signIn(["aud": "[\"\(audience)\",\"other\"]", "azp": "\"\(audience)\""])
        #expect(other.description.contains("(audience)"), "\(other.body)")
    }

    @Test(
        "of a page of this server needs no API key, and puts the session in cookies",
        arguments: [("https://login.example", 200), ("https://evil.example", 403), (nil, 403)] as [(String?, Int)])
    func page(origin: String?, status: Int) async throws {
        let native = try NativeApp()
        var headers: HTTPFields = [.contentType: "application/json"]
        headers[.origin] = origin
        func post(_ call: String, _ members: String) async throws -> Answer {
            try await native.app.send(
                .post, "/auth/bank/\(call)", headers, body: #"{"client_type":"web"\#(members)}"#, apiKey: nil)
        }
        let issued = try await post("attempts", "")
        #expect(issued.status == status, "\(issued.body)")
        let known = try await native.issuedNonce()
        let nonce = issued.text("nonce") ?? known
        let answer = try await post(
            "native", #","id_token":"\#(native.idToken(nonce: nonce))","nonce":"\#(nonce)""#)
        #expect(answer.status == status, "\(answer.body)")
        #expect(answer.headers[values: .setCookie].count == (status == 200 ? 2 : 0))
        #expect(answer.text("token") == nil && answer.text("refresh_token") == nil)
    }

    @Test("has the nonce in the token, or its SHA-256 in hexadecimal digits")
    func hashedNonce() async throws {
        let native = try NativeApp()
        let nonce = try await native.issuedNonce()
        let token = native.idToken(nonce: NativeApp.sha256(nonce))
        #expect(try await native.signIn(token, nonce: nonce).status == 200)
    }

    @Test("has rules of its own for the nonce and the code verifier, whatever those of codes are")
    func rulesOfCodes() async throws {
        for nonce in SignInConfiguration.Client.Nonce.allCases {
            #expect(try await NativeApp(client: { $0.nonce = nonce }).signIn().status == 200)
            let without = try NativeApp(nonce: .none, client: { $0.nonce = nonce })
            #expect(try await without.signIn(without.idToken(nonce: nil), nonce: nil).status == 200)
        }
        let bare = try NativeApp(rules: {
            $0.pkce = .off
            $0.nonce = .off
        })
        #expect(try await bare.signIn().status == 200)
    }

    typealias NonceRule = SignInConfiguration.NativeSignInRules.Nonce

    static let nonceRows: [(rule: NonceRule, sent: String?, inToken: String?, status: Int)] = [
        (.client, "n-1", "n-1", 200), (.client, nil, "n-1", 400), (.client, nil, nil, 400),
        (.client, "n-1", nil, 401), (.client, "n-1", "n-2", 401), (.none, nil, nil, 200), (.none, nil, "n-1", 401),
        (.none, "n-1", "n-1", 200), (.none, "n-1", nil, 401), (.none, "n-1", "n-2", 401), (.issued, nil, nil, 400),
        (.issued, nil, "n-1", 400), (.issued, "n-1", "n-1", 400),
    ]

    @Test("has a nonce as native_nonce says", arguments: nonceRows)
    func nonce(rule: NonceRule, sent: String?, inToken: String?, status: Int) async throws {
        let native = try NativeApp(nonce: rule)
        let answer = try await native.signIn(native.idToken(nonce: inToken), nonce: sent)
        #expect(answer.status == status, "\(answer.body)")
        if status == 400 { #expect(answer.description.hasPrefix("nonce ")) }
        if status == 401 { #expect(answer.description.contains("(nonce)")) }
    }

    @Test("keeps attributes of the token, and the name that came beside it")
    func attributes() async throws {
        let native = try NativeApp(client: { $0.scopes = ["openid", "name", "email"] })
        let user = #"{"name":{"firstName":"Jane","lastName":"Doe"},"email":"evil@mail.example"}"#
        let email: [String: String?] = ["email": "\"jane@mail.example\"", "email_verified": "\"true\""]
        for (more, name) in [
            ([("user", user)], "Jane Doe"), ([], "Jane Doe"), ([("user", "7")], "Jane Doe"),
        ] as [([(String, String)], String)] {
            let answer = try await native.signIn(email, more)
            let me = try await native.app.me(try #require(answer.text("token"), "\(answer.body)"))
            #expect(me.text("email") == "jane@mail.example" && me.json?["email_verified"] == true)
            #expect(me.text("name") == name)
        }
    }

    @Test("of an unknown user offers a registration where there must be one, and the token is used")
    func registration() async throws {
        let native = try NativeApp(nonce: .client, registration: TestRegistration(isRequired: true))
        let token = native.idToken(nonce: "n-1")
        let answer = try await native.signIn(token, nonce: "n-1")
        #expect(answer.status == 403 && answer.error == "user_not_registered", "\(answer.body)")
        let handle = try #require(answer.text("state_key"))
        #expect(try await native.app.post("/users", "{\"state_key\":\"\(handle)\"}").status == 201)
        #expect(try await native.signIn(token, nonce: "n-1").status == 401)
        #expect(try await native.instance(nonce: .client).signIn(token, nonce: "n-1").error == "invalid_grant")
    }

    @Test("can be sent again if the provider's keys could not be fetched: nothing is spent then")
    func keysAway() async throws {
        let native = try NativeApp()
        let nonce = try await native.issuedNonce()
        let token = native.idToken(nonce: nonce)
        native.app.carrier.script { $0.keys = { _ throws(OutboundError) in .json("{}", status: 503) } }
        let answer = try await native.signIn(token, nonce: nonce)
        #expect(answer.status == 502 && answer.description.contains("again in a moment"), "\(answer.body)")
        native.app.carrier.script { $0.keys = nil }
        native.app.clock.advance(bySeconds: 61)
        #expect(try await native.signIn(token, nonce: nonce).status == 200)
    }

    @Test("can be sent again if the store failed, which spends nothing", arguments: NonceRule.allCases)
    func storeAway(rule: NonceRule) async throws {
        let native = try NativeApp(nonce: rule)
        let nonce = rule == .issued ? try await native.issuedNonce() : NativeApp.nonce
        let token = native.idToken(nonce: nonce)
        native.app.storeScript.fail(.signIn, with: StorageError(.unavailable, reason: "scripted"))
        let answer = try await native.signIn(token, nonce: nonce)
        #expect(answer.status == 503, "\(answer.body)")
        native.app.storeScript.fail(.signIn, with: nil)
        #expect(try await native.signIn(token, nonce: nonce).status == 200)
    }

    @Test("needs the client id only where several clients have native sign-ins")
    func clients() async throws {
        let native = try NativeApp()
        let nonce = try await native.issuedNonce()
        let token = native.idToken(nonce: nonce)
        let more = [("client_id", "\"client-1\"")]
        #expect(try await native.signIn(token, nonce: nonce, more).status == 200)
        let server = AuthorizationServer(
            try #require(native.app.useCases.providers["bank"]?.server).relyingParty,
            clients: ["a", "b"].compactMap(ClientID.init).map { id in
                altered(SignInConfiguration.Client(id: id, secret: Secret("s"))) { $0.native.audiences = [id] }
            })
        #expect(throws: SignInError.nativeClientNotNamed) { try server.nativeClient(nil) }
        #expect(try server.nativeClient(ClientID("b")).id.text == "b")
    }

    static let codeRows: [(uri: SignInConfiguration.Client.SDKRedirectURI?, sent: [String]?)] = [
        (nil, nil), (SignInConfiguration.Client.SDKRedirectURI.none, nil), (.empty, [""]),
        (.postmessage, ["postmessage"]),
    ]

    @Test("redeems the code beside the token for tokens that are revoked with the account", arguments: codeRows)
    func code(uri: SignInConfiguration.Client.SDKRedirectURI?, sent: [String]?) async throws {
        let native = try NativeApp.redeeming { $0.sdkRedirectURI = uri }
        native.answerCode(native.idToken(nonce: "n-of-the-device"))
        let answer = try await native.signIn([:], [("authorization_code", "\"CODE-7\"")])
        let token = try #require(answer.text("token"), "\(answer.body)")
        let posts = native.app.carrier.http.requests(to: FakeCarrier.tokenURL).map { SentForm($0).form }
        try #require(posts.count == 1)
        #expect(posts[0]["code"] == ["CODE-7"] && posts[0]["redirect_uri"] == sent && posts[0]["code_verifier"] == nil)
        #expect(try await native.app.asUser(.delete, "/users/me", token).status == 200)
        #expect(native.revocations == ["token=REFRESH&token_type_hint=refresh_token"])
    }

    @Test("ignores the code unless the client says otherwise")
    func codeIgnored() async throws {
        let native = try NativeApp.redeeming { $0.native.code = .ignore }
        #expect(try await native.signIn([:], [("authorization_code", "\"CODE-7\"")]).status == 200)
        #expect(native.app.carrier.tokenPosts == 0)
    }
}

extension NativeApp {
    /// A client that redeems codes and stores the tokens.
    static func redeeming(_ change: (inout SignInConfiguration.Client) -> Void = { _ in }) throws -> NativeApp {
        let key = try #require(EncryptionKey([UInt8](repeating: 7, count: 32)))
        let native = try NativeApp(
            vaultKeys: [key], rules: { $0.storesTokens = true },
            client: {
                $0.native.code = .redeem
                change(&$0)
            })
        native.app.carrier.script {
            $0.configuration = { _ throws(OutboundError) in .json(FakeCarrier.metadataWithRevocation) }
        }
        return native
    }

    /// The provider gives tokens for the code, with this ID token.
    func answerCode(_ idToken: String) {
        app.carrier.script {
            $0.token = { _ throws(OutboundError) in
                .json(
                    #"{"access_token":"ACCESS","token_type":"Bearer","refresh_token":"REFRESH","#
                        + #""id_token":"\#(idToken)"}"#)
            }
        }
    }

    /// The forms of the provider's revocations.
    var revocations: [String] {
        app.carrier.http.requests(to: FakeCarrier.revocationURL).map { String(decoding: $0.body, as: UTF8.self) }
    }
}
