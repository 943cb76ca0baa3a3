import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import PhoneVerification
import Primitives
import SignIn
import Testing

@Suite("The configuration of Firebase Phone Number Verification")
struct FirebaseConfigurationTests {
    private static let phone = "phone: {kind: firebase_pnv, project_number: '123456789012', project_id: shop-1"
    private static let base = "https://fpnv.googleapis.com"

    @Test("A build without the feature refuses the kind")
    func leftOut() {
        let text = "providers: {\(Self.phone)}}"
        #expect(problems(text) == [])
        let found = problems(text, of: FeatureList.none.settings)
        #expect(found.count == 1 && found[0].contains("needs the feature PhoneVerification"), "\(found)")
    }

    @Test("The project is the issuer and the one client; both audiences are demanded, ES256, and nothing is discovered")
    func project() throws {
        let configuration = try load("providers: {\(Self.phone), name: My phone}}").configuration
        let provider = try #require(configuration.providers.first)
        #expect(provider.id == "phone" && provider.kind == .firebasePNV && provider.name == "My phone")
        #expect(provider.issuer.text == Self.base + "/projects/123456789012")
        #expect(!provider.rules.endsSessions && !provider.rules.keepsIDTokens && !provider.rules.storesTokens)
        let client = try #require(provider.clients.first)
        #expect(provider.clients.count == 1 && client.id.text == provider.issuer.text)
        #expect(client.requiredAudiences.map(\.text) == [Self.base + "/projects/shop-1"])
        #expect(client.signingAlgorithms == [.es256])
        #expect(client.authentication == .publicClient)
        let party = configuration.relyingParty(of: provider)
        guard case .fixed(let metadata) = party.discovery else {
            Issue.record("it would be discovered")
            return
        }
        #expect(metadata.issuer == provider.issuer.text && metadata.jwksURI?.text == Self.base + "/v1beta/jwks")
        #expect(metadata.authorizationEndpoint == nil)
    }

    @Test(
        "By default no number signs in that is not an identity of an account",
        arguments: [
            ("", false, false), (", register_unknown_numbers: true", true, false),
            (", sign_in_known_numbers: true", false, true),
            (", register_unknown_numbers: false, sign_in_known_numbers: false", false, false),
        ])
    func rules(_ more: String, registersUnknown: Bool, signsInKnown: Bool) throws {
        let loaded = try load("providers: {\(Self.phone)\(more)}}")
        let rules = try #require(loaded.configuration.providers.first?.numberRules)
        #expect(rules.registersUnknown == registersUnknown && rules.signsInKnown == signsInKnown)
        let isWarned = loaded.warnings.contains {
            $0.key == "providers" && $0.reason.contains("sign_in_known_numbers")
        }
        #expect(isWarned == signsInKnown)
    }

    @Test(
        "A token needs no nonce, unless the settings say otherwise",
        arguments: [
            ("", .none), (", native_nonce: none", .none), (", native_nonce: client", .client),
            (", native_nonce: issued", .issued),
        ] as [(String, SignInConfiguration.NativeSignInRules.Nonce)])
    func nonce(_ more: String, _ nonce: SignInConfiguration.NativeSignInRules.Nonce) throws {
        let loaded = try load("providers: {\(Self.phone)\(more)}}")
        #expect(loaded.configuration.providers.first?.clients.first?.native.nonce == nonce)
        #expect(!loaded.warnings.contains { $0.reason.contains("native_nonce") })
    }

    @Test("The keys may be elsewhere, as those of a simulator are")
    func keys() throws {
        let text = "allow_loopback_http: true\nproviders: {\(Self.phone), jwks_uri: 'http://127.0.0.1:8081/keys'}}"
        let provider = try #require(try load(text).configuration.providers.first)
        #expect(provider.rules.endpoints["jwks_uri"]?.text == "http://127.0.0.1:8081/keys")
    }

    @Test(
        "What is missing or malformed is reported",
        arguments: [
            ("phone: {kind: firebase_pnv, project_id: shop-1}", "has no project_number"),
            ("phone: {kind: firebase_pnv, project_number: '1'}", "has no project_id"),
            ("phone: {kind: firebase_pnv, project_number: shop-1, project_id: shop-1}", "is not a project number"),
            ("phone: {kind: firebase_pnv, project_number: '1', project_id: '12345'}", "is not a project id"),
            ("phone: {kind: firebase_pnv, project_number: '1', project_id: Shop}", "is not a project id"),
            ("\(phone), register_unknown_numbers: automatic}", "is neither true nor false"),
            ("\(phone), sign_in_known_numbers: maybe}", "is neither true nor false"),
            ("\(phone), client_id: x}", "is a setting of kind"),
            ("\(phone), issuer: 'https://a.example'}", "is a setting of kind"),
            (
                "\(phone)}, other: {\(phone.dropFirst("phone: {".count)), jwks_uri: 'https://keys.example'}",
                "is also the issuer of another provider, which has other addresses"
            ),
        ])
    func wrong(_ text: String, _ reason: String) {
        let found = problems("providers: {\(text)}", environment: needed)
        #expect(found.contains { $0.contains(reason) && $0.contains("providers") }, "\(found)")
    }
}
