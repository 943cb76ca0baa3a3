import CarrierSimulator
import Foundation
import HTTPServer
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import Registration
import SignIn
import TestSupport
import Testing

/// The ID token in the request of a logout at the provider, over real sockets (docs/accounts.md).
@Suite(.serialized) struct IDTokenHintTests {
    private static let appURI = "com.example.app://done"
    private let sameOrigin = ["Sec-Fetch-Site: same-origin"]

    private func signOut(
        _ walk: ProviderWalk, _ browser: Browser, at provider: String = "acme"
    ) async throws -> Browser.Page {
        try await browser.post(
            "\(walk.origin)/auth/\(provider)/logout", form: ["post_logout_redirect_uri": ProviderWalk.webURI],
            headers: sameOrigin)
    }

    private func refresh(_ walk: ProviderWalk, _ browser: Browser) async throws {
        let page = try await browser.post(
            walk.origin + "/auth/token", form: ["grant_type": "refresh_token"], headers: sameOrigin)
        #expect(page.status == 200)
    }

    private func issued(_ walk: ProviderWalk) throws -> String {
        try #require(walk.harness.simulator.latestIDToken(at: "acme"))
    }

    private func rows(_ walk: ProviderWalk) throws -> Int64 {
        try DatabaseProbe(path: walk.harness.configuration.database.url.path ?? "").number(
            "SELECT count(*) FROM id_token_hints")
    }

    /// An app's session token and refresh token after a sign-in by redirect.
    private func appTokens(_ walk: ProviderWalk) async throws -> (token: String, refreshToken: String) {
        let page = try await walk.signIn(
            Browser(), at: "acme", ["client_type": "ios", "redirect_uri": Self.appURI])
        let answer = try await walk.harness.app.send(
            "POST", "/auth/session", headers: ["Content-Type: application/json"],
            body: App.json(["session_id": page.parameters["session_id"] ?? ""]))
        return (try #require(answer.token), try #require(answer.json["refresh_token"]?.string))
    }

    private func signOut(_ walk: ProviderWalk, app token: String, at app: App? = nil) async throws -> URLComponents {
        let answer = try await (app ?? walk.harness.app).send(
            "POST", "/auth/acme/logout",
            headers: ["Authorization: Bearer \(token)", "Content-Type: application/json", "Accept: application/json"],
            body: App.json(["post_logout_redirect_uri": SignInHarness.redirectURI]))
        #expect(answer.status == 200)
        let location = try #require(answer.json["location"]?.string)
        return try #require(URLComponents(string: location))
    }

    private func hint(in url: URLComponents) -> String? {
        url.queryItems?.first { $0.name == "id_token_hint" }?.value
    }

    @Test("After refreshes, by session token or refresh token, the provider gets the ID token that it issued")
    func refreshed() async throws {
        try await ProviderWalk.with { walk in
            for withoutSession in [false, true] {
                let browser = Browser()
                try await walk.signIn(browser, at: "acme")
                for _ in 0..<2 { try await refresh(walk, browser) }
                let leaving = withoutSession ? Browser(copying: browser, without: ["latchkey_session"]) : browser
                let page = try await signOut(walk, leaving)
                #expect(try page.parameters["id_token_hint"] == issued(walk))
                #expect(page.parameters["client_id"] == SignInHarness.clientID)
                #expect(try await leaving.get(page.location).status == 303, "the provider accepts it")
            }
            #expect(try rows(walk) == 0)
        }
    }

    @Test("An app's logout sends the ID token, also at another instance and after a refresh")
    func app() async throws {
        try await ProviderWalk.with(
            configure: { configuration in
                for index in configuration.providers.indices {
                    configuration.providers[index].clients[0].redirectURIs.append(Self.appURI)
                }
            }
        ) { walk in
            let first = try await appTokens(walk)
            let url = try await signOut(walk, app: first.token)
            #expect(try hint(in: url) == issued(walk))
            let second = try await appTokens(walk)
            try await walk.harness.withInstance { other, _ in
                let answer = try await other.send(
                    "POST", "/auth/token", headers: ["Content-Type: application/json"],
                    body: App.json(["grant_type": "refresh_token", "refresh_token": second.refreshToken]))
                let token = try #require(answer.token)
                let url = try await signOut(walk, app: token, at: other)
                #expect(try hint(in: url) == issued(walk))
            }
            // The session token before a refresh is good for some seconds, and does not open the ID token any more.
            let third = try await appTokens(walk)
            _ = try await walk.harness.app.send(
                "POST", "/auth/token", headers: ["Content-Type: application/json"],
                body: App.json(["grant_type": "refresh_token", "refresh_token": third.refreshToken]))
            let late = try await signOut(walk, app: third.token)
            #expect(hint(in: late) == nil && late.path.hasSuffix("/logout"))
        }
    }

    @Test("A used refresh token ends its session, and gets no ID token")
    func spent() async throws {
        try await ProviderWalk.with { walk in
            let browser = Browser()
            try await walk.signIn(browser, at: "acme")
            let thief = Browser(copying: browser, without: ["latchkey_session"])
            try await refresh(walk, browser)
            let page = try await signOut(walk, thief)
            #expect(page.status == 303)
            #expect(page.parameters["id_token_hint"] == nil)
            #expect(page.parameters["client_id"] == SignInHarness.clientID)
            #expect(try await browser.get(walk.origin + "/users/me").status == 401)
        }
    }

    @Test("The database contains the ID token in no readable form, and not at all after the session")
    func stored() async throws {
        try await ProviderWalk.with { walk in
            let browser = Browser()
            try await walk.signIn(browser, at: "acme")
            #expect(try rows(walk) == 1)
            let parts = try issued(walk).split(separator: ".").map(String.init)
            let claims = try #require(Base64URL.decode(parts[1]))
            let files = Data(walk.files())
            for part in parts + [String(decoding: claims.prefix(40), as: UTF8.self)] {
                #expect(files.range(of: Data(part.utf8)) == nil)
            }
            let erased = try await browser.send(
                "DELETE", walk.origin + "/users/me", headers: sameOrigin)
            #expect(erased.status == 200)
            #expect(try rows(walk) == 0)
        }
    }

    @Test("Sign-ins that cannot need it keep no ID token")
    func unneeded() async throws {
        try await ProviderWalk.with(
            configure: { configuration in
                for index in configuration.providers.indices where configuration.providers[index].id == "globex" {
                    configuration.providers[index].rules.keepsIDTokens = false
                }
            }
        ) { walk in
            #expect(try await walk.token(at: "acme") != nil, "with a code, without a browser")
            #expect(try await walk.harness.session() != nil, "at a carrier")
            try await walk.signIn(Browser(), at: "meetings")
            let browser = Browser()
            try await walk.signIn(browser, at: "globex")
            #expect(try rows(walk) == 0)
            let page = try await signOut(walk, browser, at: "globex")
            #expect(page.location.contains("/providers/globex/logout?"))
            #expect(page.parameters["id_token_hint"] == nil, "id_token_hint: off")
        }
        try await ProviderWalk.with { walk in
            walk.harness.simulator.update("acme") {
                for endpoint in [CarrierSimulator.RequestLog.Endpoint.discovery, .configuration] {
                    $0.tampering.objects[endpoint] = [{ $0["end_session_endpoint"] = nil }]
                }
            }
            try await walk.signIn(Browser(), at: "acme")
            #expect(try rows(walk) == 0, "without an end-session endpoint")
        }
    }

    @Test("A build without features keeps no ID tokens, because nothing reads them")
    func unread() async throws {
        try await ProviderWalk.with { walk in
            var configuration = walk.harness.configuration
            for index in configuration.providers.indices { configuration.providers[index].rules.storesTokens = false }
            configuration.encryptionKeys = [try #require(EncryptionKey([UInt8](repeating: 7, count: 32)))]
            for (features, keeps) in [(FeatureList.standard, true), (.none, false)] {
                let service = try LatchkeyService(configuration: configuration, features: features)
                let rules = try #require(service.useCases.providers["acme"]?.openID)
                #expect(rules.keepsIDTokens == keeps)
                await service.shutdown(within: .zero)
            }
        }
    }

    @Test("An ID token is sent to its issuer only")
    func otherProvider() async throws {
        try await ProviderWalk.with { walk in
            let browser = Browser()
            try await walk.signIn(browser, at: "acme")
            // The client has the same id at both.
            let page = try await signOut(walk, browser, at: "globex")
            #expect(page.location.contains("/providers/globex/logout?"))
            #expect(page.parameters["id_token_hint"] == nil)
        }
    }

    @Test("An ID token that makes the URL too long is left out")
    func long() async throws {
        try await ProviderWalk.with { walk in
            try await walk.signIn(Browser(), at: "acme")
            let length = try issued(walk).utf8.count
            // The URL has some 200 bytes more than the token.
            for (goal, isKept, isSent) in [(7_000, true, true), (8_100, true, false), (9_000, false, false)] {
                let padding = (goal - length) * 3 / 4 - 13
                walk.harness.simulator.update("acme") {
                    $0.tampering.idTokens = [{ $0.claims["padding"] = .string(String(repeating: "p", count: padding)) }]
                }
                let before = try rows(walk)
                let browser = Browser()
                try await walk.signIn(browser, at: "acme")
                #expect(try rows(walk) - before == (isKept ? 1 : 0))
                let page = try await signOut(walk, browser)
                #expect(page.status == 303)
                #expect((page.parameters["id_token_hint"] != nil) == isSent, "\(goal)")
                #expect(page.location.utf8.count <= 8192)
                #expect(try rows(walk) == before)
            }
        }
    }

    @Test("The session of a registration has the ID token of its sign-in", arguments: [false, true])
    func registration(storesTokens: Bool) async throws {
        try await ProviderWalk.with(configure: { configuration in
            configuration.registration.mode = .required
            configuration.encryptionKeys = EncryptionKey.of(ResourceHarness.key)
            for index in configuration.providers.indices where configuration.providers[index].id == "acme" {
                configuration.providers[index].rules.storesTokens = storesTokens
            }
        }) { walk in
            let page = try await walk.signIn(Browser(), at: "acme")
            let handle = try #require(page.parameters["state_key"])
            let files = Data(walk.files())
            #expect(files.range(of: Data(try issued(walk).utf8)) == nil)
            let registered = try await walk.harness.app.send(
                "POST", "/users", headers: ["Content-Type: application/json"], body: App.json(["state_key": handle]))
            #expect(registered.status == 201, "\(registered.response.text)")
            let token = try #require(registered.token)
            let url = try await signOut(walk, app: token)
            #expect(try hint(in: url) == issued(walk))
        }
    }
}
