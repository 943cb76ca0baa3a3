import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

@Suite("The security profile of a provider")
struct SecurityProfileTests {
    /// Keys made for this test and used nowhere else.
    private static let files = [
        "p256": #"""
        {"kty":"EC","crv":"P-256","kid":"ec","d":"USHZapk4fiSRMarUeVjMOmKESjszdD3BtVP65REiXt8",
        "x":"D67sPWhnvUtA0zb_Hnk6uxuw3FMq69gXHi46qUWPYMg","y":"-k_OcJs72mCNucyoAAwSAlgTBGqpEy20BYsBObTtLpI"}
        """#,
        "ed25519": #"""
        {"kty":"OKP","crv":"Ed25519","kid":"octets","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
        "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
        """#,
        "rs256": RSAKeyText.jwk(alg: "RS256"), "ps256": RSAKeyText.jwk(alg: "PS256"),
        "certificate": TLSTexts.clientCertificate, "certificate-key": TLSTexts.clientKey,
        "rsa": RSAKeyPEM.first,
    ]

    private static func text(_ settings: String, _ client: String = "private_key_file: p256") -> String {
        "providers: {acme: {kind: oidc, issuer: 'https://acme.example', \(settings), clients: [{id: a, \(client)}]}}"
    }

    private func provider(_ settings: String, _ client: String = "private_key_file: p256") throws
        -> Configuration.Provider
    {
        try load(Self.text(settings, client), files: Self.files).configuration.providers[0]
    }

    private func clientKey(_ provider: Configuration.Provider) -> (ClientKey, ClientAssertionAudience)? {
        guard case .privateKeyJWT(let key, let audience) = provider.clients[0].authentication else { return nil }
        return (key, audience)
    }

    @Test("Without a profile, nothing is set")
    func none() throws {
        let provider = try provider("response_mode: query")
        #expect(provider.profile == nil)
        #expect(provider.extensions.pushedAuthorizationRequests == .auto)
        #expect(provider.extensions.dpop == .auto)
        #expect(provider.extensions.signedRequestObjects == .auto)
        #expect(provider.rules.requiresIssuer == nil)
        #expect(provider.clients[0].signingAlgorithms == SigningAlgorithm.standard)
    }

    @Test("A profile sets what is left out", arguments: SecurityProfile.allCases)
    func sets(_ profile: SecurityProfile) throws {
        let provider = try provider("profile: \(profile.rawValue)")
        #expect(provider.profile == profile)
        #expect(provider.extensions.pushedAuthorizationRequests == .always)
        #expect(provider.extensions.dpop == .always)
        #expect(provider.rules.requiresIssuer == true)
        #expect(provider.extensions.signedRequestObjects == (profile == .fapi2 ? .auto : .always))
        #expect(provider.rules.responseMode == (profile == .fapi2 ? .query : .jwt))
        let client = provider.clients[0]
        #expect(client.signingAlgorithms == [.ps256, .es256, .edDSA, .ed25519])
        #expect(client.responseSigningAlgorithm == .ps256)
        let (key, audience) = try #require(clientKey(provider))
        #expect(key.algorithm == .es256)
        #expect(audience == .issuer)
    }

    @Test(
        "A key signs what the profile allows",
        arguments: [
            ("private_key_file: p256", SigningAlgorithm.es256), ("private_key_file: ed25519", .edDSA),
            ("private_key_file: rsa", .ps256), ("private_key_file: ps256", .ps256),
            ("private_key_file: rsa, private_key_alg: PS256", .ps256),
            ("private_key_file: ed25519, private_key_alg: Ed25519", .ed25519),
        ])
    func key(_ client: String, _ algorithm: SigningAlgorithm) throws {
        let provider = try provider("profile: fapi2", client)
        #expect(try #require(clientKey(provider)).0.algorithm == algorithm)
        #expect(provider.clients[0].signingKey?.algorithm == algorithm)
    }

    @Test("Tokens are bound by DPoP or by mutual TLS, and a client authenticates by a key or by a certificate")
    func mutualTLS() throws {
        let certificate = "certificate_file: certificate, certificate_key_file: certificate-key"
        let byCertificate = try provider("profile: fapi2, mtls: always", certificate)
        #expect(byCertificate.extensions.mutualTLS == .always && byCertificate.extensions.dpop == .auto)
        #expect(byCertificate.clients[0].authentication.method == .tlsClientAuth)
        let byDPoP = try provider("profile: fapi2", certificate)
        #expect(byDPoP.extensions.mutualTLS == .auto && byDPoP.extensions.dpop == .always)
        let byKey = try provider("profile: fapi2, mtls: always, dpop: never", "private_key_file: p256, " + certificate)
        #expect(byKey.clients[0].authentication.method == .privateKeyJWT && byKey.clients[0].clientTLS != nil)
    }

    @Test("The other key signs what the profile allows, too")
    func otherKey() throws {
        let provider = try provider("profile: fapi2", "private_key_file: p256, other_private_key_file: rsa")
        #expect(provider.clients[0].otherKey?.algorithm == .ps256)
    }

    @Test(
        "What a profile allows stays as it is given",
        arguments: [
            "profile: fapi2, response_mode: form_post", "profile: fapi2, response_mode: jwt",
            "profile: fapi2-message-signing, response_mode: form_post.jwt",
            "profile: fapi2, request_object: never", "profile: fapi2, par: always, dpop: always, require_iss: true",
        ])
    func allowed(_ settings: String) throws {
        let provider = try provider(settings)
        if settings.contains("form_post.jwt") { #expect(provider.rules.responseMode == .formPostJWT) }
        if settings.contains("request_object") { #expect(provider.extensions.signedRequestObjects == .never) }
    }

    @Test(
        "A setting that contradicts the profile is refused, with both names",
        arguments: [
            ("profile: fapi3", "", "is not one of its words"),
            ("profile: fapi2, par: never", "", "has par: never, but profile: fapi2 demands par: always"),
            ("profile: fapi2, par: auto", "", "has par: auto, but profile: fapi2 demands par: always"),
            (
                "profile: fapi2, dpop: never", "",
                "has dpop: never, but profile: fapi2 demands dpop: always or mtls: always"
            ),
            ("profile: fapi2, dpop: auto", "", "has dpop: auto, but profile: fapi2 demands dpop: always"),
            (
                "profile: fapi2, require_iss: false", "",
                "has require_iss: false, but profile: fapi2 demands require_iss: true"
            ),
            (
                "profile: fapi2-message-signing, request_object: auto", "",
                "but profile: fapi2-message-signing demands request_object: always"
            ),
            (
                "profile: fapi2-message-signing, response_mode: query", "",
                "demands response_mode: jwt or query.jwt or form_post.jwt"
            ),
            (
                "profile: fapi2-message-signing, response_mode: form_post", "",
                "has response_mode: form_post, but profile: fapi2-message-signing"
            ),
            (
                "profile: fapi2", "secret: s, private_key_file: p256",
                "has a secret, but profile: fapi2 demands private_key"
            ),
            (
                "profile: fapi2", "private_key_file: p256, token_endpoint_auth_method: client_secret_post",
                "demands token_endpoint_auth_method: private_key_jwt"
            ),
            (
                "profile: fapi2", "private_key_file: p256, assertion_audience: token_endpoint",
                "demands assertion_audience: issuer"
            ),
            (
                "profile: fapi2", "private_key_file: rsa, private_key_alg: RS256",
                "has private_key_alg: RS256, but profile: fapi2 demands private_key_alg: PS256 or ES256 or EdDSA"
            ),
            (
                "profile: fapi2",
                "private_key_file: p256, other_private_key_file: rsa, other_private_key_alg: RS256",
                "has other_private_key_alg: RS256"
            ),
            (
                "profile: fapi2", "private_key_file: p256, id_token_signed_response_alg: RS256",
                "has id_token_signed_response_alg: RS256"
            ),
            (
                "profile: fapi2", "private_key_file: p256, userinfo_signed_response_alg: RS256",
                "has userinfo_signed_response_alg: RS256"
            ),
            (
                "profile: fapi2", "private_key_file: p256, authorization_signed_response_alg: RS256",
                "has authorization_signed_response_alg: RS256"
            ),
            ("profile: fapi2", "private_key_file: p256, pkce: optional", "has pkce: optional"),
            (
                "profile: fapi2", "private_key_file: rs256",
                "has alg: RS256 in the JSON Web Key of private_key, but profile: fapi2 demands alg: PS256 or ES256"
            ),
            (
                "profile: fapi2", "private_key_file: p256, other_private_key_file: rs256",
                "has alg: RS256 in the JSON Web Key of other_private_key"
            ),
            ("profile: fapi2", "redirect_uris: ['https://a.example/']", "has no private_key"),
        ])
    func refused(_ settings: String, _ client: String, _ problem: String) {
        let client = client.isEmpty ? "private_key_file: p256" : client
        let found = problems(Self.text(settings, client), files: Self.files)
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(problem) == true, "\(found)")
    }

    @Test("A provider of kind oauth2 has no profile")
    func oauth2() {
        let found = problems(
            """
            providers: {zoom: {kind: oauth2, issuer: 'https://zoom.us', profile: fapi2, subject: id,
              authorization_endpoint: 'https://zoom.us/a', token_endpoint: 'https://zoom.us/t',
              user_endpoint: 'https://zoom.us/u', clients: 'a:b'}}
            """)
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains("profile: is a setting of kind oidc;") == true, "\(found)")
    }
}
