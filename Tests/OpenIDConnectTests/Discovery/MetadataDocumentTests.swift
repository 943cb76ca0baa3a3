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

    private func provider(_ metadata: some Sequence<(String, String)>) async throws -> ProviderMetadata {
        let carrier = FakeCarrier { carrier in
            carrier.discovery = .json(
                metadata.reduce(FakeCarrier.metadata) { $0.with($1.0, $1.1) }.text)
        }
        return try await carrier.relyingParty().provider(SignInSubjects())
    }

    @Test("is the same metadata when it is read again", arguments: 0...MetadataDocumentTests.more.count)
    func roundTrip(count: Int) async throws {
        let provider = try await provider(Self.more.prefix(count))
        let document = JSONValue.object(of: try #require(provider.document)).text
        let carrier = FakeCarrier { $0.discovery = .json(document) }
        #expect(try await carrier.relyingParty().provider(SignInSubjects()) == provider, "\(document)")
    }
}
