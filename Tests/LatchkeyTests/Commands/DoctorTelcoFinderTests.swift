import Crypto
import Examination
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import PhoneVerification
import Primitives
import SignIn
import TestSupport
import Testing

/// How the doctor judges a Telco Finder.
struct DoctorTelcoFinderTests {
    private static let issuer = "https://auth.finder.example"
    private static let apis = "https://api.finder.example"

    /// What a Telco Finder is like, and what the doctor says of it.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var issuer = DoctorTelcoFinderTests.issuer
        /// Members of the metadata, in JSON.
        var metadata = #""token_endpoint_auth_methods_supported":["private_key_jwt"]"#
        /// Whether its host of this name does not respond.
        var silentHost = ""
        let severities: [DoctorReport.Finding.Severity]
        let says: String
    }

    static let rows = [
        Row(testDescription: "good", severities: [.ok, .ok], says: "api.finder.example:443 answers"),
        Row(
            testDescription: "another issuer", issuer: "https://auth.evil.example", severities: [.problem],
            says: "issuer is not spelled as in the provider's metadata"),
        Row(
            testDescription: "another authentication",
            metadata: #""token_endpoint_auth_methods_supported":["client_secret_basic"]"#,
            severities: [.ok, .problem, .ok], says: "have the provider accept private_key_jwt"),
        Row(
            testDescription: "no metadata", silentHost: "auth.finder.example", severities: [.problem],
            says: "check that the name resolves"),
        Row(
            testDescription: "no API", silentHost: "api.finder.example", severities: [.ok, .problem],
            says: "check that the name resolves"),
    ]

    @Test(
        "Metadata, authentication and hosts of a Telco Finder are checked, and no number is asked about",
        arguments: rows)
    func finder(_ row: Row) async throws {
        let http = ScriptedHTTPClient { request throws(OutboundError) in
            guard request.url.host != row.silentHost else {
                throw OutboundError(.unreachable, mayHaveBeenSent: false, reason: "no route")
            }
            return .json(
                """
                {"issuer":"\(row.issuer)","authorization_endpoint":"\(Self.issuer)/a",\
                "token_endpoint":"\(Self.issuer)/t","jwks_uri":"\(Self.issuer)/jwks",\(row.metadata)}
                """)
        }
        let root = try #require(EndpointURL(Self.apis, policy: .httpsOnly))
        let key = try ClientKey(parsing: Secret(P256.Signing.PrivateKey().pemRepresentation))
        let client = Configuration.Client(
            id: try #require(ClientID("latchkey")), authentication: .privateKeyJWT(key, audience: .endpoint))
        // Its operator is at another host, where every request fails.
        let other = try #require(EndpointURL("https://op.example", policy: .httpsOnly))
        var provider = Configuration.Provider(id: "number", issuer: other, clients: [client])
        let rules = TelcoFinderRules(
            issuer: try #require(EndpointURL(Self.issuer, policy: .httpsOnly)),
            finder: try #require(TelcoFinder(root: root)), client: client)
        provider.others = [Configuration.Provider(rules, of: "number")]
        var configuration = Configuration()
        configuration.providers = [provider]
        let report = await Doctor(
            configuration, features: .none, networks: [], http: http, clock: ManualClock().wallClock
        ).examine()
        let found = report.findings.filter { $0.subject == "number/telco_finder" }
        #expect(found.map(\.severity) == row.severities, "\(found)")
        let text = found.map { "\($0.message) \($0.remedy ?? "")" }.joined(separator: "\n")
        #expect(text.contains(row.says), "\(text)")
        #expect(http.requests.allSatisfy { $0.method == .get && $0.body.isEmpty })
    }
}
