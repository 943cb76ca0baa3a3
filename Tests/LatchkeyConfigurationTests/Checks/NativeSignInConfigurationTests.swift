import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import Testing

/// The settings of native sign-ins, which are keys of clients and of providers.
@Suite("Settings of native sign-ins")
struct NativeSignInConfigurationTests {
    private static let google = "kind: oidc, issuer: 'https://accounts.google.com'"

    private func rules(_ keys: String) throws -> [SignInConfiguration.NativeSignInRules] {
        let loaded = try load(
            "encryption_keys: ['\(String(repeating: "1f", count: 32))']\nproviders: {google: {\(Self.google), \(keys)}}"
        )
        return loaded.configuration.providers[0].clients.map(\.rules.native)
    }

    @Test("A client has none by default; what the provider says, all its clients have")
    func values() throws {
        let all = try rules("client_id: web, client_secret: s, native_audiences: [web, ios]")
        #expect(all.map { $0.audiences.map(\.text) } == [["web", "ios"]])
        #expect(all.map(\.nonce) == [.issued] && all.map(\.code) == [.ignore])
        #expect(try rules("client_id: web, client_secret: s").map(\.audiences) == [[]])
        let each = try rules(
            "native_nonce: client, store_tokens: true, clients: [{id: a, secret: s, native_audiences: [a], "
                + "native_code: redeem}, {id: b, secret: s, native_audiences: [c], native_nonce: none}]")
        #expect(each.map(\.nonce) == [.client, .none] && each.map(\.code) == [.redeem, .ignore])
    }

    @Test(
        "What contradicts itself is refused with the reason",
        arguments: [
            ("native_nonce: none", "no native_audiences"), ("native_code: redeem", "no native_audiences"),
            ("native_audiences: [web], native_code: redeem", "stores no tokens"),
            (
                "native_audiences: [ios], native_code: redeem, store_tokens: true",
                "good for the client alone that it was issued to"
            ),
            (
                "native_audiences: [web, ios], native_code: redeem, store_tokens: true",
                "good for the client alone that it was issued to"
            ),
            ("native_audiences: [web], native_nonce: client", "ID tokens of browser sign-ins of web"),
            ("native_audiences: [ios, web], native_nonce: none", "ID tokens of browser sign-ins of web"),
            ("native_audiences: [web], native_nonce: sometimes", "is not one of its words"),
        ])
    func refused(_ keys: String, _ reason: String) {
        let found = problems(
            "encryption_keys: ['\(String(repeating: "1f", count: 32))']\n"
                + "providers: {google: {\(Self.google), client_id: web, client_secret: s, \(keys)}}")
        #expect(found.count == 1 && found[0].contains(reason), "\(found)")
    }

    @Test(
        "A nonce that this server does not issue is a warning", arguments: [("issued", 0), ("client", 1), ("none", 1)])
    func warning(_ nonce: String, _ count: Int) throws {
        let loaded = try load(
            "providers: {google: {\(Self.google), client_id: web, client_secret: s, native_audiences: [ios], "
                + "native_nonce: \(nonce)}}")
        #expect(loaded.warnings.count { $0.reason.contains("native_nonce of the client web is \(nonce)") } == count)
    }

    @Test("A provider without ID tokens of its own needs the keys")
    func withoutMetadata() throws {
        let facebook = "client_id: app, client_secret: s, native_audiences: [app]"
        let loaded = try load("providers: {facebook: {\(facebook)}}")
        let endpoints = loaded.configuration.providers[0].rules.endpoints
        #expect(endpoints["jwks_uri"]?.text == "https://www.facebook.com/.well-known/oauth/openid/jwks/")
        let found = problems(
            "providers: {zoom: {kind: oauth2, issuer: 'https://zoom.us', authorization_endpoint: 'https://zoom.us/a', "
                + "token_endpoint: 'https://zoom.us/t', user_endpoint: 'https://zoom.us/u', subject: id, \(facebook)}}")
        #expect(found.count == 1 && found[0].contains("no jwks_uri"), "\(found)")
    }

    @Test("Carriers and mobile operators have none")
    func otherKinds() {
        let found = problems(
            "zenkey: {clients: [{id: ccid-1, secret: s, native_audiences: [a]}]}",
            environment: needed.with("LATCHKEY_ZENKEY_CLIENTS", nil))
        #expect(found.count == 1 && found[0].contains("native_audiences"), "\(found)")
    }
}
