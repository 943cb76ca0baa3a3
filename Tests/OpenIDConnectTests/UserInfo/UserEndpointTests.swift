import Crypto
import Foundation
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// Providers without ID tokens: their user endpoint, and the client's authentication.
struct UserEndpointTests {
    private static let issuer = "https://meetings.example"
    private static let userURL = TokenDraft.issuer + "/userinfo"

    private func relyingParty(
        _ carrier: FakeCarrier, subject: String = "id", attributes: [UserAttribute: String] = [:]
    ) throws -> RelyingParty {
        func url(_ text: String) throws -> EndpointURL { try #require(EndpointURL(text, policy: .httpsOnly)) }
        let user = UserEndpoint(url: try url(Self.userURL), subject: try #require(UserEndpoint.Member(subject)))
        var configuration = RelyingParty.Configuration(
            issuer: try url(Self.issuer), authorizationEndpoint: try url(TokenDraft.issuer + "/authorize"),
            tokenEndpoint: try url(FakeCarrier.tokenURL), userEndpoint: user)
        configuration.userMembers.attributes = attributes.compactMapValues(UserEndpoint.Member.init)
        return RelyingParty(configuration: configuration, http: carrier.http, clock: carrier.clock.wallClock)
    }

    private func user(
        _ response: OutboundResponse, subject: String = "id", attributes: [UserAttribute: String] = [:]
    ) async throws -> Result<ProviderUser, OIDCError> {
        let carrier = FakeCarrier { $0.userInfo = response }
        let relyingParty = try relyingParty(carrier, subject: subject, attributes: attributes)
        let subjects = try SignInSubjects()
        let provider = try await relyingParty.provider(subjects)
        #expect(carrier.http.requests.isEmpty, "there is nothing to discover")
        do throws(OIDCError) {
            let user = try await relyingParty.user(accessToken: Secret("access-1"), provider: provider)
            let request = carrier.http.requests.first
            #expect(request?.url.text == Self.userURL)
            #expect(request?.headers.first { $0.name == "Authorization" }?.value == "Bearer access-1")
            return .success(user)
        } catch {
            return .failure(error)
        }
    }

    @Test(
        "A response may leave token_type out, which is Bearer then, and may not name another one",
        arguments: [
            (nil, true), ("\"Bearer\"", true), ("\"bearer\"", true), ("null", true), ("\"\"", true),
            ("\"mac\"", false), ("\"DPoP\"", false), ("7", false),
        ] as [(String?, Bool)])
    func tokenType(_ type: String?, isAccepted: Bool) async throws {
        let carrier = FakeCarrier { $0.token = .json(FakeCarrier.tokens.with("token_type", type).text) }
        let relyingParty = try relyingParty(carrier)
        let subjects = try SignInSubjects()
        let provider = try await relyingParty.provider(subjects)
        let client = ClientCredentials(clientID: subjects.clientID, authentication: .publicClient)
        let exchanged = await failure { () async throws(OIDCError) in
            try await relyingParty.exchange(
                code: Secret("c"), redirectURI: "a:/b", codeVerifier: nil, client: client, provider: provider,
                correlationID: subjects.correlationID)
        }
        let refreshed = await failure { () async throws(OIDCError) in
            try await relyingParty.refresh(
                Secret("r"), client: client, of: OriginalIDToken(issuer: Self.issuer, subject: "u-1", claims: nil),
                provider: provider, correlationID: subjects.correlationID)
        }
        for error in [exchanged, refreshed] { #expect(error?.code == (isAccepted ? nil : .unusableResponse)) }
        // A carrier must name it; another OpenID provider need not.
        let openID = try carrier.relyingParty(ofIssuer: TokenDraft.issuer)
        for (party, mayLackIt) in [(try carrier.relyingParty(), false), (openID, true)] {
            let refused = await failure { () async throws(OIDCError) in
                try await party.exchange(
                    code: Secret("c"), redirectURI: "a:/b", codeVerifier: nil,
                    client: ClientCredentials(
                        clientID: subjects.clientID, authentication: .clientSecretBasic(Secret("s"))),
                    provider: try await party.provider(subjects), correlationID: subjects.correlationID)
            }
            let isNamed = type.map { !["null", "\"\""].contains($0) } ?? false
            #expect((refused == nil) == (isAccepted && (mayLackIt || isNamed)))
        }
    }

    @Test(
        "The subject is a text or a whole number, under the configured issuer",
        arguments: [
            (#"{"id":"u-1"}"#, "id", "u-1"), (#"{"id":583231}"#, "id", "583231"),
            (#"{"data":{"id":"7"},"id":"8"}"#, "data.id", "7"),
            (#"{"id":"u-1","iss":"https://other.example","sub":"x"}"#, "id", "u-1"),
        ])
    func subject(_ body: String, _ member: String, _ expected: String) async throws {
        let found = try await user(.json(body), subject: member).get()
        #expect(found.subject == expected)
        #expect(found.issuer == Self.issuer)
        #expect("\(found)" == "ProviderUser(issuer: \(Self.issuer))")
    }

    @Test(
        "Without a valid subject there is no user",
        arguments: [
            #"{}"#, #"{"id":""}"#, #"{"id":null}"#, #"{"id":0}"#, #"{"id":-1}"#, #"{"id":1.5}"#, #"{"id":true}"#,
            #"{"id":["u-1"]}"#, #"{"id":"u 1"}"#, #"{"id":"ü"}"#, #"{"sub":"u-1"}"#, #"{"id":"u","id":"v"}"#, "[]",
            #"{"id":"\#(String(repeating: "u", count: 256))"}"#,
        ])
    func nobody(_ body: String) async throws {
        guard case .failure(let error) = try await user(.json(body)) else {
            Issue.record("taken for somebody")
            return
        }
        #expect(error.code == .unusableResponse)
        #expect(error.codeMayBeSpent)
    }

    @Test("The user is read under any label, and after a byte order mark", arguments: ["text/html", "application/jwt"])
    func label(_ contentType: String) async throws {
        for mark in ["", "\u{FEFF}"] {
            let body = Array((mark + #"{"id":"u-1"}"#).utf8)
            let response = OutboundResponse(status: 200, contentType: contentType, body: body)
            #expect(try await user(response).get().subject == "u-1")
        }
    }

    @Test("A name that was cut within a character ends no sign-in", arguments: [1, 15, 16])
    func cutName(_ count: Int) async throws {
        let name = String(repeating: #"\ud83d"#, count: count - 1) + #"\ud83d\u0041"#
        let found = try? await user(.json(#"{"id":"u-1","name":"\#(name)"}"#)).get()
        let expected = String(repeating: "\u{FFFD}", count: count) + "A"
        #expect(found?.attributes.attributes[.name] == (count < 16 ? expected : nil))
        #expect((found != nil) == (count < 16))
    }

    @Test("Only status 200 is accepted", arguments: [201, 301, 401, 403, 500])
    func status(_ status: Int) async throws {
        guard case .failure(let error) = try await user(.json(#"{"id":"u-1"}"#, status: status)) else {
            Issue.record("taken for an answer")
            return
        }
        #expect(error.code == .unusableResponse)
    }

    @Test("Attributes have the default names or the configured ones")
    func attributes() async throws {
        let body = #"{"id":"1","name":"n","login":"l","contact":{"mail":"a@b.example"},"family_name":"f"}"#
        let plain = try await user(.json(body)).get().attributes
        #expect(plain.attributes[.name] == "n")
        #expect(plain.attributes[.familyName] == "f")
        #expect(plain.attributes[.email] == nil)
        let mapped = try await user(.json(body), attributes: [.name: "login", .email: "contact.mail"]).get().attributes
        #expect(mapped.attributes[.name] == "l")
        #expect(mapped.attributes[.familyName] == "f")
        #expect(mapped.attributes[.email] == "a@b.example")
    }

    @Test("A flag says nothing about an attribute that is read from a member of another name")
    func renamedFlags() async throws {
        let body = #"{"id":"1","email":"own@b.example","email_verified":true,"contact":{"email":"a@b.example"}}"#
        let cases: [(member: String?, email: String, isVerified: Bool?)] = [
            (nil, "own@b.example", true), ("email", "own@b.example", true), ("contact.email", "a@b.example", nil),
        ]
        for row in cases {
            let names = row.member.map { [UserAttribute.email: $0] } ?? [:]
            let found = try await user(.json(body), attributes: names).get().attributes
            #expect(found.attributes[.email] == row.email)
            #expect(found.verified[.email] == row.isVerified, "\(row)")
        }
    }

    @Test("A token response needs no ID token, and an ID token in it is ignored")
    func noIDToken() async throws {
        for tokens in [FakeCarrier.tokens.with("id_token", nil), FakeCarrier.tokens] {
            let carrier = FakeCarrier { $0.token = .json(tokens.text) }
            let relyingParty = try relyingParty(carrier)
            let subjects = try SignInSubjects()
            let provider = try await relyingParty.provider(subjects)
            let answer = try await relyingParty.exchange(
                code: Secret("code-1"), redirectURI: "https://app.example/cb", codeVerifier: nil,
                client: ClientCredentials(clientID: subjects.clientID, authentication: .clientSecretBasic(Secret("s"))),
                provider: provider,
                correlationID: subjects.correlationID)
            #expect(answer.idToken == nil)
            #expect(answer.accessToken.exposed == "access-1")
            let error = await failure { () throws(OIDCError) in
                try await relyingParty.validate(
                    idToken: Secret(TokenDraft().text), expecting: IDTokenExpectation(clientID: subjects.clientID),
                    provider: provider)
            }
            #expect(error != nil)
        }
    }

    private func object(_ part: String) throws -> JSONObject {
        let bytes = try #require(Base64URL.decode(part))
        return try #require(JSONValue(parsing: bytes).object)
    }

    @Test("A signed client secret is a new ES256 JWT in the form, and the only authentication")
    func signedSecret() async throws {
        let signing = P256.Signing.PrivateKey()
        let key = try ClientKey(parsing: Secret(signing.pemRepresentation)).named("key-1")
        let carrier = FakeCarrier { $0.token = .json(FakeCarrier.tokens.with("id_token", nil).text) }
        let relyingParty = try relyingParty(carrier)
        let subjects = try SignInSubjects()
        let provider = try await relyingParty.provider(subjects)
        let secret = ClientAuthentication.signedClientSecret(
            key, issuer: "TEAM-1", audience: "https://apple.example")
        _ = try await relyingParty.exchange(
            code: Secret("code-1"), redirectURI: "https://app.example/cb", codeVerifier: nil,
            client: ClientCredentials(clientID: subjects.clientID, authentication: secret),
            provider: provider, correlationID: subjects.correlationID)
        let request = try #require(carrier.http.requests.first)
        #expect(!request.headers.contains { $0.name == "Authorization" })
        let items = String(decoding: request.body, as: UTF8.self).split(separator: "&").map(String.init)
        #expect(items.contains("client_id=client-1"))
        #expect(!items.contains { $0.hasPrefix("client_assertion") })
        let text = try #require(items.first { $0.hasPrefix("client_secret=") }).dropFirst("client_secret=".count)
        let parts = text.split(separator: ".").map(String.init)
        #expect(parts.count == 3)
        let header = try object(parts[0])
        #expect(header["alg"]?.string == "ES256")
        #expect(header["kid"]?.string == "key-1")
        let claims = try object(parts[1])
        #expect(claims["iss"]?.string == "TEAM-1")
        #expect(claims["sub"]?.string == "client-1")
        #expect(claims["aud"]?.string == "https://apple.example")
        #expect(claims["iat"]?.integer == TokenDraft.now)
        #expect(claims["exp"]?.integer == TokenDraft.now + 300)
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: Data(try #require(Base64URL.decode(parts[2]))))
        #expect(signing.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
    }
}
