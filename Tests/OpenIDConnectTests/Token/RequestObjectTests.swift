import Crypto
import CryptoExtras
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// Authorization requests that the client signs (RFC 9101).
@Suite("Request objects")
struct RequestObjectTests {
    private static let required = "require_signed_request_object"
    private static let algorithms = "request_object_signing_alg_values_supported"
    private static let privateKey = P256.Signing.PrivateKey()

    private static func key() throws -> ClientKey {
        try ClientKey(parsing: Secret(privateKey.pemRepresentation)).named("k-1")
    }

    /// What a sign-in sends to a carrier, and where it sends the browser.
    private struct Stage {
        let carrier: FakeCarrier
        let relyingParty: RelyingParty
        let subjects: SignInSubjects

        init(
            _ metadata: JSONDraft = FakeCarrier.metadata.with(RequestObjectTests.required, "true"),
            _ change: (inout RelyingParty.Configuration) -> Void = { _ in }
        ) throws {
            carrier = FakeCarrier { $0.discovery = .json(metadata.text, cacheControl: "max-age=86400") }
            relyingParty = try carrier.relyingParty(change)
            subjects = try SignInSubjects()
        }

        func destination(
            signedWith key: ClientKey?, repeatsRedirectURI: Bool = false
        ) async throws -> Result<AuthorizationDestination, OIDCError> {
            let provider = try await relyingParty.provider(subjects)
            var request = AuthorizationRequest(
                clientID: subjects.clientID, redirectURI: "https://rp.example/cb?x=1&y",
                demand: AuthenticationDemand(scopes: ["openid", "email"]),
                state: Secret("state-1"), nonce: Secret("nonce-1"), codeChallenge: "challenge-1",
                correlationID: subjects.correlationID)
            request.loginHintToken = "hint-token"
            request.demand.loginHint = "jane@example.org"
            request.demand.acrValues = ["a3", "a1"]
            request.demand.context = "Pay 10 €"
            request.demand.prompt = [.login]
            request.demand.maximumAge = 300
            request.responseMode = .formPost
            request.repeatsRedirectURI = repeatsRedirectURI
            let client = ClientCredentials(clientID: subjects.clientID, authentication: .clientSecretBasic(Secret("s")))
            do throws(OIDCError) {
                return .success(
                    try await relyingParty.destination(
                        of: request, client: client, signedWith: key, provider: provider,
                        correlationID: subjects.correlationID))
            } catch {
                return .failure(error)
            }
        }

        /// The browser's parameters.
        func query(_ key: ClientKey? = nil) async throws -> [(name: String, value: String)] {
            let url = try await destination(signedWith: try key ?? RequestObjectTests.key()).get().url.text
            return url.split(separator: "?")[1].split(separator: "&").map { item in
                let pair = item.split(separator: "=", maxSplits: 1)
                return (String(pair[0]), PercentEncoding.decodeForm(pair[1].utf8) ?? "")
            }
        }

        func object(_ key: ClientKey? = nil) async throws -> RequestObjectParts {
            try RequestObjectParts(try #require(try await query(key).last).value)
        }
    }

    private struct RequestObjectParts {
        let header: JSONObject
        let claims: JSONObject
        let signed: [UInt8]
        let signature: [UInt8]

        init(_ text: String) throws {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            try #require(parts.count == 3)
            let bytes = parts.compactMap { Base64URL.decode($0) }
            try #require(bytes.count == 3)
            header = try #require(JSONValue(parsing: bytes[0]).object)
            claims = try #require(JSONValue(parsing: bytes[1]).object)
            signature = bytes[2]
            signed = Array("\(parts[0]).\(parts[1])".utf8)
        }
    }

    @Test(
        "Requests are signed if the metadata requires it and the setting does not forbid it, or the setting demands it",
        arguments: [
            (.auto, "true", true), (.auto, "false", false), (.auto, nil, false), (.auto, "\"true\"", false),
            (.always, nil, true), (.always, "false", true), (.never, nil, false), (.never, "true", false),
        ] as [(ExtensionUse, String?, Bool)])
    func setting(_ setting: ExtensionUse, _ json: String?, _ isSigned: Bool) async throws {
        let stage = try Stage(FakeCarrier.metadata.with(Self.required, json)) {
            $0.extensions.signedRequestObjects = setting
        }
        let names = try await stage.query().map(\.name)
        #expect(names.contains("request") == isSigned)
        #expect(names.contains("state") == !isSigned)
    }

    @Test("At a mobile operator the redirect URI is beside the request object, too")
    func redirectURI() async throws {
        let stage = try Stage()
        let url = try await stage.destination(signedWith: Self.key(), repeatsRedirectURI: true).get().url.text
        let names = url.split(separator: "?")[1].split(separator: "&").map { $0.prefix { $0 != "=" } }
        #expect(names == ["client_id", "response_type", "redirect_uri", "scope", "request"])
        #expect(url.contains("&redirect_uri=https%3A%2F%2Frp.example%2Fcb%3Fx%3D1%26y&"))
    }

    @Test("Beside the request object a browser brings client_id, response_type and scope only, for five minutes")
    func browser() async throws {
        let stage = try Stage()
        let query = try await stage.query()
        #expect(query.map(\.name) == ["client_id", "response_type", "scope", "request"])
        #expect(query.prefix(3).map(\.value) == ["client-1", "code", "openid email"])
        #expect(try await stage.destination(signedWith: Self.key()).get().expiresIn == 300)
    }

    @Test("The object has every parameter, is from the client, for the issuer, for five minutes, and has no sub")
    func claims() async throws {
        let stage = try Stage()
        let object = try await stage.object()
        #expect(object.header.members.map(\.name) == ["alg", "typ", "kid"])
        #expect(object.header["typ"]?.string == "oauth-authz-req+jwt")
        #expect(object.header["alg"]?.string == "ES256")
        #expect(object.header["kid"]?.string == "k-1")
        let texts = [
            "iss": "client-1", "aud": TokenDraft.issuer, "client_id": "client-1",
            "redirect_uri": "https://rp.example/cb?x=1&y", "response_type": "code", "scope": "openid email",
            "state": "state-1", "nonce": "nonce-1", "code_challenge": "challenge-1", "code_challenge_method": "S256",
            "correlation_id": "corr-1", "login_hint_token": "hint-token", "login_hint": "jane@example.org",
            "acr_values": "a3 a1", "context": "Pay 10 €", "prompt": "login", "response_mode": "form_post",
        ]
        for (name, value) in texts { #expect(object.claims[name]?.string == value, "\(name)") }
        let numbers = [
            "iat": TokenDraft.now, "nbf": TokenDraft.now, "exp": TokenDraft.now + 300, "max_age": 300,
        ]
        for (name, value) in numbers { #expect(object.claims[name]?.integer == value, "\(name)") }
        #expect(object.claims["jti"]?.string.flatMap(Base64URL.decode)?.count == 16)
        #expect(Set(object.claims.members.map(\.name)) == Set(texts.keys).union(numbers.keys).union(["jti"]))
        let proof = try P256.Signing.ECDSASignature(rawRepresentation: object.signature)
        #expect(Self.privateKey.publicKey.isValidSignature(proof, for: object.signed))
        #expect(try await stage.object().claims["jti"] != object.claims["jti"], "each request has its own id")
    }

    @Test("An RSA key signs RS256")
    func rsa() async throws {
        guard case .rsa(let key) = TestKey.rsa1.pair else {
            Issue.record("the test key is not an RSA key")
            return
        }
        let object = try await Stage().object(try ClientKey(parsing: Secret(key.pemRepresentation)))
        #expect(object.header["alg"]?.string == "RS256")
        #expect(
            key.publicKey.isValidSignature(
                .init(rawRepresentation: object.signature), for: SHA256.hash(data: object.signed),
                padding: .insecurePKCS1v1_5))
    }

    @Test("A pushed request has client_id, the request object and the client's authentication, and nothing else")
    func pushed() async throws {
        let metadata = FakeCarrier.metadata.with(Self.required, "true")
            .with("pushed_authorization_request_endpoint", "\"\(FakeCarrier.pushURL)\"")
            .with("require_pushed_authorization_requests", "true")
        let stage = try Stage(metadata)
        let destination = try await stage.destination(signedWith: Self.key()).get()
        #expect(!destination.url.text.contains("request="))
        #expect(destination.url.text.contains("request_uri="))
        let form = SentForm(try #require(stage.carrier.http.requests(to: FakeCarrier.pushURL).last)).form
        #expect(Set(form.keys) == ["client_id", "request"])
        let object = try RequestObjectParts(try #require(form["request"]?.first))
        #expect(object.claims["state"]?.string == "state-1")
    }

    @Test(
        "Without a key, or with one whose algorithm the provider does not list, nobody is sent anywhere",
        arguments: [
            (nil, true, nil), (nil, false, "no private key"), ("[\"ES256\"]", true, nil),
            ("[\"none\",\"PS256\",\"ES256\"]", true, nil), ("[\"RS256\",\"none\"]", true, "does not list ES256"),
            ("[]", true, "does not list ES256"), ("7", true, nil),
        ] as [(String?, Bool, String?)])
    func impossible(_ algorithms: String?, _ hasKey: Bool, _ reason: String?) async throws {
        let stage = try Stage(FakeCarrier.metadata.with(Self.required, "true").with(Self.algorithms, algorithms))
        switch try await stage.destination(signedWith: hasKey ? Self.key() : nil) {
        case .success: #expect(reason == nil)
        case .failure(let error):
            #expect(error.code == .clientRefused)
            #expect(reason.map(error.reason.contains) == true, "\(error.reason)")
        }
    }
}
