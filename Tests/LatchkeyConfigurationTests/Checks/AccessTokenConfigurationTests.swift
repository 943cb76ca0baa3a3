import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import Testing

/// The settings of session tokens that services verify without a request, which are keys of clients and of providers.
@Suite("Settings of session tokens")
struct AccessTokenConfigurationTests {
    private static let acme = "kind: oidc, issuer: 'https://acme.example'"

    private static let url = "public_url: 'https://login.example'\n"
    private static let key = "encryption_keys: ['\(String(repeating: "1f", count: 32))']\n"

    private func text(_ keys: String, general: String = url + key) -> String {
        "\(general)providers: {acme: {\(Self.acme), \(keys)}}"
    }

    @Test("They are opaque by default; what the provider says, all its clients have")
    func values() throws {
        func rules(_ keys: String) throws -> [SignInConfiguration.AccessTokenRules] {
            try load(text(keys)).configuration.providers[0].clients.map(\.rules.accessToken)
        }
        #expect(try rules("client_id: web, client_secret: s") == [.init()])
        let all = try rules(
            "client_id: web, client_secret: s, access_token: jwt, access_token_audience: ['https://a.example', b]")
        #expect(all.map(\.form) == [.jwt] && all[0].audience.map(\.text) == ["https://a.example", "b"])
        let each = try rules(
            "access_token_audience: [a], access_token: jwt, clients: [{id: a, secret: s}, "
                + "{id: b, secret: s, access_token_audience: [b]}]")
        #expect(each.map(\.form) == [.jwt, .jwt])
        #expect(each.map { $0.audience.map(\.text) } == [["a"], ["b"]])
        let carriers = try load(
            Self.url + Self.key
                + "zenkey: {clients: [{id: ccid-1, secret: s, access_token: jwt, access_token_audience: [a]}]}",
            environment: needed.with("LATCHKEY_ZENKEY_CLIENTS", nil))
        #expect(carriers.configuration.zenkey.clients.map(\.rules.accessToken.form) == [.jwt])
    }

    private static let jwt = "access_token: jwt, access_token_audience: [a]"
    private static let long = String(repeating: "a", count: 250)

    @Test(
        "What contradicts itself is refused with the reason",
        arguments: [
            ("access_token: jwt", "no access_token_audience"),
            ("access_token_audience: [a]", "opaque tokens"),
            ("access_token: opaque, access_token_audience: [a]", "opaque tokens"),
            ("access_token: JWT, access_token_audience: [a]", "is not one of its words"),
            ("\(jwt), sessions: {access_lifetime: 43201s}", "more than 12 hours"),
            ("access_token: jwt, access_token_audience: ['\(long)b', '\(long)c', '\(long)d', '\(long)e']", "too long"),
        ])
    func refused(_ keys: String, _ reason: String) {
        let found = problems(text("client_id: web, client_secret: s, \(keys)"))
        #expect(found.count == 1 && found[0].contains(reason), "\(found)")
    }

    @Test("public_url, the client's id and the audiences have up to 1024 characters", arguments: [1024, 1025])
    func names(_ length: Int) {
        let rest = length - "https://login.example".count - "web".count - 4 * 200
        let audience = ["a", "b", "c", "d"].map { "'\(Self.long.prefix(199))\($0)'" } + ["'\(Self.long.prefix(rest))'"]
        let found = problems(
            text(
                "client_id: web, client_secret: s, access_token: jwt, "
                    + "access_token_audience: [\(audience.joined(separator: ", "))]"))
        #expect(found.isEmpty == (length == 1024), "\(found)")
    }

    @Test("They need an issuer and encrypted keys, and are the same for a client of two providers")
    func context() {
        let web = "client_id: web, client_secret: s"
        for (general, reason) in [(Self.key, "needs an issuer"), (Self.url, "are stored encrypted only")] {
            let found = problems(text("\(web), \(Self.jwt)", general: general))
            #expect(found.count == 1 && found[0].contains(reason), "\(found)")
        }
        let globex = "kind: oidc, issuer: 'https://globex.example', \(web)"
        for (keys, count) in [("", 1), (", \(Self.jwt)", 0), (", access_token: jwt, access_token_audience: [b]", 2)] {
            let found = problems(
                Self.url + Self.key
                    + "providers: {acme: {\(Self.acme), \(web), \(Self.jwt)}, globex: {\(globex)\(keys)}}")
            #expect(found.count == count && found.allSatisfy { $0.contains("at another provider") }, "\(found)")
        }
        let unmet = problems(text("\(web), \(Self.jwt)"), of: FeatureList.none.settings)
        #expect(
            unmet.count == 1 && unmet[0].hasPrefix("providers.acme.access_token: needs the feature Services, "),
            "\(unmet)")
    }

    @Test(
        "A token of more than an hour is a warning",
        arguments: [
            ("", "", 0), (", sessions: {access_lifetime: 1h}", "", 0), (", sessions: {access_lifetime: 61m}", "", 1),
            (", sessions: {access_lifetime: 12h}", "", 1), ("", "sessions: {access_lifetime: 12h}\n", 0),
        ])
    func warning(_ own: String, _ general: String, _ count: Int) throws {
        let loaded = try load(
            text("client_id: web, client_secret: s, \(Self.jwt)\(own)", general: Self.url + Self.key + general))
        let found = loaded.warnings.filter { $0.reason.contains("services may take its tokens for") }
        #expect(found.count == count, "\(loaded.warnings)")
    }
}
