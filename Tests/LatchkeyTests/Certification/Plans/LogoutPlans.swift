import CarrierSimulator
import HTTPServer
import Primitives
import TestSupport
import Testing

/// The plans about logout.
extension CertificationPlan {
    static let initiatedLogout = CertificationPlan(
        id: "logout", title: "RP-initiated logout", name: "oidcc-client-rp-initiated-logout-rp-basic",
        summary: "The user signs out here and at the provider, which gets the ID token as `id_token_hint`.",
        modules: [
            CertificationModule("oidcc-client-test-rp-init-logout", .loggedOut).by(logOut),
            CertificationModule(
                "oidcc-client-test-rp-init-logout-other-state", .loggedOut, .fault(.logoutOtherState)
            ).by(logOut),
            CertificationModule(
                "oidcc-client-test-rp-init-logout-no-state", .loggedOut, .fault(.logoutMissingState)
            ).by(logOut),
        ])

    static let backChannelLogout = CertificationPlan(
        id: "backchannel", title: "Back-channel logout", name: "oidcc-client-back-channel-logout-rp-basic",
        summary: """
            While a user signs out at the provider, the provider posts a logout token for the session of another \
            browser. The client is registered without an algorithm.
            """,
        clientSettings: [:], provider: { $0.tampering.objects[.discovery, default: []].append(listAlgorithms) },
        modules: [
            backChannel("", .loggedOut, nil), backChannel("-alg-none", .logoutRefused, .algNone),
            backChannel("-wrong-alg", .logoutRefused, .hs256BySecret),
            backChannel("-wrong-iss", .logoutRefused, .otherIssuer),
            backChannel("-wrong-aud", .logoutRefused, .otherAudience),
            backChannel("-no-event", .logoutRefused, .noEvent),
            backChannel("-wrong-event", .logoutRefused, .otherEvent),
            backChannel("-with-nonce", .logoutRefused, .withNonce),
        ])

    static let frontChannelLogout = CertificationPlan(
        id: "frontchannel", title: "Front-channel logout", name: "oidcc-client-front-channel-logout-rp-basic",
        summary: "The provider's page loads a page of the relying party in a frame.",
        others: [
            Others(
                names: [
                    "oidcc-client-test-rp-frontchannel-rpinitlogout", "oidcc-client-test-rp-frontchannel-opinitlogout",
                ],
                reason: "Browsers send no cookie into a frame of another site: back-channel logout ends the session.")
        ])

    static let sessionManagement = CertificationPlan(
        id: "frames", title: "Session management", name: "oidcc-client-rp-session-management-rp-basic",
        summary: "A page of the relying party polls a frame of the provider.",
        others: [
            Others(
                names: ["oidcc-client-test-session-management"],
                reason: "Browsers give a frame of another site no cookie: back-channel logout ends the session.")
        ])

    private static func listAlgorithms(_ metadata: inout JSONMembers) {
        metadata["id_token_signing_alg_values_supported"] = ["RS256", "ES256"]
    }

    // MARK: Steps

    private static let logOut: CertificationModule.Steps = { run in
        let browser = Browser()
        let observation = try await run.signIn(browser)
        guard observation == .signedIn else { return observation }
        let out = try await run.leave(browser)
        let back = try await browser.get(out.location)
        guard back.status == 303 else { return .other("the provider does not send the browser back") }
        let page = try await browser.get(back.location)
        // Another state, or none, does not take the browser back to the frontend.
        let isCorrect = run.module.behaviour.faults.isEmpty
        #expect(page.location.hasPrefix(CertificationHarness.webURI) == isCorrect)
        return try await run.hasSession(browser) ? .other("the session goes on") : .loggedOut
    }

    private static func backChannel(
        _ name: String, _ expected: CertificationModule.Observation, _ defect: CarrierSimulator.LogoutDefect?
    ) -> CertificationModule {
        CertificationModule("oidcc-client-test-rp-backchannel-rpinitlogout" + name, expected).by { run in
            let (browser, other) = (Browser(), Browser())
            for one in [browser, other] {
                let observation = try await run.signIn(one)
                guard observation == .signedIn else { return observation }
            }
            let out = try await run.leave(browser)
            let status = try await run.sendLogout(defect)
            if defect == .hs256BySecret {
                // A genuine signature with an algorithm that the registration does not mean is as wrong.
                run.simulator.update(run.provider) { $0.signingAlgorithm = .es256 }
                #expect(try await run.sendLogout(nil) == 400)
            }
            let back = try await browser.get(out.location)
            guard back.status == 303 else { return .other("the provider does not send the browser back") }
            let page = try await browser.get(back.location)
            #expect(page.location.hasPrefix(CertificationHarness.webURI))
            #expect(try await !run.hasSession(browser))
            switch (status, try await run.hasSession(other)) {
            case (200, false): return .loggedOut
            case (400, true): return .logoutRefused
            case (let status, let hasSession): return .other("\(status), session: \(hasSession)")
            }
        }
    }
}

extension CertificationRun {
    func hasSession(_ browser: Browser) async throws -> Bool {
        try await browser.get("\(harness.origin)/users/me").status == 200
    }

    /// Signs a browser out, and returns the response that sends it to the provider.
    fileprivate func leave(_ browser: Browser) async throws -> Browser.Page {
        let out = try await browser.post(
            path + "/logout", form: ["post_logout_redirect_uri": CertificationHarness.webURI],
            headers: ["Origin: \(harness.origin)"])
        #expect(out.location.hasPrefix((simulator.issuer(of: provider) ?? "-") + "/logout?"))
        #expect(out.parameters["id_token_hint"] != nil && out.parameters["state"] != nil)
        #expect(out.parameters["post_logout_redirect_uri"] == path + "/logged-out")
        return out
    }

    /// Posts a logout token for the session of the last sign-in, and returns the status of the response.
    fileprivate func sendLogout(_ defect: CarrierSimulator.LogoutDefect?) async throws -> Int {
        let token = try await simulator.logoutToken(
            of: provider, clientID: plan.client.rawValue, user: "jane",
            sessionID: simulator.latestSessionID(at: provider), defect: defect)
        return try await simulator.sendLogout(token, to: path + "/backchannel-logout")
    }
}
