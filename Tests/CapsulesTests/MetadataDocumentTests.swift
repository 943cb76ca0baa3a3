import Capsules
import OpenIDConnect
import Primitives
import TestSupport
import Testing

@Suite("Metadata as a document") struct MetadataDocumentTests {
    private static let more: [(String, String)] = [
        ("userinfo_endpoint", "null"), ("id_token_signing_alg_values_supported", #"["RS256","ES256"]"#),
        ("token_endpoint_auth_methods_supported", #"["client_secret_basic","private_key_jwt"]"#),
        ("token_endpoint_auth_signing_alg_values_supported", #"["ES256"]"#), ("grant_types_supported", "[]"),
        ("request_object_signing_alg_values_supported", #"["RS256"]"#),
        ("pushed_authorization_request_endpoint", #""https://login.carrier.example/par""#),
        ("require_pushed_authorization_requests", "true"), ("require_signed_request_object", "true"),
        ("dpop_bound_access_tokens", "true"), ("dpop_signing_alg_values_supported", #"["ES256"]"#),
        ("tls_client_certificate_bound_access_tokens", "true"), ("response_modes_supported", #"["query"]"#),
        ("code_challenge_methods_supported", #"["plain"]"#),
        ("authorization_response_iss_parameter_supported", "true"),
        ("id_token_encryption_alg_values_supported", #"["ECDH-ES"]"#),
        (
            "mtls_endpoint_aliases",
            #"{"token_endpoint":"https://login.carrier.example/mtls","userinfo_endpoint":"http://evil.example"}"#
        ),
    ]

    private static let issuer = "https://login.carrier.example/m/310999"
    private static let metadata: [(name: String, json: String)] = [
        ("issuer", "\"\(issuer)\""), ("authorization_endpoint", "\"\(issuer)/authorize\""),
        ("token_endpoint", "\"\(issuer)/token\""), ("userinfo_endpoint", "\"\(issuer)/userinfo\""),
        ("jwks_uri", "\"\(issuer)/jwks\""), ("mccmnc", "310999"),
        ("response_types_supported", #"["code","async_token"]"#),
        ("id_token_signing_alg_values_supported", #"["RS256","ES256"]"#),
        ("token_endpoint_auth_methods_supported", #"["client_secret_basic","private_key_jwt"]"#),
        ("grant_types_supported", "\"authorization_code\""), ("acr_values_supported", #"["a1","a3"]"#),
    ]

    /// The metadata with other members.
    /// - Parameter members: Nil removes the member.
    private func document(_ members: some Sequence<(String, String?)>) -> String {
        var metadata = Self.metadata
        for (name, json) in members {
            metadata.removeAll { $0.name == name }
            if let json { metadata.append((name, json)) }
        }
        return TokenText.object(metadata)
    }

    /// What discovery makes of a document, from the discovery service and from the issuer itself.
    private func provider(_ document: String) async throws -> ProviderMetadata {
        let url = try #require(EndpointURL("https://discovery.example/configuration", policy: .httpsOnly))
        var configuration = RelyingParty.Configuration(discoveryURL: url)
        configuration.trustedHosts = TrustedHosts(["*.carrier.example"].compactMap(TrustedHosts.Pattern.init))
        let relyingParty = RelyingParty(
            configuration: configuration, http: ScriptedHTTPClient { _ in .json(document) }, clock: .system)
        return try await relyingParty.provider(
            for: MCCMNC("310999"), clientID: try #require(ClientID("client-1")),
            correlationID: .random(from: .system))
    }

    private func expectSame(_ provider: ProviderMetadata) async throws {
        let document = JSONValue.object(of: try #require(provider.document)).text
        #expect(try await self.provider(document) == provider, "\(document)")
    }

    @Test("is the same metadata when it is read again", arguments: 0...MetadataDocumentTests.more.count)
    func roundTrip(count: Int) async throws {
        try await expectSame(try await provider(document(Self.more.prefix(count).map { ($0.0, $0.1) })))
    }

    @Test(
        "is the same without an authorization endpoint",
        arguments: [
            ("[\"urn:openid:params:grant-type:ciba\"]", nil), ("[\"client_credentials\",\"urn:x\"]", "null"),
            ("[]", nil),
        ] as [(String, String?)])
    func withoutAuthorizationEndpoint(_ grantTypes: String, _ json: String?) async throws {
        let provider = try await provider(
            document([
                ("grant_types_supported", grantTypes), ("authorization_endpoint", json),
                ("response_types_supported", "[]"),
            ]))
        #expect(provider.authorizationEndpoint == nil)
        try await expectSame(provider)
    }
}
