import CarrierSimulator
import Foundation
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import Registration
import SignIn
import TestSupport
import Testing

/// Logout at Latchkey and at the provider, over real sockets (docs/accounts.md).
@Suite(.serialized) struct LogoutTests {
    private typealias Defect = CarrierSimulator.LogoutDefect

    /// A signed-in browser, and the `sid` of its provider session.
    private func signedIn(
        _ walk: ProviderWalk, at provider: String = "acme", user: String = "jane"
    ) async throws -> (browser: Browser, sessionID: String) {
        let browser = Browser()
        try await walk.signIn(browser, at: provider, user: user)
        return (browser, try #require(walk.harness.simulator.latestSessionID(at: provider)))
    }

    private func latest(_ walk: ProviderWalk) throws -> String {
        try #require(walk.harness.simulator.latestSessionID(at: "acme"))
    }

    private func isSignedIn(_ walk: ProviderWalk, _ browser: Browser) async throws -> Bool {
        try await browser.get(walk.origin + "/users/me").status == 200
    }

    private func token(
        _ walk: ProviderWalk, user: String? = nil, sessionID: String? = nil, defect: Defect? = nil
    ) async throws -> String {
        try await walk.harness.simulator.logoutToken(
            of: "acme", clientID: SignInHarness.clientID, user: user, sessionID: sessionID, defect: defect)
    }

    private func post(
        _ walk: ProviderWalk, _ token: String, at provider: String = "acme"
    ) async throws -> Browser.Page {
        try await Browser().post(
            "\(walk.origin)/auth/\(provider)/backchannel-logout", form: ["logout_token": token])
    }

    // MARK: Back-channel logout

    @Test("A sid may be long, as that of providers that encrypt their session into it", arguments: [1024, 1025])
    func longSessionID(_ length: Int) async throws {
        try await ProviderWalk.with { walk in
            let long = String(repeating: "s", count: length)
            walk.harness.simulator.update("acme") {
                $0.tampering.idTokens.append { $0.claims["sid"] = .string(long) }
            }
            let (browser, _) = try await signedIn(walk)
            let answer = try await post(walk, try await token(walk, sessionID: long))
            #expect(answer.status == (length <= 1024 ? 200 : 400))
            #expect(try await isSignedIn(walk, browser) == (length > 1024))
        }
    }

    @Test("A logout by sid ends the sessions of that provider session at once, and no others")
    func bySessionID() async throws {
        try await ProviderWalk.with { walk in
            let (first, firstID) = try await signedIn(walk)
            let (second, _) = try await signedIn(walk)
            // Cached by now.
            #expect(try await isSignedIn(walk, first))
            let answer = try await post(walk, try await token(walk, sessionID: firstID))
            #expect(answer.status == 200)
            #expect(answer.response["cache-control"] == "no-store")
            #expect(try await !isSignedIn(walk, first))
            #expect(try await isSignedIn(walk, second))
            _ = try await signedIn(walk, at: "globex")
            let namesake = try await walk.harness.simulator.logoutToken(
                of: "globex", clientID: SignInHarness.clientID, user: nil, sessionID: try latest(walk), defect: nil)
            #expect(try await post(walk, namesake, at: "globex").status == 200)
            #expect(try await isSignedIn(walk, second), "a sid is its provider's")
            let unknown = try await post(walk, try await token(walk, sessionID: "nobody's"))
            #expect(unknown.status == 200, "there is none such, which is what was wanted")
            // With a sub, only those of that user.
            let (ravi, ravisID) = try await signedIn(walk, user: "ravi")
            #expect(try await post(walk, try await token(walk, user: "jane", sessionID: ravisID)).status == 200)
            #expect(try await isSignedIn(walk, ravi))
            #expect(try await post(walk, try await token(walk, user: "ravi", sessionID: ravisID)).status == 200)
            #expect(try await !isSignedIn(walk, ravi))
        }
    }

    @Test(
        "A logout by sub ends all sessions of that identity, and none of other users or identities")
    func bySubject() async throws {
        try await ProviderWalk.with { walk in
            let (first, _) = try await signedIn(walk)
            let (second, _) = try await signedIn(walk)
            let (ravi, _) = try await signedIn(walk, user: "ravi")
            let (globex, _) = try await signedIn(walk, at: "globex")
            // The same user with another identity.
            let carrier = try #require(try await walk.harness.session())
            let linked = try await walk.harness.app.send(
                "POST", "/users/me/identities",
                headers: ["Content-Type: application/json", "Authorization: Bearer \(carrier)"],
                body: App.json(try walk.code(at: "acme", user: "ravi").merging(["provider": "acme"]) { $1 }))
            #expect(linked.status == 409)
            let response = try await post(walk, try await token(walk, user: "jane"))
            #expect(response.status == 200)
            for browser in [first, second] { #expect(try await !isSignedIn(walk, browser)) }
            for browser in [ravi, globex] { #expect(try await isSignedIn(walk, browser)) }
        }
        try await ProviderWalk.with { walk in
            let carrier = try #require(try await walk.harness.session())
            let linked = try await walk.harness.app.send(
                "POST", "/users/me/identities",
                headers: ["Content-Type: application/json", "Authorization: Bearer \(carrier)"],
                body: App.json(try walk.code(at: "acme", user: "jane").merging(["provider": "acme"]) { $1 }))
            #expect(linked.status == 201)
            let app = try #require(try await walk.token(at: "acme", user: "jane"))
            #expect(try await post(walk, try await token(walk, user: "jane")).status == 200)
            #expect(try await walk.harness.app.me(app).status == 401)
            #expect(try await walk.harness.app.me(carrier).status == 200, "signed in by the carrier")
        }
    }

    private static let checks: [(defect: CarrierSimulator.LogoutDefect, check: String, asksForKeys: Bool)] = [
        (.notJWT, "", false), (.algNone, "", false), (.hs256BySecret, "algorithm", false),
        (.idTokenType, "type", false), (.critical, "critical_header", false), (.otherIssuer, "issuer", false),
        (.missingIssuer, "issuer", false), (.otherAudience, "audience", false), (.extraAudience, "audience", false),
        (.missingIssuedAt, "issued_at", false), (.old, "issued_at", false), (.future, "issued_at", false),
        (.expired, "expiry", false), (.notYetValid, "not_before", false), (.missingID, "jti", false),
        (.noEvent, "event", false), (.otherEvent, "event", false), (.eventNotObject, "event", false),
        (.withNonce, "nonce", false), (.noSubject, "subject", false), (.emptySession, "subject", false),
        (.badSignature, "signature", true), (.strangerKey, "", true),
    ]

    @Test("An invalid logout token ends nothing, and the response names the failed check", arguments: checks.indices)
    func refused(index: Int) async throws {
        let (defect, check, asksForKeys) = Self.checks[index]
        try await ProviderWalk.with { walk in
            let (browser, sessionID) = try await signedIn(walk)
            let fetches = walk.harness.simulator.log.keyFetches("acme")
            let answer = try await post(
                walk, try await token(walk, user: "jane", sessionID: sessionID, defect: defect))
            #expect(answer.status == 400, "\(defect)")
            #expect(answer.response["cache-control"] == "no-store")
            let json = App.Members(of: answer.response.body)
            #expect(json["error"]?.string == "invalid_request")
            #expect(json["error_description"]?.string?.contains(check.isEmpty ? "logout" : "(\(check))") == true)
            #expect(try await isSignedIn(walk, browser))
            let further = walk.harness.simulator.log.keyFetches("acme") - fetches
            #expect(further == (asksForKeys ? 1 : 0), "\(defect)")
            #expect(try await post(walk, try await token(walk, sessionID: sessionID)).status == 200)
            #expect(try await !isSignedIn(walk, browser))
        }
    }

    @Test("Every defect of the simulator is in the table")
    func defects() { #expect(Set(Self.checks.map { $0.defect }) == Set(Defect.allCases)) }

    @Test("An ID token is no logout token, and a logout token is valid once, across processes")
    func replayed() async throws {
        try await ProviderWalk.with { walk in
            _ = try await signedIn(walk)
            let used = try await token(walk, user: "jane")
            #expect(try await post(walk, used).status == 200)
            let (again, _) = try await signedIn(walk)
            #expect(try await post(walk, used).status == 400)
            try await walk.harness.withInstance { app, _ in
                let response = try await app.send(
                    "POST", "/auth/acme/backchannel-logout",
                    headers: ["Content-Type: application/x-www-form-urlencoded"],
                    body: App.form(["logout_token": used]))
                #expect(response.status == 400)
                #expect(response.json["error_description"]?.string?.contains("used before") == true)
            }
            #expect(try await isSignedIn(walk, again))
        }
    }

    @Test("Rotated keys are fetched; forged tokens cause at most one fetch a minute")
    func rotation() async throws {
        let clock = ManualClock()
        try await ProviderWalk.with(clock: clock.wallClock) { walk in
            let (browser, sessionID) = try await signedIn(walk)
            let before = walk.harness.simulator.log.keyFetches("acme")
            for _ in 0..<5 {
                let forged = try await token(walk, user: "jane", defect: .strangerKey)
                #expect(try await post(walk, forged).status == 400)
            }
            #expect(walk.harness.simulator.log.keyFetches("acme") == before + 1)
            walk.harness.simulator.rotateKeys("acme")
            clock.advance(bySeconds: 61)
            #expect(try await post(walk, try await token(walk, sessionID: sessionID)).status == 200)
            #expect(try await !isSignedIn(walk, browser))
        }
    }

    @Test("The endpoint accepts only a form with one token of an enabled provider")
    func requests() async throws {
        try await ProviderWalk.with(
            configure: { configuration in
                for index in configuration.providers.indices where configuration.providers[index].id == "globex" {
                    configuration.providers[index].rules.endsSessions = false
                }
            }
        ) { walk in
            let (browser, sessionID) = try await signedIn(walk)
            let good = try await token(walk, sessionID: sessionID)
            let url = walk.origin + "/auth/acme/backchannel-logout"
            let json = try await browser.send(
                "POST", url, headers: ["Content-Type: application/json"], body: App.json(["logout_token": good]))
            #expect(json.status == 400)
            let twice = "logout_token=\(good)&logout_token=\(good)"
            let form = "Content-Type: application/x-www-form-urlencoded"
            for body in ["", twice, "logout_token=" + String(repeating: "a", count: 24_563)] {
                #expect(try await Browser().send("POST", url, headers: [form], body: body).status == 400)
            }
            let tooLong = "logout_token=" + String(repeating: "a", count: 24_564)
            #expect(try await Browser().send("POST", url, headers: [form], body: tooLong).status == 413)
            #expect(try await Browser().send("POST", url, body: good).status == 415)
            #expect(try await Browser().get(url).status == 405)
            for provider in ["zenkey", "meetings", "globex", "initech"] {
                #expect(try await post(walk, good, at: provider).status == 404, "\(provider)")
            }
            #expect(try await isSignedIn(walk, browser))
        }
    }

    @Test("Sessions of a repeated sign-in and of a registration belong to the same provider session")
    func origins() async throws {
        try await ProviderWalk.with(configure: { $0.registration.mode = .required }) { walk in
            let headers = ["Content-Type: application/json"]
            let body = App.json(try walk.code(at: "acme"))
            let offered = try await walk.harness.app.send("POST", "/auth/acme/sign-in", headers: headers, body: body)
            let handle = try #require(offered.json["state_key"]?.string)
            let registered = try await walk.harness.app.send(
                "POST", "/users", headers: headers, body: App.json(["state_key": handle]))
            var tokens = [try #require(registered.token)]
            var sessionIDs = [try #require(walk.harness.simulator.latestSessionID(at: "acme"))]
            let second = App.json(try walk.code(at: "acme"))
            for _ in 0..<2 {
                let response = try await walk.harness.app.send(
                    "POST", "/auth/acme/sign-in", headers: headers, body: second)
                tokens.append(try #require(response.token))
            }
            sessionIDs.append(try #require(walk.harness.simulator.latestSessionID(at: "acme")))
            #expect(try await post(walk, try await token(walk, sessionID: sessionIDs[0])).status == 200)
            #expect(try await walk.harness.app.me(tokens[0]).status == 401)
            for token in tokens.dropFirst() { #expect(try await walk.harness.app.me(token).status == 200) }
            #expect(try await post(walk, try await token(walk, sessionID: sessionIDs[1])).status == 200)
            for token in tokens { #expect(try await walk.harness.app.me(token).status == 401) }
        }
    }

    @Test("The simulator sends logout tokens")
    func sent() async throws {
        try await ProviderWalk.with { walk in
            let (browser, sessionID) = try await signedIn(walk)
            let url = walk.origin + "/auth/acme/backchannel-logout"
            let bad = try await token(walk, sessionID: sessionID, defect: .withNonce)
            #expect(try await walk.harness.simulator.sendLogout(bad, to: url) == 400)
            #expect(try await isSignedIn(walk, browser))
            let control = try #require(walk.harness.simulator.issuer(of: "acme")) + "/end-sessions"
            let response = try await Browser().post(
                control, form: ["url": url, "client_id": SignInHarness.clientID, "sid": sessionID])
            #expect(response.text.contains("200"))
            #expect(try await !isSignedIn(walk, browser))
        }
    }

    @Test("Unlinking an identity ends its sessions except the present one")
    func unlinked() async throws {
        try await ProviderWalk.with { walk in
            let asking = try #require(try await walk.token(at: "acme"))
            let link = try await walk.harness.app.send(
                "POST", "/users/me/identities",
                headers: ["Content-Type: application/json", "Authorization: Bearer \(asking)"],
                body: App.json(try walk.code(at: "globex").merging(["provider": "globex"]) { $1 }))
            #expect(link.status == 201)
            let (byAcme, _) = try await signedIn(walk)
            let (byGlobex, _) = try await signedIn(walk, at: "globex")
            #expect(try await isSignedIn(walk, byAcme))
            let listed = try await walk.harness.app.send(
                "GET", "/users/me/identities", headers: ["Authorization: Bearer \(asking)"])
            let acme = listed.json["identities"]?.array?.first {
                $0.object?["issuer"]?.string == walk.harness.simulator.issuer(of: "acme")
            }
            let id = try #require(acme?.object?["id"]?.string)
            let gone = try await walk.harness.app.send(
                "DELETE", "/users/me/identities/\(id)", headers: ["Authorization: Bearer \(asking)"])
            #expect(gone.status == 200)
            #expect(try await walk.harness.app.me(asking).status == 200)
            #expect(try await !isSignedIn(walk, byAcme))
            #expect(try await isSignedIn(walk, byGlobex))
        }
    }

    // MARK: RP-initiated logout

    private func signOut(
        _ walk: ProviderWalk, _ browser: Browser, at provider: String = "acme",
        to uri: String = ProviderWalk.webURI, headers: [String] = ["Sec-Fetch-Site: same-origin"]
    ) async throws -> Browser.Page {
        try await browser.post(
            "\(walk.origin)/auth/\(provider)/logout", form: ["post_logout_redirect_uri": uri], headers: headers)
    }

    private static let end = ProviderWalk.webURI + "?action=logout&status=success"

    @Test("A user signs out here and at the provider, and returns with the state once")
    func byUser() async throws {
        try await ProviderWalk.with { walk in
            let (browser, _) = try await signedIn(walk)
            let page = try await signOut(walk, browser)
            #expect(page.status == 303)
            #expect(page.location.hasPrefix((walk.harness.simulator.issuer(of: "acme") ?? "-") + "/logout?"))
            #expect(page.parameters["client_id"] == SignInHarness.clientID)
            #expect(page.parameters["id_token_hint"] == walk.harness.simulator.latestIDToken(at: "acme"))
            #expect(page.parameters["post_logout_redirect_uri"] == walk.origin + "/auth/acme/logged-out")
            #expect(walk.sessionCookie(browser) == nil)
            let back = try await browser.get(page.location)
            #expect(back.status == 303)
            let done = try await browser.get(back.location)
            #expect(done.location == Self.end)
            #expect(try await browser.get(back.location).status == 200, "used before: a page")
            let (other, _) = try await signedIn(walk)
            let state = try await other.get(try await signOut(walk, other).location).location
            let elsewhere = state.replacing("/auth/acme/", with: "/auth/globex/")
            #expect(try await other.get(elsewhere).location.isEmpty, "another provider's")
            #expect(try await !isSignedIn(walk, browser))
        }
    }

    @Test("A page whose session token has expired can sign out: its refresh token becomes invalid")
    func pageAfterItsSession() async throws {
        try await ProviderWalk.with { walk in
            let (browser, _) = try await signedIn(walk)
            let late = Browser(copying: browser, without: ["latchkey_session"])
            let thief = Browser(copying: late)
            #expect(try await signOut(walk, late, headers: []).status == 403, "not by another site's page")
            let page = try await signOut(walk, late)
            #expect(page.status == 303)
            #expect(page.parameters["client_id"] == SignInHarness.clientID)
            #expect(page.parameters["id_token_hint"] == walk.harness.simulator.latestIDToken(at: "acme"))
            #expect(late.cookies["127.0.0.1:\(walk.harness.app.port)"]?["latchkey_refresh"] == nil)
            let refreshed = try await thief.post(
                walk.origin + "/auth/token", form: ["grant_type": "refresh_token"],
                headers: ["Sec-Fetch-Site: same-origin"])
            #expect(refreshed.status == 401)
            #expect(try await !isSignedIn(walk, browser))
        }
    }

    @Test("A session is signed out at the provider with its own client")
    func otherProvidersSession() async throws {
        try await ProviderWalk.with(
            configure: { configuration in
                for index in configuration.providers.indices where configuration.providers[index].id == "globex" {
                    if let id = ClientID("another-client") { configuration.providers[index].clients[0].id = id }
                }
            }
        ) { walk in
            let (browser, _) = try await signedIn(walk)
            #expect(try await signOut(walk, browser, at: "globex").status == 400)
            #expect(try await isSignedIn(walk, browser))
        }
    }

    @Test(
        "An invalid end_session_endpoint does not prevent sign-ins",
        arguments: ["", "/logout", "http://example.com/out", "javascript:alert(1)", "https://u:p@login.example/out#x"])
    func unusableEndpoint(url: String) async throws {
        try await ProviderWalk.with { walk in
            for provider in ["acme", SignInHarness.mccmnc] {
                walk.harness.simulator.update(provider) {
                    for endpoint in [CarrierSimulator.RequestLog.Endpoint.discovery, .configuration] {
                        $0.tampering.objects[endpoint] = [{ $0["end_session_endpoint"] = .string(url) }]
                    }
                }
            }
            let (browser, _) = try await signedIn(walk)
            #expect(try await signOut(walk, browser).location == Self.end)
            #expect(try await walk.harness.session() != nil, "at the carrier")
        }
    }

    @Test(
        "A registration fails after a logout of its provider session", arguments: [false, true])
    func pendingRegistration(bySubject: Bool) async throws {
        try await ProviderWalk.with(configure: { $0.registration.mode = .required }) { walk in
            func offered() async throws -> String {
                let response = try await walk.harness.app.send(
                    "POST", "/auth/acme/sign-in", headers: ["Content-Type: application/json"],
                    body: App.json(try walk.code(at: "acme")))
                return try #require(response.json["state_key"]?.string)
            }
            func register(_ handle: String) async throws -> Int {
                try await walk.harness.app.post("/users", ["state_key": handle]).status
            }
            let handle = try await offered()
            let id = try #require(walk.harness.simulator.latestSessionID(at: "acme"))
            let files = Data(walk.files())
            #expect(files.range(of: Data(id.utf8)) == nil, "the provider's session id is stored in no file")
            let logout = bySubject ? try await token(walk, user: "jane") : try await token(walk, sessionID: id)
            #expect(try await post(walk, logout).status == 200)
            #expect(try await register(handle) == 401)
            let other = try await offered()
            #expect(try await post(walk, try await token(walk, sessionID: id)).status == 200)
            #expect(try await post(walk, try await token(walk, user: "ravi")).status == 200)
            #expect(try await register(other) == 201)
        }
    }

    @Test("A wrong or missing state causes no redirect, and the user is signed out")
    func wrongState() async throws {
        for fault in [CarrierSimulator.Fault.logoutOtherState, .logoutMissingState] {
            try await ProviderWalk.with { walk in
                walk.harness.simulator.setFaults([fault], for: "acme")
                let (browser, _) = try await signedIn(walk)
                let back = try await browser.get(try await signOut(walk, browser).location)
                let page = try await browser.get(back.location)
                #expect(page.status == 200)
                #expect(page.location.isEmpty)
                #expect(page.text.contains("You are signed out"))
                #expect(try await !isSignedIn(walk, browser))
            }
        }
    }

    @Test("Another origin cannot sign a user out, and unregistered redirect URIs are refused")
    func forged() async throws {
        try await ProviderWalk.with { walk in
            let (browser, _) = try await signedIn(walk)
            for headers in [[], ["Sec-Fetch-Site: cross-site"], ["Origin: https://evil.example"]] {
                #expect(try await signOut(walk, browser, headers: headers).status == 403)
            }
            let query = App.form(["post_logout_redirect_uri": ProviderWalk.webURI])
            #expect(try await browser.get("\(walk.origin)/auth/acme/logout?\(query)").status == 405)
            for uri in ["https://evil.example/", ProviderWalk.webURI + "/", "javascript:alert(1)", ""] {
                let page = try await signOut(walk, browser, to: uri)
                #expect(page.status == 400)
                #expect(page.location.isEmpty)
            }
            #expect(try await signOut(walk, browser, at: "initech").status == 404)
            #expect(try await isSignedIn(walk, browser))
            #expect(try await signOut(walk, Browser()).status == 401)
        }
    }

    @Test("Without an end_session_endpoint or its metadata, the browser returns at once")
    func withoutProvider() async throws {
        let clock = ManualClock()
        try await ProviderWalk.with(clock: clock.wallClock) { walk in
            let meetings = Browser()
            try await walk.signIn(meetings, at: "meetings")
            #expect(try await signOut(walk, meetings, at: "meetings").location == Self.end)
            #expect(try await !isSignedIn(walk, meetings))
            let token = try #require(try await walk.token(at: "globex"))
            let app = try await walk.harness.app.send(
                "POST", "/auth/globex/logout",
                headers: [
                    "Authorization: Bearer \(token)", "Content-Type: application/json", "Accept: application/json",
                ], body: App.json(["post_logout_redirect_uri": SignInHarness.redirectURI]))
            #expect(app.status == 200)
            #expect(app.json["location"]?.string?.contains("/providers/globex/logout?") == true)
            #expect(try await walk.harness.app.me(token).status == 401)
        }
        try await ProviderWalk.with { walk in
            let token = try #require(try await walk.token(at: "acme"))
            walk.harness.simulator.setFaults([.discovery500], for: "acme")
            try await walk.harness.alongside { other in
                let app = try await other.app.send(
                    "POST", "/auth/acme/logout",
                    headers: ["Authorization: Bearer \(token)", "Content-Type: application/json"],
                    body: App.json(["post_logout_redirect_uri": SignInHarness.redirectURI]))
                #expect(app.response["location"] == SignInHarness.redirectURI + "?action=logout&status=success")
                #expect(try await other.app.me(token).status == 401)
            }
        }
    }
}
