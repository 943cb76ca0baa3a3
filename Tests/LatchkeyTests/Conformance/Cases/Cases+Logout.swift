import CarrierSimulator
import Crypto
import Foundation
import HTTPServer
import Primitives
import TestSupport
import Testing

/// Logouts of the OpenID provider `acme`, which is not a carrier.
extension ConformanceCases {
    static let logouts: [ConformanceCase] = [
        .loggedOut("oidcc-client-test-rp-backchannel-rpinitlogout", .logout(backChannel(nil))),
        .request("oidcc-client-test-rp-backchannel-rpinitlogout-alg-none", .logout(backChannel(.algNone))),
        .request("oidcc-client-test-rp-backchannel-rpinitlogout-wrong-alg", .logout(backChannel(.hs256BySecret))),
        .request("oidcc-client-test-rp-backchannel-rpinitlogout-wrong-iss", .logout(backChannel(.otherIssuer))),
        .request("oidcc-client-test-rp-backchannel-rpinitlogout-wrong-aud", .logout(backChannel(.otherAudience))),
        .request("oidcc-client-test-rp-backchannel-rpinitlogout-no-event", .logout(backChannel(.noEvent))),
        .request("oidcc-client-test-rp-backchannel-rpinitlogout-wrong-event", .logout(backChannel(.otherEvent))),
        .request("oidcc-client-test-rp-backchannel-rpinitlogout-with-nonce", .logout(backChannel(.withNonce))),
        .loggedOut("oidcc-client-test-rp-init-logout", .logout(byUser([]))),
        .loggedOut(
            "oidcc-client-test-rp-init-logout-no-state", .fault(.logoutMissingState),
            .logout(byUser([.logoutMissingState]))),
        .loggedOut(
            "oidcc-client-test-rp-init-logout-other-state", .fault(.logoutOtherState),
            .logout(byUser([.logoutOtherState]))),
    ]

    private static let provider = "acme"

    /// Signs in, posts a logout token of the provider, and checks the session.
    private static func backChannel(_ defect: CarrierSimulator.LogoutDefect?) -> ConformanceCase.Steps {
        { run in
            let (app, simulator) = (run.harness.app, run.harness.simulator)
            let verifier = RandomSource.system.token()
            let code = try simulator.issueCode(
                mccmnc: provider, clientID: SignInHarness.clientID, redirectURI: SignInHarness.redirectURI,
                codeChallenge: Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 }), nonce: "n-1")
            let fields = [
                "client_id": SignInHarness.clientID, "code": code, "redirect_uri": SignInHarness.redirectURI,
                "code_verifier": verifier, "nonce": "n-1",
            ]
            let session = try await app.send(
                "POST", "/auth/\(provider)/sign-in", headers: ["Content-Type: application/json"],
                body: App.json(fields)
            ).token
            let token = try await simulator.logoutToken(
                of: provider, clientID: SignInHarness.clientID, user: "jane",
                sessionID: simulator.latestSessionID(at: provider), defect: defect)
            run.keepSecret([code, verifier, token])
            let answer = try await run.timed {
                try await app.send(
                    "POST", "/auth/\(provider)/backchannel-logout",
                    headers: ["Content-Type: application/x-www-form-urlencoded"],
                    body: App.form(["logout_token": token]))
            }
            #expect(answer.response["cache-control"] == "no-store")
            #expect(try await app.me(try #require(session)).status == (defect == nil ? 401 : 200))
            return [answer]
        }
    }

    /// Signs a browser in and out; returns the response to the redirect from the provider.
    private static func byUser(_ faults: Set<CarrierSimulator.Fault>) -> ConformanceCase.Steps {
        { run in
            let (base, simulator) = ("http://127.0.0.1:\(run.harness.app.port)", run.harness.simulator)
            simulator.setFaults(faults, for: provider)
            defer { simulator.setFaults([], for: provider) }
            let browser = Browser()
            let start = App.form(["client_type": "web", "redirect_uri": ConformanceHarness.webURI])
            let asked = try await browser.get("\(base)/auth/\(provider)/start?\(start)")
            var form: [String: String] = [:]
            for item in asked.parameters.items { form[item.name] = item.value }
            let approved = try await browser.post(asked.location.prefix { $0 != "?" } + "/approve", form: form)
            _ = try await browser.get(approved.location)
            #expect(try await browser.get(base + "/users/me").status == 200)
            let out = try await browser.post(
                "\(base)/auth/\(provider)/logout", form: ["post_logout_redirect_uri": ConformanceHarness.webURI],
                headers: ["Origin: \(base)"])
            #expect(out.location.contains("/logout?"))
            #expect(out.parameters["id_token_hint"] == simulator.latestIDToken(at: provider))
            let back = try await browser.get(out.location)
            let page = try await run.timed { try await browser.get(back.location) }
            #expect(page.location.hasPrefix(ConformanceHarness.webURI) == faults.isEmpty)
            #expect(try await browser.get(base + "/users/me").status == 401)
            return [App.Answer(response: page.response, json: App.Members(of: page.response.body))]
        }
    }
}
