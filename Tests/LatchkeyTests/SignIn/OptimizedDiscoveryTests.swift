import CarrierSimulator
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// Sign-ins by redirect whose carrier is found by whoever takes the authorization request, over real sockets.
@Suite(.serialized) struct OptimizedDiscoveryTests {
    private func onWalk(_ body: (ProviderWalk) async throws -> Void) async throws {
        try await ProviderWalk.with(
            configure: { configuration in
                let base = configuration.zenkey.discoveryUIURL?.text.replacing("/ui/discovery-ui", with: "/v1/auth")
                configuration.zenkey.authorizationURL = EndpointURL(base ?? "", policy: .allowLoopbackHTTP)
            }, body)
    }

    /// The user says at the page which carrier it is, and approves there; where the browser is sent back to.
    private func approved(_ walk: ProviderWalk, _ browser: Browser, _ asked: Browser.Page) async throws -> String {
        var form = ["mccmnc": Stage.mccmnc]
        for item in asked.parameters.items { form[item.name] = item.value }
        let page = try await browser.post(String(asked.location.prefix { $0 != "?" }), form: form)
        return try await walk.approved(browser, page)
    }

    @Test("The whole authorization request goes there, and the answer says which carrier it was")
    func signsIn() async throws {
        try await onWalk { walk in
            let browser = Browser()
            let asked = try await walk.start(browser, at: "zenkey", ["acr_values": "a3", "context": "Hello"])
            #expect(asked.location.hasPrefix(walk.stage.simulator.optimizedDiscoveryURL ?? "-"))
            for name in ["state", "nonce", "code_challenge", "correlation_id"] {
                #expect(asked.parameters[name] != nil, "\(name)")
            }
            #expect(asked.parameters["response_type"] == "code")
            #expect(asked.parameters["acr_values"] == "a3")
            #expect(asked.parameters["context"] == "Hello")
            let callback = try await approved(walk, browser, asked)
            #expect(Browser.query(of: callback)["mccmnc"] == Stage.mccmnc)
            #expect(try await browser.get(callback).parameters["status"] == "success")
            #expect(walk.stage.simulator.log.tokenPosts(Stage.mccmnc) == 1)
            #expect(walk.stage.simulator.log.count(.discoveryUI) == 0)
            let app = try await walk.stage.session()
            let other = try await walk.stage.app.me(try #require(app)).json["user_id"]?.integer
            #expect(try await walk.userID(browser) == other, "the same user as by a code")
        }
    }

    @Test("A start that names the network goes straight to its carrier")
    func known() async throws {
        try await onWalk { walk in
            let asked = try await walk.start(Browser(), at: "zenkey", ["mccmnc": Stage.mccmnc])
            #expect(asked.location.contains("/carriers/\(Stage.mccmnc)/authorize?"))
        }
    }

    @Test("An answer that names no carrier, another one, or an unknown one signs nobody in")
    func otherCarrier() async throws {
        try await onWalk { walk in
            for (mccmnc, posts) in [(String?.none, 0), ("999990", 0), ("310410", 0)] {
                let browser = Browser()
                let callback = try await approved(walk, browser, try await walk.start(browser, at: "zenkey"))
                let named = "mccmnc=\(Stage.mccmnc)"
                #expect(callback.contains(named))
                let changed = callback.replacing(named, with: mccmnc.map { "mccmnc=\($0)" } ?? "x=1")
                let done = try await browser.get(changed)
                #expect(done.parameters["status"] == "failure", "\(mccmnc ?? "none")")
                #expect(walk.sessionCookie(browser) == nil)
                #expect(walk.stage.simulator.log.tokenPosts() == posts, "\(mccmnc ?? "none"): the code stays here")
            }
        }
    }

    @Test("A denial comes back as one")
    func denied() async throws {
        try await onWalk { walk in
            walk.stage.simulator.setFaults([.authorizationDenied], for: Stage.mccmnc)
            let browser = Browser()
            let callback = try await approved(walk, browser, try await walk.start(browser, at: "zenkey"))
            #expect(try await browser.get(callback).parameters["error"] == "access_denied")
        }
    }
}
