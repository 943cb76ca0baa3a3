import Crypto
import CryptoExtras
import Foundation
import OpenIDConnect
import Primitives
import TestSupport
import Testing

@Suite("Client authentication at the token endpoint")
struct ClientAuthenticationTests {
    private static let p256 = P256.Signing.PrivateKey()

    private func exchange(
        _ authentication: ClientAuthentication, at carrier: FakeCarrier, by relyingParty: RelyingParty? = nil,
        clientID: String = "a:b c"
    ) async throws -> OIDCError? {
        let relyingParty = try relyingParty ?? carrier.relyingParty()
        let subjects = try SignInSubjects()
        let provider = try await relyingParty.provider(subjects)
        let client = ClientCredentials(clientID: try #require(ClientID(clientID)), authentication: authentication)
        return await failure { () throws(OIDCError) in
            try await relyingParty.exchange(
                code: Secret("code-1"), redirectURI: "app:/cb", codeVerifier: nil, client: client, provider: provider,
                correlationID: subjects.correlationID)
        }
    }

    private func sent(_ authentication: ClientAuthentication, clientID: String = "a:b c") async throws -> SentForm {
        let methods = "[\"client_secret_basic\",\"client_secret_post\",\"private_key_jwt\"]"
        let carrier = FakeCarrier {
            $0.discovery = .json(FakeCarrier.metadata.with("token_endpoint_auth_methods_supported", methods).text)
        }
        #expect(try await exchange(authentication, at: carrier, clientID: clientID) == nil)
        let requests = carrier.http.requests(to: FakeCarrier.tokenURL)
        #expect(requests.count == 1)
        return SentForm(try #require(requests.first))
    }

    private func key(_ keyID: String? = nil) throws -> ClientKey {
        let key = try ClientKey(parsing: Secret(Self.p256.pemRepresentation))
        return keyID.map(key.named) ?? key
    }

    private static let members: Set<String> = [
        "client_id", "client_secret", "client_assertion", "client_assertion_type",
    ]

    @Test("client_secret_basic uses the header field, and the form has no client parameters")
    func basic() async throws {
        let sent = try await sent(.clientSecretBasic(Secret(":s")))
        #expect(sent.headers["Authorization"] == "Basic YSUzQWIlMjBjOiUzQXM=")
        #expect(Self.members.isDisjoint(with: sent.form.keys))
    }

    @Test("client_secret_basic sends id and secret as they are for a provider that does not decode them")
    func plainBasic() async throws {
        let sent = try await sent(.clientSecretBasic(Secret("+/="), encoding: .plain), clientID: "abc")
        #expect(sent.headers["Authorization"] == "Basic YWJjOisvPQ==")
    }

    @Test(
        "A refusal names the encoding as a possible reason, if it makes a difference",
        arguments: [
            ("abc", ClientAuthentication.clientSecretBasic(Secret("+/=")), true),
            ("a:b", .clientSecretBasic(Secret("secret")), true), ("abc", .clientSecretBasic(Secret("a-b._~9")), false),
            ("abc", .clientSecretBasic(Secret("+/="), encoding: .plain), false),
            ("abc", .clientSecretPost(Secret("+/=")), false),
        ])
    func encodingRemedy(_ clientID: String, _ authentication: ClientAuthentication, _ isNamed: Bool) async throws {
        let carrier = FakeCarrier {
            $0.discovery = .json(
                FakeCarrier.metadata.with("token_endpoint_auth_methods_supported", nil).text)
            $0.token = .json(#"{"error":"invalid_client"}"#, status: 401)
        }
        let error = try await exchange(authentication, at: carrier, clientID: clientID)
        #expect(error?.code == .clientRefused)
        #expect(error?.reason.contains("client_secret_basic_encoding") == isNamed)
    }

    @Test("client_secret_post has id and secret in the form, and no header field")
    func post() async throws {
        let sent = try await sent(.clientSecretPost(Secret(":+%&= é")))
        #expect(sent.headers["Authorization"] == nil)
        #expect(sent.form["client_id"] == ["a:b c"])
        #expect(sent.form["client_secret"] == [":+%&= é"])
        #expect(Self.members.intersection(sent.form.keys) == ["client_id", "client_secret"])
    }

    @Test("A public client has its id in the form, and nothing else")
    func publicClient() async throws {
        let sent = try await sent(.publicClient)
        #expect(sent.headers["Authorization"] == nil)
        #expect(sent.form["client_id"] == ["a:b c"])
        #expect(Self.members.intersection(sent.form.keys) == ["client_id"])
        #expect(ClientAuthentication.publicClient.method.rawValue == "none")
    }

    @Test("private_key_jwt has an assertion for the token endpoint, valid for a minute, and no secret")
    func assertion() async throws {
        let sent = try await sent(.privateKeyJWT(key("k-1")))
        #expect(sent.headers["Authorization"] == nil)
        #expect(
            Self.members.intersection(sent.form.keys) == ["client_id", "client_assertion", "client_assertion_type"])
        #expect(sent.form["client_id"] == ["a:b c"])
        #expect(sent.form["client_assertion_type"] == ["urn:ietf:params:oauth:client-assertion-type:jwt-bearer"])
        let (header, claims, signature, signed) = try sent.assertion()
        #expect(header.members.map(\.name) == ["alg", "typ", "kid"])
        #expect(header["alg"]?.string == "ES256")
        #expect(header["typ"]?.string == "JWT")
        #expect(header["kid"]?.string == "k-1")
        #expect(claims["iss"]?.string == "a:b c")
        #expect(claims["sub"]?.string == "a:b c")
        #expect(claims["client_id"]?.string == "a:b c")
        #expect(claims["aud"]?.string == FakeCarrier.tokenURL)
        #expect(claims["iat"]?.integer == TokenDraft.now)
        #expect(claims["exp"]?.integer == TokenDraft.now + 60)
        #expect(claims["jti"]?.string.flatMap(Base64URL.decode)?.count == 16)
        let proof = try P256.Signing.ECDSASignature(rawRepresentation: signature)
        #expect(Self.p256.publicKey.isValidSignature(proof, for: signed))
    }

    @Test(
        "The audience of an assertion is a single text; one for the issuer has the type of RFC 10070",
        arguments: [
            (ClientAssertionAudience.issuer, TokenDraft.issuer, "client-authentication+jwt"),
            (.tokenEndpoint, FakeCarrier.tokenURL, "JWT"), (.endpoint, FakeCarrier.tokenURL, "JWT"),
        ])
    func audience(_ audience: ClientAssertionAudience, _ expected: String, _ type: String) async throws {
        let (header, claims, _, _) = try await sent(.privateKeyJWT(key("k-1"), audience: audience)).assertion()
        #expect(claims["aud"]?.string == expected)
        #expect(header["typ"]?.string == type)
    }

    @Test("An RSA key signs RS256, and a key without id has its thumbprint as kid")
    func rsa() async throws {
        guard case .rsa(let key) = TestKey.rsa1.pair else {
            Issue.record("the test key is not an RSA key")
            return
        }
        let clientKey = try ClientKey(parsing: Secret(key.pemRepresentation))
        let (header, _, signature, signed) = try await sent(.privateKeyJWT(clientKey)).assertion()
        #expect(header["alg"]?.string == "RS256")
        #expect(header["kid"]?.string == clientKey.keyID)
        #expect(
            key.publicKey.isValidSignature(
                .init(rawRepresentation: signature), for: SHA256.hash(data: signed), padding: .insecurePKCS1v1_5))
    }

    @Test("The audience of an assertion may be the issuer instead")
    func issuer() async throws {
        let (_, claims, _, _) = try await sent(.privateKeyJWT(key(), audience: .issuer)).assertion()
        #expect(claims["aud"]?.string == TokenDraft.issuer)
    }

    @Test("Every request has its own assertion")
    func freshness() async throws {
        let carrier = FakeCarrier()
        let relyingParty = try carrier.relyingParty()
        for _ in 0..<20 { _ = try await exchange(.privateKeyJWT(key()), at: carrier, by: relyingParty) }
        let ids = try carrier.http.requests(to: FakeCarrier.tokenURL).map { request in
            try SentForm(request).assertion().claims["jti"]?.string
        }
        #expect(Set(ids).count == 20)
    }

    @Test(
        "A method that the provider does not list is not used, and the code is not spent",
        arguments: [
            (nil, Set(ClientAuthenticationMethod.allCases)), ("null", Set(ClientAuthenticationMethod.allCases)),
            ("[\"client_secret_basic\"]", [.clientSecretBasic]), ("\"client_secret_post\"", [.clientSecretPost]),
            ("[\"private_key_jwt\",\"tls_client_auth\"]", [.privateKeyJWT]), ("[]", []), ("[\"none\"]", []),
        ] as [(String?, Set<ClientAuthenticationMethod>)])
    func listed(_ json: String?, _ taken: Set<ClientAuthenticationMethod>) async throws {
        for authentication in [
            .clientSecretBasic(Secret("s")), .clientSecretPost(Secret("s")), .privateKeyJWT(try key()),
        ] as [ClientAuthentication] {
            let carrier = FakeCarrier {
                $0.discovery = .json(FakeCarrier.metadata.with("token_endpoint_auth_methods_supported", json).text)
            }
            let error = try await exchange(authentication, at: carrier)
            let isTaken = taken.contains(authentication.method)
            #expect(error?.code == (isTaken ? nil : .clientRefused), "\(authentication.method)")
            #expect(error?.codeMayBeSpent != true)
            #expect(carrier.http.requests(to: FakeCarrier.tokenURL).count == (isTaken ? 1 : 0))
        }
    }

    @Test(
        "The same holds for the algorithm of an assertion",
        arguments: [(nil, true), ("[\"RS256\",\"ES256\"]", true), ("[\"RS256\"]", false), ("[]", false)])
    func listedAlgorithm(_ json: String?, _ isTaken: Bool) async throws {
        let name = "token_endpoint_auth_signing_alg_values_supported"
        let carrier = FakeCarrier { $0.discovery = .json(FakeCarrier.metadata.with(name, json).text) }
        #expect(
            try await exchange(.privateKeyJWT(key()), at: carrier)?.code == (isTaken ? nil : .clientRefused))
        #expect(try await exchange(.clientSecretBasic(Secret("s")), at: carrier) == nil)
    }

    @Test(
        "Metadata that does not list the client's method is fetched again after a minute; other metadata is not",
        arguments: [
            ("token_endpoint_auth_methods_supported", "[\"client_secret_basic\"]"),
            ("token_endpoint_auth_signing_alg_values_supported", "[\"RS256\"]"),
        ])
    func mended(_ name: String, _ json: String) async throws {
        let whole = FakeCarrier.metadata
        let carrier = FakeCarrier { $0.discovery = .json(whole.with(name, json).text, cacheControl: "max-age=86400") }
        let relyingParty = try carrier.relyingParty()
        func attempt() async throws -> OIDCError? {
            try await exchange(.privateKeyJWT(key()), at: carrier, by: relyingParty)
        }
        var questions: Int { carrier.http.requests(to: FakeCarrier.discoveryURL).count }
        #expect(try await attempt()?.code == .clientRefused)
        carrier.change { $0.discovery = .json(whole.text, cacheControl: "max-age=86400") }
        carrier.clock.advance(bySeconds: 59)
        #expect(try await attempt()?.code == .clientRefused, "a second failure does not put it off")
        #expect(questions == 1)
        carrier.clock.advance(bySeconds: 1)
        #expect(try await attempt() == nil)
        #expect(questions == 2)
        carrier.clock.advance(bySeconds: 600)
        #expect(try await attempt() == nil)
        #expect(questions == 2, "metadata that can be used is kept as long as it says")
    }
}
