import CarrierSimulator
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// Sign-ins by redirect with ZenKey's optimized discovery, over real sockets.
@Suite(.serialized) struct OptimizedDiscoveryTests {
    private func onWalk(_ body: (ProviderWalk) async throws -> Void) async throws {
        try await ProviderWalk.with(
            configure: { configuration in
                let base = configuration.zenkey.discoveryUIURL?.text.replacing("/ui/discovery-ui", with: "/v1/auth")
                configuration.zenkey.authorizationURL = EndpointURL(base ?? "", policy: .allowLoopbackHTTP)
            }, body)
    }

    /// The user chooses the carrier and approves; returns the redirect back.
    private func approved(_ walk: ProviderWalk, _ browser: Browser, _ asked: Browser.Page) async throws -> String {
        var form = ["mccmnc": SignInHarness.mccmnc]
        for item in asked.parameters.items { form[item.name] = item.value }
        let page = try await browser.post(String(asked.location.prefix { $0 != "?" }), form: form)
        return try await walk.approved(browser, page)
    }

    @Test("Optimized discovery gets the whole authorization request, and the response names the carrier")
    func signsIn() async throws {
        try await onWalk { walk in
            let browser = Browser()
            let asked = try await walk.start(browser, at: "zenkey", ["acr_values": "a3", "context": "Hello"])
            #expect(asked.location.hasPrefix(walk.harness.simulator.optimizedDiscoveryURL ?? "-"))
            for name in ["state", "nonce", "code_challenge", "correlation_id"] {
                #expect(asked.parameters[name] != nil, "\(name)")
            }
            #expect(asked.parameters["response_type"] == "code")
            #expect(asked.parameters["acr_values"] == "a3")
            #expect(asked.parameters["context"] == "Hello")
            let callback = try await approved(walk, browser, asked)
            #expect(Browser.query(of: callback)["mccmnc"] == SignInHarness.mccmnc)
            #expect(try await browser.get(callback).parameters["status"] == "success")
            #expect(walk.harness.simulator.log.tokenPosts(SignInHarness.mccmnc) == 1)
            #expect(walk.harness.simulator.log.count(.discoveryUI) == 0)
            let app = try await walk.harness.session()
            let other = try await walk.harness.app.me(try #require(app)).json["user_id"]?.integer
            #expect(try await walk.userID(browser) == other, "the same user as by a code")
        }
    }

    @Test("A start with an mccmnc goes directly to its carrier")
    func known() async throws {
        try await onWalk { walk in
            let asked = try await walk.start(Browser(), at: "zenkey", ["mccmnc": SignInHarness.mccmnc])
            #expect(asked.location.contains("/carriers/\(SignInHarness.mccmnc)/authorize?"))
        }
    }

    @Test("A response that names no carrier, another one or an unknown one creates no session")
    func otherCarrier() async throws {
        try await onWalk { walk in
            for (mccmnc, posts) in [(String?.none, 0), ("999990", 0), ("310410", 0)] {
                let browser = Browser()
                let callback = try await approved(walk, browser, try await walk.start(browser, at: "zenkey"))
                let named = "mccmnc=\(SignInHarness.mccmnc)"
                #expect(callback.contains(named))
                let changed = callback.replacing(named, with: mccmnc.map { "mccmnc=\($0)" } ?? "x=1")
                let done = try await browser.get(changed)
                #expect(done.parameters["status"] == "failure", "\(mccmnc ?? "none")")
                #expect(walk.sessionCookie(browser) == nil)
                #expect(walk.harness.simulator.log.tokenPosts() == posts, "\(mccmnc ?? "none"): the code stays here")
            }
        }
    }

    @Test("A denial is reported as access_denied")
    func denied() async throws {
        try await onWalk { walk in
            walk.harness.simulator.setFaults([.authorizationDenied], for: SignInHarness.mccmnc)
            let browser = Browser()
            let callback = try await approved(walk, browser, try await walk.start(browser, at: "zenkey"))
            #expect(try await browser.get(callback).parameters["error"] == "access_denied")
        }
    }
}
