import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import PhoneVerification
import Primitives
import SignIn
import Testing

@Suite("The configuration of an aggregator of mobile networks")
struct AggregatorConfigurationTests {
    private static let base = "https://api.aggregator.example"
    private static let required =
        "kind: aggregator, issuer: '\(base)', client_id: latchkey, client_secret: s, token_endpoint: '\(base)/token', "
        + "prepare_endpoint: '\(base)/prepare', process_endpoint: '\(base)/process'"
    private static let origins = "credential_origins: ['https://app.example']"

    private func provider(_ more: String) throws -> Configuration.Provider {
        try #require(try load("providers: {carriers: {\(Self.required), \(more)}}").configuration.providers.first)
    }

    @Test("A build without the feature refuses the kind")
    func leftOut() {
        let text = "providers: {carriers: {\(Self.required), \(Self.origins)}}"
        #expect(problems(text) == [])
        let found = problems(text, of: FeatureList.none.settings)
        #expect(found.count == 1 && found[0].contains("needs the feature PhoneVerification"), "\(found)")
        let unnamed = problems(text, of: .core)
        #expect(unnamed.contains { $0.contains("needs a feature, which this build of the program does") }, "\(unnamed)")
    }

    @Test(
        "The value of a header field is a secret in a file that every user can read",
        arguments: [("", nil), (", headers: {x-key: s}", "providers"), (", headers: 'x-key=s'", "providers")]
            as [(String, String?)])
    func headersInFile(more: String, key: String?) throws {
        let required = Self.required.replacing("client_secret: s", with: "client_secret_file: f")
        let text = "providers: {carriers: {\(required), \(Self.origins)\(more)}}"
        let loaded = try load(text, files: ["f": "s3cret"], readableByAll: true)
        let warned = loaded.warnings.filter { $0.reason.contains("the file holds secrets") }
        #expect(warned.map(\.key) == [key].compactMap(\.self))
    }

    @Test("This server is its one client, nothing is discovered, and by default no number signs in")
    func defaults() throws {
        let provider = try provider(Self.origins)
        #expect(provider.kind == .aggregator && provider.clients.map(\.id.text) == ["latchkey"])
        #expect(provider.clients.first?.scopes == [])
        #expect(provider.clients.first?.authentication.method == .clientSecretBasic)
        let rules = try #require(provider.aggregator)
        #expect(rules.credentialOrigins == ["https://app.example"] && rules.adapter == .sessions)
        #expect(rules.networks.isEmpty && rules.linkNetworks.isEmpty && !rules.verifiesDesktops)
        #expect(rules.simSwap.ifSwapped == .off && rules.consent == nil)
        #expect(provider.numberRules == NumberSignInRules())
        #expect(!provider.rules.endsSessions && !provider.rules.keepsIDTokens && !provider.rules.storesTokens)
        let configuration = try load("providers: {carriers: {\(Self.required), \(Self.origins)}}").configuration
        guard case .fixed(let metadata) = configuration.relyingParty(of: provider).discovery else {
            Issue.record("it would be discovered")
            return
        }
        #expect(metadata.issuer == Self.base && metadata.tokenEndpoint.text == Self.base + "/token")
        #expect(metadata.jwksURI == nil && metadata.authorizationEndpoint == nil)
    }

    @Test("Everything that can be said of it is read")
    func all() throws {
        let hash = "android:apk-key-hash:" + String(repeating: "A", count: 43)
        let provider = try provider(
            """
            credential_origins: ['https://app.example', '\(hash)'], mccmnc: ['310260'], link_mccmnc: ['311480'],
            redirect_uris: ['com.example.app:/cb'], consent: Sign in, headers: {X-Key: k},
            fields: {session: session.session_key, phone_number: result.msisdn}, sim_swap: {if_swapped: refuse},
            register_unknown_numbers: true, desktop: on, adapter: sessions
            """)
        let rules = try #require(provider.aggregator)
        #expect(rules.credentialOrigins == ["https://app.example", hash] && rules.consent == "Sign in")
        #expect(rules.networks.map(\.text) == ["310260"] && rules.linkNetworks.map(\.text) == ["311480"])
        #expect(rules.verifiesDesktops && rules.simSwap.ifSwapped == .refuse)
        #expect(rules.headers.mapValues(\.exposed) == ["x-key": "k"])
        #expect(rules.path(of: .session) == ["session", "session_key"])
        #expect(rules.path(of: .phoneNumber) == ["result", "msisdn"] && rules.path(of: .mcc) == ["plmn", "mcc"])
        #expect(provider.numberRules?.registersUnknown == true && provider.numberRules?.signsInKnown == false)
    }

    @Test("A number that signs in without its account's consent is a warning")
    func warned() throws {
        let loaded = try load("providers: {carriers: {\(Self.required), \(Self.origins), sign_in_known_numbers: true}}")
        #expect(loaded.warnings.contains { $0.reason.contains("sign_in_known_numbers") }, "\(loaded.warnings)")
        // What the victim loses is in the warning.
        let desktop = try load("providers: {carriers: {\(Self.required), \(Self.origins), desktop: on}}")
        let lost = "cannot sign in where the number is its only way in"
        #expect(desktop.warnings.contains { $0.reason.contains(lost) }, "\(desktop.warnings)")
    }

    @Test("What is missing is reported")
    func missing() {
        let rows: [(part: String, reason: String)] = [
            ("token_endpoint: '\(Self.base)/token', ", "no token_endpoint"),
            ("prepare_endpoint: '\(Self.base)/prepare', ", "no prepare_endpoint"),
            (", process_endpoint: '\(Self.base)/process'", "no process_endpoint"),
            ("client_secret: s, ", "give its secret or private_key"), ("client_id: latchkey, ", "has no id"),
            ("issuer: '\(Self.base)', ", "has no issuer"),
        ]
        for row in rows {
            let text = Self.required.replacing(row.part, with: "")
            let found = problems("providers: {carriers: {\(text), \(Self.origins)}}", environment: needed)
            #expect(found.contains { $0.contains(row.reason) }, "\(row): \(found)")
        }
        let found = problems("providers: {carriers: {\(Self.required)}}", environment: needed)
        #expect(found.contains { $0.contains("has no credential_origins") }, "\(found)")
    }

    @Test(
        "What is malformed is reported",
        arguments: [
            ("link_mccmnc: ['311480']", "has link_mccmnc, but no redirect_uris"),
            ("fields: {mcc: phone_number}", "mcc and phone_number are in one place"),
            ("fields: {code: session_key.x}", "session and code are in one place"),
            ("fields: {pin: a}", "there is no such field"), ("fields: {session: ''}", "is not the name of a member"),
            ("desktop: on, sign_in_known_numbers: true", "has desktop: on, and a provider has sign_in_known_numbers"),
            ("desktop: maybe", "is neither on nor off"), ("adapter: other", "is not one of"),
            ("scope_form: purpose", "is a setting of kind"),
        ])
    func wrong(_ more: String, _ reason: String) {
        let found = problems("providers: {carriers: {\(Self.required), \(Self.origins), \(more)}}", environment: needed)
        #expect(found.contains { $0.contains(reason) && $0.contains("providers") }, "\(found)")
    }

    @Test("An origin is that of a page or of an app", arguments: ["app.example", "android:apk-key-hash:AAAA", "null"])
    func origins(_ origin: String) {
        let text = "providers: {carriers: {\(Self.required), credential_origins: ['\(origin)']}}"
        let found = problems(text, environment: needed)
        #expect(found.contains { $0.contains("is not the origin of a page or of an app") }, "\(found)")
    }
}
