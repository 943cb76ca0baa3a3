import Crypto
import Examination
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// How the doctor judges the settings of a provider's client, with a provider of scripted responses.
@Suite struct DoctorProviderTests {
    /// What the doctor says about the metadata of a provider.
    /// - Parameter metadata: Members of the metadata, in JSON.
    private func findings(
        _ metadata: String, secret: String = "s3cret", _ configure: (inout Configuration) throws -> Void
    ) async throws -> [DoctorReport.Finding] {
        let issuer = "https://op.example"
        let http = ScriptedHTTPClient.provider(metadata)
        let client = Configuration.Client(id: try #require(ClientID("client-1")), secret: Secret(secret))
        var configuration = Configuration()
        configuration.providers = [
            .init(id: "acme", issuer: try #require(EndpointURL(issuer, policy: .httpsOnly)), clients: [client])
        ]
        try configure(&configuration)
        let report = await Doctor(
            configuration, features: .none, networks: [], http: http,
            clock: ManualClock(secondsSinceEpoch: 784_111_777).wallClock
        ).examine()
        #expect(!(report.text + report.json).contains(secret))
        return report.findings.filter {
            $0.area == .metadata && $0.subject.hasPrefix("acme") && !$0.message.hasPrefix("the issuer is")
        }
    }

    struct Backchannel: Sendable, CustomTestStringConvertible {
        let metadata: String
        var mode = BackchannelTokenDeliverySetting.poll
        var isSigned = false
        var hasKey = false
        var publicURL: String?
        let severities: [DoctorReport.Finding.Severity]
        var says = ""
        var testDescription: String {
            "\(metadata) \(mode.rawValue) \(isSigned) \(hasKey) \(publicURL ?? "without a public URL")"
        }
    }

    private static let endpoint = #""backchannel_authentication_endpoint":"https://op.example/bc""#
    private static let polls = endpoint + #","backchannel_token_delivery_modes_supported":["poll"]"#
    private static let signs =
        endpoint + #","backchannel_authentication_request_signing_alg_values_supported":["ES256"]"#

    @Test(
        "What a provider lacks for backchannel authentication is a problem, in plain words",
        arguments: [
            Backchannel(metadata: #""x":1"#, mode: .off, severities: []),
            Backchannel(
                metadata: #""x":1"#, severities: [.problem], says: "has no backchannel_authentication_endpoint"),
            Backchannel(
                metadata: #""backchannel_authentication_endpoint":"http://op.example/bc""#, severities: [.problem],
                says: "on https"),
            Backchannel(metadata: endpoint, severities: [.ok], says: "supported in the mode poll"),
            Backchannel(metadata: polls, severities: [.ok]),
            Backchannel(
                metadata: polls, mode: .ping, publicURL: "https://login.example", severities: [.problem],
                says: "of providers.acme to poll"),
            Backchannel(
                metadata: endpoint + #","backchannel_token_delivery_modes_supported":["push"]"#, severities: [.problem],
                says: "Latchkey has no other mode"),
            Backchannel(metadata: endpoint, mode: .ping, publicURL: "https://login.example", severities: [.ok]),
            Backchannel(metadata: endpoint, mode: .ping, severities: [.ok, .problem], says: "set public_url"),
            Backchannel(metadata: signs, isSigned: true, hasKey: true, severities: [.ok]),
            Backchannel(
                metadata: signs, isSigned: true, severities: [.ok, .problem], says: "lists no algorithm of a key of"),
            Backchannel(
                metadata: endpoint, isSigned: true, hasKey: true, severities: [.ok, .problem],
                says: "give the client a private_key with a listed algorithm"),
        ])
    func backchannel(row: Backchannel) async throws {
        let found = try await findings(row.metadata) { configuration in
            configuration.publicURL = row.publicURL.flatMap { EndpointURL($0, policy: .httpsOnly) }
            configuration.providers[0].rules.backchannelTokenDelivery = row.mode
            guard row.isSigned else { return }
            configuration.providers[0].extensions.signedRequestObjects = .always
            guard row.hasKey else { return }
            configuration.providers[0].clients[0].signingKey = try ClientKey(
                parsing: Secret(P256.Signing.PrivateKey().pemRepresentation))
        }.filter { $0.message.contains("backchannel") }
        #expect(found.map(\.severity) == row.severities, "\(found)")
        let text = found.map { $0.message + " " + ($0.remedy ?? "") }.joined()
        #expect(text.contains(row.says) || row.says.isEmpty, "\(text)")
    }

    @Test(
        "Credentials that some providers do not decode are a warning that names the setting",
        arguments: [
            ("plain-secret", false), ("plus+sign", true), ("slash/", true), ("equals=", true),
            ("white space", true),
        ])
    func encoding(secret: String, isWarned: Bool) async throws {
        let found = try await findings(#""x":1"#, secret: secret) { _ in }
        #expect(found.map(\.severity) == (isWarned ? [.warning] : []), "\(found)")
        let remedy = found.first?.remedy ?? ""
        #expect(remedy.contains("client_secret_basic_encoding to plain") == isWarned, "\(remedy)")
    }

    @Test("What is configured in place of the metadata is told")
    func deviations() async throws {
        func told(_ change: (inout ServerRules) -> Void) async throws -> [String] {
            try await findings(#""code_challenge_methods_supported":["plain"]"#) { change(&$0.providers[0].rules) }
                .map { "\($0.severity) \($0.message)" }
        }
        #expect(try await told { _ in }.contains { $0.hasPrefix("problem") && $0.contains("does not list S256") })
        let configured = try await told {
            $0.pkce = .off
            $0.metadataURL = EndpointURL("https://op.example/m", policy: .httpsOnly)
            $0.endpoints["jwks_uri"] = EndpointURL("https://op.example/keys", policy: .httpsOnly)
            $0.trustedAudiences = [ClientID("account")].compactMap(\.self)
        }
        for text in [
            "ok the metadata is that of https://op.example/m (metadata_url)",
            "ok configured, whatever the metadata says: jwks_uri",
            "ok ID tokens may be for the client and account (trusted_audiences)",
        ] { #expect(configured.contains(text), "\(configured)") }
        #expect(!configured.contains { $0.contains("does not list S256") })
    }

    /// What a provider does, and a part of the remedy.
    private static let failures: [(metadata: String, keys: String, remedy: String)] = [
        (#"{"issuer":"https://other.example"}"#, "", "if issuer is not spelled as in the provider's metadata"),
        ("no JSON", "", "check the issuer; if it is right, tell the provider"),
        (good, "{}", "tell the provider: sign-ins with it fail"), (good, #"{"keys":[]}"#, "tell the provider"),
        (good, #"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#, "tell the provider"),
        ("unreachable", "", "check that the name resolves"), ("private", "", "outbound.allow_private_networks"),
        ("clock", "", "tell whoever runs the host"),
    ]
    private static let good = #"""
        {"issuer":"https://op.example","authorization_endpoint":"https://op.example/a",\#
        "token_endpoint":"https://op.example/t","jwks_uri":"https://op.example/jwks"}
        """#

    @Test("The remedies for an OpenID provider speak of it, and of no carriers", arguments: 0..<failures.count)
    func remedies(index: Int) async throws {
        let row = Self.failures[index]
        let http = ScriptedHTTPClient { request throws(OutboundError) in
            switch row.metadata {
            case "unreachable": throw OutboundError(.unreachable, mayHaveBeenSent: false, reason: "no address")
            case "private": throw OutboundError(.addressRefused, mayHaveBeenSent: false, reason: "10.0.0.1")
            case "clock":
                var response = OutboundResponse.json(Self.good)
                response.date = "Mon, 07 Nov 1994 08:49:37 GMT"
                return response
            default: return .json(request.url.text.hasSuffix("/jwks") ? row.keys : row.metadata)
            }
        }
        let client = Configuration.Client(id: try #require(ClientID("client-1")), secret: Secret("s3cret"))
        let issuer = try #require(EndpointURL("https://op.example", policy: .httpsOnly))
        var configuration = Configuration()
        configuration.providers = [.init(id: "acme", issuer: issuer, clients: [client])]
        let report = await Doctor(
            configuration, features: .none, networks: [], http: http,
            clock: ManualClock(secondsSinceEpoch: 784_111_777).wallClock
        ).examine()
        let remedies = report.findings.filter { $0.severity != .ok }.compactMap(\.remedy)
        #expect(remedies.contains { $0.contains(row.remedy) }, "\(report.text)")
        for word in ["carrier", "zenkey"] {
            #expect(!remedies.contains { $0.contains(word) }, "\(remedies)")
        }
    }
}
