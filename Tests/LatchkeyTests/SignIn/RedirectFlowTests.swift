import CarrierSimulator
import Crypto
import Foundation
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import Registration
import SignIn
import TestSupport
import Testing

/// Sign-ins by redirects, over real sockets, from the frontend's link to its redirect URI.
@Suite(.serialized) struct RedirectFlowTests {
    private static let appURI = "com.example.app:/signed-in"
    private static let keyOfAnotherClient = "key-of-another-client"
    private static let webURI = "https://web.example/done"

    /// A harness whose client has redirect URIs of every kind.
    private func withHarness(
        registration: RegistrationRules.Mode = .automatic, _ body: (SignInHarness) async throws -> Void
    ) async throws {
        try await SignInHarness.with(
            configure: { configuration in
                configuration.registration.mode = registration
                var scoped = APIKey.plain(Secret(Self.keyOfAnotherClient))
                scoped.clients = ["ccid-2"].compactMap(ClientID.init)
                configuration.apiKeys.append(scoped)
                configuration.zenkey.clients[0].redirectURIs = [Self.appURI, Self.webURI, "http://127.0.0.1/done"]
            }, body)
    }

    private func start(_ harness: SignInHarness, _ fields: [String: String]) -> String {
        "http://127.0.0.1:\(harness.app.port)/auth/zenkey/start?" + App.form(fields)
    }

    /// The browser opens the carrier's page and the user approves, unless the carrier redirects at once; the
    /// response returns here.
    private func approve(_ browser: Browser, _ page: Browser.Page) async throws -> Browser.Page {
        try await browser.approve(page)
    }

    @Test("A web frontend's user chooses the carrier, approves, and gets a session cookie")
    func web() async throws {
        try await withHarness { harness in
            let browser = Browser()
            let first = try await browser.get(
                start(harness, ["client_type": "web", "redirect_uri": Self.webURI, "tracking_id": "t-1"]))
            #expect(first.status == 303)
            #expect(first.location.hasPrefix(harness.simulator.discoveryUIURL ?? "-"))
            var form: [String: String] = ["mccmnc": SignInHarness.mccmnc]
            for item in first.parameters.items { form[item.name] = item.value }
            let chosen = try await browser.post(harness.simulator.discoveryUIURL ?? "", form: form)
            #expect(chosen.parameters["mccmnc"] == SignInHarness.mccmnc)
            let asked = try await browser.get(chosen.location)
            #expect(asked.status == 303)
            #expect(asked.parameters["code_challenge_method"] == "S256")
            #expect(asked.parameters["state"] != first.parameters["state"])
            let back = try await approve(browser, asked)
            let done = try await browser.get(back.location)
            #expect(done.status == 303)
            #expect(done.location == Self.webURI + "?action=login&status=success&tracking_id=t-1")
            #expect(done.response["referrer-policy"] == "no-referrer")
            #expect(done.response["cache-control"] == "no-store")

            let base = "http://127.0.0.1:\(harness.app.port)"
            #expect(try await browser.get(base + "/users/me").status == 200)
            // A change with a cookie requires the browser's statement that the page is of this origin.
            for header in [
                [], ["Sec-Fetch-Site: cross-site"], ["Sec-Fetch-Site: same-site"], ["Origin: https://evil.example"],
            ] {
                #expect(try await browser.send("DELETE", base + "/auth/token", headers: header).status == 403)
            }
            #expect(try await browser.get(base + "/users/me").status == 200)
            let out = try await browser.send("DELETE", base + "/auth/token", headers: ["Origin: \(base)"])
            #expect(out.status == 200)
            #expect(browser.cookies["127.0.0.1:\(harness.app.port)"]?["latchkey_session"] == nil)
            #expect(try await browser.get(base + "/users/me").status == 401)
        }
    }

    @Test("A denial on the phone creates no session on the other device, and the frontend gets the error")
    func deniedOnThePhone() async throws {
        try await withHarness { harness in
            let browser = Browser()
            let first = try await browser.get(start(harness, ["client_type": "web", "redirect_uri": Self.webURI]))
            let chosen = try await harness.onThePhone(browser, first, answering: "deny")
            let done = try await browser.get(chosen.location)
            #expect(done.location.hasPrefix(Self.webURI + "?action=login&status=failure"))
            #expect(done.parameters["error"] == "access_denied")
            #expect(try await browser.get("http://127.0.0.1:\(harness.app.port)/users/me").status == 401)
        }
    }

    @Test("A secondary device's login_hint_token reaches the carrier, and a known network skips the choice")
    func secondaryDevice() async throws {
        try await withHarness { harness in
            let browser = Browser()
            let first = try await browser.get(start(harness, ["client_type": "web", "redirect_uri": Self.webURI]))
            let chosen = try await harness.onThePhone(browser, first, answering: "approve")
            let asked = try await browser.get(chosen.location)
            #expect(asked.parameters["login_hint_token"] != nil)
            #expect(asked.parameters["login_hint_token"] == chosen.parameters["login_hint_token"])
            let done = try await browser.get(try await approve(browser, asked).location)
            #expect(done.parameters["status"] == "success")

            let known = try await browser.get(
                start(harness, ["client_type": "web", "redirect_uri": Self.webURI, "mccmnc": SignInHarness.mccmnc]))
            #expect(known.location.contains("/authorize?"))
        }
    }

    /// Signs an app in up to the redirect to the app.
    private func appOutcome(_ harness: SignInHarness, _ fields: [String: String] = [:]) async throws -> Browser.Page {
        let browser = Browser()
        var all = ["client_type": "ios", "redirect_uri": Self.appURI, "mccmnc": SignInHarness.mccmnc]
        all.merge(fields) { $1 }
        let asked = try await browser.get(start(harness, all))
        // An app may return in another browser.
        return try await Browser().get(try await approve(browser, asked).location)
    }

    @Test("An app exchanges its session_id once, with the code verifier of its challenge")
    func appSession() async throws {
        try await withHarness { harness in
            let verifier = RandomSource.system.token()
            let challenge = Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 })
            let bound = ["code_challenge": challenge, "code_challenge_method": "S256", "tracking_id": "x"]
            func exchange(_ fields: [String: String]) async throws -> App.Answer {
                try await harness.app.send(
                    "POST", "/auth/session", headers: ["Content-Type: application/json"], body: App.json(fields))
            }
            let done = try await appOutcome(harness, bound)
            #expect(done.location.hasPrefix(Self.appURI + "?action=login&status=success&tracking_id=x&session_id="))
            let sessionID = try #require(done.parameters["session_id"])
            let answer = try await exchange(["session_id": sessionID, "code_verifier": verifier])
            #expect(answer.status == 200)
            #expect(try await harness.app.me(try #require(answer.token)).status == 200)
            // The answer may have been lost. Once its refresh token is used, it was not.
            #expect(try await exchange(["session_id": sessionID, "code_verifier": verifier]).token == answer.token)
            #expect(try await harness.app.refresh(try #require(answer.refreshToken)).status == 200)
            let again = try await exchange(["session_id": sessionID, "code_verifier": verifier])
            #expect(again.status == 401)
            #expect(again.error == "invalid_token")

            for wrong in [nil, RandomSource.system.token()] {
                let sessionID = try #require(try await appOutcome(harness, bound).parameters["session_id"])
                var fields = ["session_id": sessionID]
                fields["code_verifier"] = wrong
                let refused = try await exchange(fields)
                #expect(refused.status == 401)
                #expect(refused.error == "invalid_grant")
                fields["code_verifier"] = verifier
                #expect(try await exchange(fields).error == "invalid_token", "a wrong verifier spends the value")
            }

            // Another user's sign-in, brought to an app with its own code verifier.
            let injected = try #require(try await appOutcome(harness).parameters["session_id"])
            let refused = try await exchange(["session_id": injected, "code_verifier": verifier])
            #expect(refused.status == 401)
            #expect(refused.error == "invalid_grant")

            let plain = try #require(try await appOutcome(harness).parameters["session_id"])
            var other = harness.app
            other.apiKey = Self.keyOfAnotherClient
            let foreign = try await other.send(
                "POST", "/auth/session", headers: ["Content-Type: application/json"],
                body: App.json(["session_id": try #require(try await appOutcome(harness).parameters["session_id"])]))
            #expect(foreign.error == "invalid_token")
            #expect(foreign.token == nil)
            #expect(try await exchange(["session_id": plain]).status == 200)
            #expect(try await exchange(["session_id": "not-one"]).status == 401)
            #expect(try await exchange([:]).status == 400)
        }
    }

    struct Failure: Sendable, CustomTestStringConvertible {
        let fault: CarrierSimulator.Fault
        let error: String
        var testDescription: String { fault.name }
    }

    @Test(
        "An error reaches the frontend, and no session is created",
        arguments: [
            Failure(fault: .authorizationDenied, error: "access_denied"),
            Failure(fault: .authorizationServerError, error: "server_error"),
            Failure(fault: .authorizationOtherIssuer, error: "issuer_mismatch"),
            Failure(fault: .authorizationMissingIssuer, error: "issuer_mismatch"),
            Failure(fault: .tokenInvalidGrant, error: "invalid_grant"),
            Failure(fault: .token500, error: "carrier_error"),
            Failure(fault: .idTokenWrongNonce, error: "invalid_id_token"),
        ])
    func failures(row: Failure) async throws {
        try await withHarness { harness in
            harness.simulator.setFaults([row.fault], for: SignInHarness.mccmnc)
            for clientType in ["web", "ios", "android"] {
                let uri = clientType == "web" ? Self.webURI : Self.appURI
                let browser = Browser()
                let asked = try await browser.get(
                    start(
                        harness,
                        [
                            "client_type": clientType, "redirect_uri": uri, "mccmnc": SignInHarness.mccmnc,
                            "tracking_id": "t",
                        ]))
                let done = try await browser.get(try await approve(browser, asked).location)
                #expect(done.status == 303)
                #expect(done.location.hasPrefix(uri + "?action=login&status=failure&message="))
                #expect(done.parameters["error"] == row.error)
                let (message, description) = (done.parameters["message"], done.parameters["error_description"])
                #expect(message != nil && description != nil && message != description, "one text for each reader")
                #expect(done.parameters["session_id"] == nil)
                #expect(browser.cookies["127.0.0.1:\(harness.app.port)"]?["latchkey_session"] == nil)
            }
            if [.authorizationOtherIssuer, .authorizationMissingIssuer].contains(row.fault) {
                #expect(
                    harness.simulator.log.tokenPosts(SignInHarness.mccmnc) == 0,
                    "the code of a mixed-up response is not posted")
            }
        }
    }

    @Test("A carrier's outage reaches the frontend too")
    func carrierDown() async throws {
        try await withHarness { harness in
            harness.simulator.setFaults([.discovery500], for: SignInHarness.mccmnc)
            let done = try await Browser().get(
                start(harness, ["client_type": "web", "redirect_uri": Self.webURI, "mccmnc": SignInHarness.mccmnc]))
            #expect(done.status == 303)
            #expect(done.location.hasPrefix(Self.webURI + "?action=login&status=failure&"))
            #expect(done.parameters["error"] == "carrier_error")
        }
    }

    @Test("A state is valid once, in its own browser; otherwise the code is not posted")
    func state() async throws {
        try await withHarness { harness in
            let browser = Browser()
            let fields = ["client_type": "web", "redirect_uri": Self.webURI, "mccmnc": SignInHarness.mccmnc]
            let callback = try await approve(browser, try await browser.get(start(harness, fields))).location
            let other = try await Browser().get(callback)
            #expect(other.status == 400, "another browser, which would be signed in as another user")
            #expect(other.text.contains("another browser"))
            #expect(other.text.contains("was not started in this browser") && !other.text.contains("entered"))
            #expect(other.response["content-type"] == "text/html; charset=utf-8")
            #expect(harness.simulator.log.tokenPosts(SignInHarness.mccmnc) == 0)

            let first = try await browser.get(callback)
            #expect(first.parameters["status"] == "success")
            #expect(try await browser.get(callback).location == first.location, "a restored tab")
            let replayed = try await Browser().get(callback)
            #expect(replayed.status == 400)
            #expect(replayed.text.contains("Start a new sign-in"))
            #expect(replayed.text.contains("can no longer be finished") && !replayed.text.contains("entered"))
            #expect(harness.simulator.log.tokenPosts(SignInHarness.mccmnc) == 1)

            let base = "http://127.0.0.1:\(harness.app.port)/auth/zenkey/callback"
            for query in ["", "?state=unknown&code=c", "?code=c", "?state=a&state=b&code=c"] {
                #expect(try await browser.get(base + query).status == 400)
            }
            for type in ["tv", "%3Cb%3E", "web%0d%0aX: y"] {
                let page = try await browser.post(
                    base.replacing("/callback", with: "/\(type)/callback"), form: ["state": "a", "code": "c"])
                #expect(page.status == 404 || page.status == 400)
                #expect(page.location.isEmpty)
            }
            let json = try await browser.get(base, headers: ["Accept: application/json"])
            #expect(json.response["content-type"] == "application/json; charset=utf-8")
        }
    }

    @Test("A response that names another carrier than requested does not post its code")
    func otherCarrierNamed() async throws {
        try await withHarness { harness in
            let fields = ["client_type": "web", "redirect_uri": Self.webURI, "mccmnc": "310410"]
            for named in [SignInHarness.mccmnc, "999990"] {
                let browser = Browser()
                let asked = try await browser.get(start(harness, fields))
                let callback = try await approve(browser, asked).location
                #expect(callback.contains("mccmnc=310410"))
                let mixedUp = callback.replacing("mccmnc=310410", with: "mccmnc=\(named)")
                let error = try await browser.get(mixedUp).parameters["error"]
                #expect(error == "issuer_mismatch", "\(named)")
                #expect(harness.simulator.log.tokenPosts() == 0)
            }
        }
    }

    @Test("A code of another sign-in is not posted again")
    func codeOfAnotherSignIn() async throws {
        try await withHarness { harness in
            let fields = ["client_type": "web", "redirect_uri": Self.webURI, "mccmnc": SignInHarness.mccmnc]
            let (victim, attacker) = (Browser(), Browser())
            let callback = try await approve(victim, try await victim.get(start(harness, fields))).location
            let own = try await approve(attacker, try await attacker.get(start(harness, fields))).location
            #expect(try await victim.get(callback).parameters["status"] == "success")
            let posts = harness.simulator.log.tokenPosts()
            let code = { (url: String) in Browser.query(of: url)["code"] ?? "" }
            let replayed = own.replacing("code=\(code(own))", with: "code=\(code(callback))")
            #expect(replayed != own)
            let done = try await attacker.get(replayed)
            #expect(done.parameters["status"] == "failure" && done.parameters["error"] == "invalid_grant")
            #expect(harness.simulator.log.tokenPosts() == posts)
        }
    }

    @Test("Sign-ins in several tabs of one browser all succeed")
    func tabs() async throws {
        try await withHarness { harness in
            let browser = Browser()
            let fields = ["client_type": "web", "redirect_uri": Self.webURI, "mccmnc": SignInHarness.mccmnc]
            var callbacks: [String] = []
            for _ in 0..<3 {
                callbacks.append(try await approve(browser, try await browser.get(start(harness, fields))).location)
            }
            for callback in callbacks.reversed() {
                #expect(try await browser.get(callback).parameters["status"] == "success")
            }
        }
    }

    @Test("A HEAD request to the callback does not spend the state")
    func look() async throws {
        try await withHarness { harness in
            let browser = Browser()
            let fields = ["client_type": "web", "redirect_uri": Self.webURI, "mccmnc": SignInHarness.mccmnc]
            let callback = try await approve(browser, try await browser.get(start(harness, fields))).location
            let target = callback.dropFirst("http://127.0.0.1:\(harness.app.port)".count)
            let client = try await RawClient(port: harness.app.port)
            try await client.send("HEAD \(target) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            _ = try await client.readResponse(toHead: true)
            #expect(try await browser.get(callback).parameters["status"] == "success")
        }
    }

    @Test(
        "A browser is redirected only to registered redirect URIs",
        arguments: [
            "https://evil.example/", "https://web.example/done/", "https://web.example/done?x=1",
            "https://web.example/Done", "https://web.example.evil.example/done",
            "https://web.example@evil.example/done",
            "com.example.app:/signed-in/more", "http://127.0.0.1.evil.example/done", "http://127.0.0.1:80@evil/done",
            "http://127.0.0.1:123456/done", "http://localhost/done", "http://127.0.0.1/other",
            "http://127.0.0.1:80/done/more", "//evil.example/done", "javascript:alert(1)",
        ])
    func openRedirect(uri: String) async throws {
        try await withHarness { harness in
            let page = try await Browser().get(start(harness, ["client_type": "web", "redirect_uri": uri]))
            #expect(page.status == 400)
            #expect(page.response["location"] == nil)
            #expect(!page.text.contains(uri))
        }
    }

    @Test("Loopback redirect URIs match on any port")
    func loopback() async throws {
        try await withHarness { harness in
            let page = try await Browser().get(
                start(harness, ["client_type": "ios", "redirect_uri": "http://127.0.0.1:49152/done"]))
            #expect(page.status == 303)
        }
    }

    @Test("If registration is required, the frontend gets a state key, and the app registers with it")
    func registration() async throws {
        try await withHarness(registration: .required) { harness in
            let done = try await appOutcome(harness, ["scope": "openid email"])
            #expect(done.location.hasPrefix(Self.appURI + "?action=register&status=partial&state_key="))
            #expect(done.parameters["identifier"]?.contains("@") == true)
            let handle = try #require(done.parameters["state_key"])
            let answer = try await harness.app.send(
                "POST", "/auth/register", headers: ["Content-Type: application/json"],
                body: App.json(["state_key": handle, "name": "Jo", "email": "jo@example.org"]))
            #expect(answer.status == 201)
            #expect(try await appOutcome(harness).parameters["status"] == "success")
        }
    }

    @Test("A registration that started with a code_challenge requires its code verifier")
    func registrationVerifier() async throws {
        let verifier = String(repeating: "v", count: 43)
        let challenge = "\(Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8)))))"
        try await withHarness(registration: .required) { harness in
            let bound = ["scope": "openid email", "code_challenge": challenge, "code_challenge_method": "S256"]
            let handle = try #require(try await appOutcome(harness, bound).parameters["state_key"])
            let unbound = try #require(try await appOutcome(harness, ["scope": "openid"]).parameters["state_key"])
            func register(_ handle: String, _ verifier: String?) async throws -> Int {
                var body = ["state_key": handle, "name": "Jo", "email": "jo@example.org"]
                body["code_verifier"] = verifier
                return try await harness.app.send(
                    "POST", "/users", headers: ["Content-Type: application/json"], body: App.json(body)
                ).status
            }
            #expect(try await register(handle, nil) == 401)
            #expect(try await register(handle, String(repeating: "w", count: 43)) == 401)
            #expect(try await register(handle, "short") == 400)
            #expect(try await register(unbound, verifier) == 401)
            #expect(try await register(handle, verifier) == 201)
            // The answer may have been lost: who has the verifier gets it again.
            #expect(try await register(handle, nil) == 401)
            #expect(try await register(handle, verifier) == 201)
        }
    }

    @Test("A popup posts the result to its opener at the registered origin, with a script of this server")
    func popup() async throws {
        try await withHarness { harness in
            let browser = Browser()
            let asked = try await browser.get(
                start(harness, ["client_type": "popup", "redirect_uri": Self.webURI, "mccmnc": SignInHarness.mccmnc]))
            let done = try await browser.get(try await approve(browser, asked).location)
            #expect(done.status == 200)
            #expect(done.text.contains(#"data-origin="https://web.example""#))
            #expect(done.text.contains("&quot;status&quot;:&quot;success&quot;"))
            #expect(done.response["content-security-policy"]?.contains("; script-src 'self'; ") == true)
            #expect(done.response["referrer-policy"] == "no-referrer")
            let script = try await browser.get("http://127.0.0.1:\(harness.app.port)/auth/popup.js")
            #expect(script.status == 200)
            let noOrigin = try await browser.get(
                start(harness, ["client_type": "popup", "redirect_uri": Self.appURI]))
            #expect(noOrigin.status == 400)
        }
    }

    @Test("A form of another site is sent again by a page, and the code is in no address")
    func formPost() async throws {
        try await withHarness { harness in
            let origin = "http://127.0.0.1:\(harness.app.port)"
            let callback = origin + "/auth/zenkey/callback"
            let fields = ["client_type": "web", "redirect_uri": Self.webURI, "mccmnc": SignInHarness.mccmnc]
            func comeBack() async throws -> (browser: Browser, form: [String: String]) {
                let browser = Browser()
                let back = try await approve(browser, try await browser.get(start(harness, fields)))
                return (browser, Dictionary(back.parameters.items.map { ($0.name, $0.value) }) { $1 })
            }
            let (browser, form) = try await comeBack()
            #expect(form["iss"] != nil)
            // Another site's form comes without cookies.
            let page = try await Browser().post(callback, form: form)
            #expect(page.status == 200)
            #expect(page.location.isEmpty)
            #expect(page.response["cache-control"] == "no-store")
            #expect(page.text.contains(#"<form method="post" action="/auth/zenkey/callback">"#))
            for name in ["state", "code", "iss", "mccmnc"] {
                let value = try #require(form[name])
                #expect(page.text.contains(#"name="\#(name)" value="\#(value)""#))
            }
            #expect(page.text.contains(#"name="sent_again" value="true""#))
            #expect(page.text.contains(#"<script src="/auth/form-post.js"></script>"#))
            let script = try await Browser().get(origin + "/auth/form-post.js")
            #expect(script.text.contains("submit()"))
            let done = try await browser.post(callback, form: form.merging(["sent_again": "true"]) { $1 })
            #expect(done.status == 303)
            #expect(done.parameters["status"] == "success")

            let (sameSite, second) = try await comeBack()
            #expect(try await sameSite.post(callback, form: second).parameters["status"] == "success")

            let third = try await comeBack().form.merging(["sent_again": "true"]) { $1 }
            let elsewhere = try await Browser().post(callback, form: third)
            #expect(elsewhere.status == 400, "in another browser, and without an endless loop of pages")

            let hostile = #""><script>alert(1)</script>"#
            let escaped = try await Browser().post(callback, form: ["state": hostile, "other": "x"])
            #expect(!escaped.text.contains("<script>alert"))
            #expect(!escaped.text.contains(#"name="other""#))
            for name in ["zenkey%3Fx", "zenkey%23", "zenkey%2F..", "%0D%0AX:"] {
                let refused = try await Browser().post(origin + "/auth/\(name)/callback", form: form)
                #expect([400, 404].contains(refused.status), "\(name)")
                #expect(refused.location.isEmpty)
            }
        }
    }

    @Test("A frontend that accepts JSON gets the URL in JSON")
    func json() async throws {
        try await withHarness { harness in
            let page = try await Browser().get(
                start(harness, ["client_type": "web", "redirect_uri": Self.webURI]),
                headers: ["Accept: application/json"])
            #expect(page.status == 200)
            let members = App.Members(of: page.response.body)
            #expect(members["location"]?.string?.hasPrefix(harness.simulator.discoveryUIURL ?? "-") == true)
            #expect(members["expires_in"]?.integer == 3600)
            let providers = try await Browser().get("http://127.0.0.1:\(harness.app.port)/auth/providers")
            #expect(providers.text.contains(#""id":"zenkey""#))
        }
    }

    @Test(
        "A malformed start names the error",
        arguments: [
            ["redirect_uri": webURI], ["client_type": "web"], ["client_type": "tv", "redirect_uri": webURI],
            ["client_type": "web", "redirect_uri": webURI, "mccmnc": "12"],
            ["client_type": "web", "redirect_uri": webURI, "client_id": "another"],
            [
                "client_type": "ios", "redirect_uri": appURI, "code_challenge": "short",
                "code_challenge_method": "S256",
            ],
            [
                "client_type": "ios", "redirect_uri": appURI,
                "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
            ],
            ["client_type": "web", "redirect_uri": webURI, "context": String(repeating: "x", count: 281)],
        ])
    func malformed(fields: [String: String]) async throws {
        try await withHarness { harness in
            let page = try await Browser().get(start(harness, fields), headers: ["Accept: application/json"])
            #expect(page.status == 400)
            #expect(App.Members(of: page.response.body)["error"]?.string == "invalid_request")
        }
    }
}
