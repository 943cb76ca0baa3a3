import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

@Suite("Mutual TLS in the configuration")
struct MutualTLSConfigurationTests {
    private static let files = [
        "one.pem": TLSTexts.clientCertificate, "one.key": TLSTexts.clientKey, "root.pem": TLSTexts.authority,
        "expired.pem": TLSTexts.expired, "other.key": TLSTexts.otherKey, "encrypted.key": TLSTexts.encryptedKey,
        "weak.pem": TLSTexts.weakChain, "weak.key": TLSTexts.weakKey, "server.key": TLSTexts.key,
        "empty.pem": "no certificate",
        "key": #"""
        {"kty":"EC","crv":"P-256","kid":"ec","d":"USHZapk4fiSRMarUeVjMOmKESjszdD3BtVP65REiXt8",
        "x":"D67sPWhnvUtA0zb_Hnk6uxuw3FMq69gXHi46qUWPYMg","y":"-k_OcJs72mCNucyoAAwSAlgTBGqpEy20BYsBObTtLpI"}
        """#,
    ]

    private static let pair = "certificate_file: one.pem, certificate_key_file: one.key"

    private static func text(_ client: String, _ settings: String = "par: auto") -> String {
        "providers: {acme: {kind: oidc, issuer: 'https://acme.example', \(settings), clients: [{id: a, \(client)}]}}"
    }

    @Test(
        "The method is the configured one, or follows from what the client has",
        arguments: [
            (pair, ClientAuthenticationMethod.tlsClientAuth),
            (pair + ", token_endpoint_auth_method: self_signed_tls_client_auth", .selfSignedTLSClientAuth),
            (pair + ", secret: s", .clientSecretBasic), (pair + ", private_key_file: key", .privateKeyJWT),
            (pair + ", private_key_file: key, token_endpoint_auth_method: tls_client_auth", .tlsClientAuth),
        ])
    func method(_ client: String, _ method: ClientAuthenticationMethod) throws {
        let loaded = try load(Self.text(client), files: Self.files)
        let read = loaded.configuration.providers[0].clients[0]
        #expect(read.authentication.method == method)
        #expect(read.clientTLS != nil && read.credentials.clientTLS == read.clientTLS)
        #expect(read.clientTLS?.certificate.subject.hasPrefix("CN=") == true)
        #expect((read.publishedCertificate != nil) == (method == .selfSignedTLSClientAuth))
    }

    @Test(
        "What is missing, does not fit or cannot be used is refused, with what to do",
        arguments: [
            ("certificate_file: one.pem", "", "has certificate_file, but no certificate_key"),
            ("secret: s, certificate_key_file: one.key", "", "has certificate_key, but no certificate_file"),
            ("certificate_file: none.pem, certificate_key_file: one.key", "", "the file none.pem does not exist"),
            ("certificate_file: empty.pem, certificate_key_file: one.key", "", "has no certificate in PEM"),
            ("certificate_file: one.pem, certificate_key_file: other.key", "", "does not belong to the first"),
            ("certificate_file: one.pem, certificate_key_file: encrypted.key", "", "needs a passphrase"),
            ("certificate_file: one.pem, certificate_key_file: one.pem", "", "is not a private key in PEM"),
            ("certificate_file: weak.pem, certificate_key_file: weak.key", "", "too weak"),
            ("secret: s, token_endpoint_auth_method: tls_client_auth", "", "but no certificate_file"),
            (pair + ", secret: s, token_endpoint_auth_method: tls_client_auth", "", "has a secret, and"),
            ("secret: s", "mtls: always", "is always, but the client a has no certificate_file"),
            (pair, "mtls: never", "is never, but the client a authenticates with its certificate"),
        ])
    func refused(_ client: String, _ settings: String, _ problem: String) {
        let found = problems(
            settings.isEmpty ? Self.text(client) : Self.text(client, settings), files: Self.files)
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(problem) == true, "\(found)")
    }

    @Test(
        "A certificate that has expired, or has no effect, is a warning",
        arguments: [
            (pair, "mtls: always", String?.none),
            (
                "certificate_file: expired.pem, certificate_key_file: server.key", "mtls: auto",
                "of the client a expired on"
            ),
            (pair + ", private_key_file: key", "mtls: never", "has no effect while providers.acme.mtls is never"),
        ])
    func warnings(_ client: String, _ settings: String, _ warning: String?) throws {
        let loaded = try load(Self.text(client, settings), files: Self.files)
        let found = loaded.warnings.map(\.description).filter { $0.contains("certificate") }
        #expect(found.count == (warning == nil ? 0 : 1), "\(found)")
        #expect(warning.map { found.first?.contains($0) == true } ?? true, "\(found)")
    }

    @Test("A half-written certificate or key is refused, wherever it ends", arguments: ["one.pem", "one.key"])
    func halfWritten(_ name: String) throws {
        let text = try #require(Self.files[name])
        for length in stride(from: 0, to: text.utf8.count - 2, by: 7) {
            var files = Self.files
            files[name] = String(decoding: text.utf8.prefix(length), as: UTF8.self)
            #expect(!problems(Self.text(Self.pair), files: files).isEmpty, "\(length) bytes")
        }
    }

    @Test("A provider without metadata authenticates a client by its certificate, but has no mtls")
    func oauth2() throws {
        func text(_ settings: String) -> String {
            """
            providers: {zoom: {kind: oauth2, issuer: 'https://zoom.us', \(settings)subject: id,
              authorization_endpoint: 'https://zoom.us/a', token_endpoint: 'https://zoom.us/t',
              user_endpoint: 'https://zoom.us/u', clients: [{id: a, \(Self.pair)}]}}
            """
        }
        let loaded = try load(text(""), files: Self.files)
        #expect(loaded.configuration.providers[0].clients[0].authentication.method == .tlsClientAuth)
        let found = problems(text("mtls: always, "), files: Self.files)
        #expect(found.contains { $0.contains("mtls: is a setting of kind oidc;") }, "\(found)")
    }
}
