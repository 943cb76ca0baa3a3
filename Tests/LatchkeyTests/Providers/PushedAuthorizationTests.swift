import CarrierSimulator
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import Redirects
import Registration
import SignIn
import TestSupport
import Testing

/// Redirect sign-ins at providers that require pushed authorization requests (RFC 9126), over real sockets. The
/// simulator then refuses a request whose parameters come by the browser.
@Suite(.serialized) struct PushedAuthorizationTests {
    private func withWalk(
        requiring providers: [String] = ["acme"], _ configure: (inout Configuration) -> Void = { _ in },
        _ body: (ProviderWalk) async throws -> Void
    ) async throws {
        try await ProviderWalk.with(configure: configure) { walk in
            for provider in providers { walk.harness.simulator.setFaults([.parRequired], for: provider) }
            try await body(walk)
        }
    }

    private func pushes(_ walk: ProviderWalk, _ provider: String = "acme") -> Int {
        walk.harness.simulator.log.count(.pushedAuthorization, provider)
    }

    private func names(_ page: Browser.Page) -> [String] { page.parameters.items.map(\.name) }

    @Test("A user signs in, and the browser brings client_id and request_uri only")
    func web() async throws {
        try await withWalk { walk in
            let browser = Browser()
            let fields = ["scope": "openid email", "login_hint": "jane@example.org", "prompt": "login"]
            let asked = try await walk.start(browser, at: "acme", fields)
            #expect(asked.status == 303)
            #expect(asked.location.hasPrefix((walk.harness.simulator.issuer(of: "acme") ?? "-") + "/authorize?"))
            #expect(names(asked) == ["client_id", "request_uri"])
            let pushed = try #require(walk.harness.simulator.log.last(.pushedAuthorization, "acme"))
            #expect(pushed["login_hint"] == "jane@example.org")
            #expect(pushed["prompt"] == "login")
            #expect(pushed["redirect_uri"] == walk.origin + "/auth/acme/callback")
            #expect(pushed["code_challenge_method"] == "S256")
            #expect(pushed["correlation_id"] == nil, "a provider that is no carrier gets no parameter of carriers")
            #expect(pushed.authorization?.hasPrefix("Basic ") == true)
            let done = try await browser.get(try await walk.approved(browser, asked))
            #expect(done.parameters["status"] == "success", "\(done.location)")
            #expect(try await walk.userID(browser) != nil)
            #expect(pushes(walk) == 1)
        }
    }

    @Test("A provider that does not require them gets no pushed requests, unless the setting says always")
    func setting() async throws {
        try await withWalk(requiring: []) {
            $0.providers[1].extensions.pushedAuthorizationRequests = .always
        } _: { walk in
            let usual = try await walk.signIn(Browser(), at: "acme")
            let always = try await walk.signIn(Browser(), at: "globex")
            #expect(usual.parameters["status"] == "success")
            #expect(always.parameters["status"] == "success")
            #expect(pushes(walk) == 0)
            #expect(pushes(walk, "globex") == 1)
        }
    }

    @Test("A script's start names the request's own expiry, if that is sooner")
    func expiry() async throws {
        try await withWalk { walk in
            for (provider, seconds) in [("acme", Int64(60)), ("globex", 3600)] {
                let query = App.form(["client_type": "web", "redirect_uri": ProviderWalk.webURI])
                let page = try await Browser().get(
                    "\(walk.origin)/auth/\(provider)/start?\(query)", headers: ["Accept: application/json"])
                #expect(App.Members(of: page.response.body)["expires_in"]?.integer == seconds)
            }
        }
    }

    @Test("A popup, and a user who must register, sign in as well")
    func otherFrontends() async throws {
        try await withWalk {
            $0.registration.mode = .required
        } _: { walk in
            let done = try await walk.signIn(Browser(), at: "acme", ["client_type": "popup"])
            #expect(done.text.contains("&quot;status&quot;:&quot;partial&quot;"), "\(done.text)")
            let registered = try await walk.signIn(Browser(), at: "acme")
            #expect(registered.parameters["status"] == "partial")
            #expect(pushes(walk) == 2)
        }
    }

    @Test("A signed-in user links an identity")
    func link() async throws {
        try await withWalk(requiring: ["globex"]) { walk in
            let browser = Browser()
            try await walk.signIn(browser, at: "acme")
            let asked = try await browser.post(
                walk.origin + "/auth/globex/link",
                form: ["client_type": "web", "redirect_uri": ProviderWalk.webURI],
                headers: ["Sec-Fetch-Site: same-origin"])
            #expect(names(asked) == ["client_id", "request_uri"])
            let done = try await browser.get(try await walk.approved(browser, asked))
            #expect(done.location.hasPrefix(ProviderWalk.webURI + "?action=link&status=success"))
        }
    }

    @Test("On a secondary device the carrier's login_hint_token is pushed")
    func secondaryDevice() async throws {
        try await withWalk(requiring: [SignInHarness.mccmnc]) { walk in
            let browser = Browser()
            let choice = try await walk.start(browser, at: "zenkey")
            let chosen = try await walk.harness.onThePhone(browser, choice, answering: "approve")
            let asked = try await browser.get(chosen.location)
            let hint = try #require(chosen.parameters["login_hint_token"])
            #expect(names(asked) == ["client_id", "request_uri"])
            let pushed = try #require(walk.harness.simulator.log.last(.pushedAuthorization, SignInHarness.mccmnc))
            #expect(pushed["login_hint_token"] == hint)
            #expect(pushed["correlation_id"] != nil)
            let done = try await browser.get(try await walk.approved(browser, asked))
            #expect(done.parameters["status"] == "success", "\(done.location)")
        }
    }

    struct Failure: Sendable, CustomTestStringConvertible {
        let fault: CarrierSimulator.Fault
        let error: String
        let says: String
        var testDescription: String { fault.name }

        init(_ fault: CarrierSimulator.Fault, _ error: String, _ says: String) {
            self.fault = fault
            self.error = error
            self.says = says
        }
    }

    static let failures: [Failure] = [
        .init(.parInvalidRequest, "invalid_request", "does not accept this server's request"),
        .init(.parInvalidClient, "carrier_error", "invalid_client"), .init(.par500, "carrier_error", "JSON"),
        .init(.parNotJSON, "carrier_error", "JSON"), .init(.parRedirect, "carrier_error", "JSON"),
        .init(.parHuge, "carrier_error", "too large"), .init(.parStatus200, "carrier_error", "status 200"),
        .init(.parMissingRequestURI, "carrier_error", "request_uri"),
        .init(.parControlCharacter, "carrier_error", "request_uri"),
        .init(.parLongRequestURI, "carrier_error", "request_uri"),
        .init(.parMissingExpiresIn, "carrier_error", "expires_in"), .init(.parExpired, "carrier_error", "expires_in"),
        .init(.parSlow, "carrier_timeout", "in time"), .init(.discoveryNoPAR, "carrier_error", "is missing"),
    ]

    @Test("A provider's error is the frontend's, and no browser goes to the provider", arguments: failures)
    func fails(row: Failure) async throws {
        try await withWalk {
            if row.fault == .parSlow { $0.outbound.limits.tokenTimeout = OutboundLimits.shortTimeout }
        } _: { walk in
            walk.harness.simulator.setFaults([.parRequired, row.fault], for: "acme")
            let browser = Browser()
            let ended = try await walk.start(browser, at: "acme", ["tracking_id": "t-1"])
            #expect(ended.status == 303)
            #expect(ended.location.hasPrefix(ProviderWalk.webURI + "?action=login&status=failure"))
            #expect(ended.parameters["error"] == row.error)
            let description = ended.parameters["error_description"] ?? ""
            #expect(description.contains(row.says), "\(description)")
            #expect(!description.contains("Send the same request"), "a browser cannot")
            #expect(walk.harness.simulator.log.count(.authorization, "acme") == 0)
            #expect(pushes(walk) == (row.fault == .discoveryNoPAR ? 0 : 1))
        }
    }

    @Test("A refused start leaves no pending sign-in behind")
    func forgotten() async throws {
        try await withWalk {
            $0[RedirectsSettings.self].maximumPending = 2
        } _: { walk in
            walk.harness.simulator.setFaults([.parRequired, .parInvalidRequest], for: "acme")
            for _ in 0..<3 {
                let ended = try await walk.start(Browser(), at: "acme")
                #expect(ended.parameters["error"] == "invalid_request")
            }
            let metrics = try await walk.harness.app.send("GET", "/metrics").response.text
            #expect(metrics.contains("\nlatchkey_redirect_starts_pending 0\n"))
        }
    }

    @Test("With par: never the request goes by the browser, whatever the metadata says")
    func never() async throws {
        try await withWalk {
            $0.providers[0].extensions.pushedAuthorizationRequests = .never
        } _: { walk in
            let asked = try await walk.start(Browser(), at: "acme")
            #expect(asked.parameters["code_challenge"] != nil)
            #expect(pushes(walk) == 0)
            #expect(try await Browser().get(asked.location).status == 400, "the provider enforces what it requires")
        }
    }
}
