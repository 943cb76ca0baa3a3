import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import Testing

/// `dpop_bound_tokens`, a key of clients and of providers.
@Suite("Settings of bound session tokens")
struct BoundTokensConfigurationTests {
    private static let url = "public_url: 'https://login.example'\n"
    private static let acme = "kind: oidc, issuer: 'https://acme.example', client_id: web, client_secret: s"
    private static let globex = "kind: oidc, issuer: 'https://globex.example', client_id: web, client_secret: s"

    private func text(_ keys: String, general: String = url) -> String {
        "\(general)providers: {acme: {\(Self.acme)\(keys)}}"
    }

    @Test("They are not bound by default", arguments: SignInConfiguration.BoundTokens.allCases)
    func values(_ value: SignInConfiguration.BoundTokens) throws {
        func rule(_ keys: String) throws -> SignInConfiguration.BoundTokens? {
            try load(text(keys)).configuration.providers[0].clients.first?.rules.boundTokens
        }
        #expect(try rule("") == .off)
        #expect(try rule(", dpop_bound_tokens: '\(value.rawValue)'") == value)
    }

    @Test("What contradicts itself is refused with the reason")
    func refused() {
        func found(_ text: String) -> [String] { problems(text).filter { $0.contains("dpop_bound_tokens") } }
        let required = ", dpop_bound_tokens: required"
        let open = "http: {host: 0.0.0.0}\n"
        #expect(found(text(", dpop_bound_tokens: always")).count == 1)
        #expect(found(text(required, general: "http: {host: 127.0.0.1}\n")) == [])
        let unnamed = found(text(required, general: open))
        #expect(unnamed.count == 1 && unnamed[0].contains("set public_url"), "\(unnamed)")
        #expect(found(text(required, general: open + Self.url)) == [])
        let both = "\(Self.url)providers: {acme: {\(Self.acme)\(required)}, globex: {\(Self.globex)}}"
        #expect(found(both) == [])
        let unmet = problems(text(required), of: FeatureList.none.settings)
        #expect(
            unmet.count == 1 && unmet[0].hasPrefix("providers.acme.dpop_bound_tokens: needs the feature BoundTokens, "),
            "\(unmet)")
    }
}
