import CarrierSimulator
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// Sign-ins at providers that deviate from the specifications, over real sockets, with the settings for them.
@Suite(.serialized) struct DeviatingProviderTests {
    /// - Parameter change: Changes the rules of `acme`; the simulator is not running yet.
    private func with(
        _ change: (inout Configuration.Provider) -> Void = { _ in },
        _ body: (ProviderWalk) async throws -> Void
    ) async throws {
        try await ProviderWalk.with(configure: { change(&$0.providers[0]) }, body)
    }

    private func end(
        _ walk: ProviderWalk, _ browser: Browser = Browser(), _ fields: [String: String] = [:]
    ) async throws -> Browser.Page {
        try await walk.signIn(browser, at: "acme", fields)
    }

    private func post(_ walk: ProviderWalk, _ fields: [String: String], to path: String = "/auth/acme/sign-in")
        async throws -> App.Answer
    {
        try await walk.harness.app.send(
            "POST", path, headers: ["Content-Type: application/json"], body: App.json(fields))
    }

    // MARK: Metadata

    @Test("Metadata may be elsewhere than the issuer, whom it must still name", arguments: [true, false])
    func metadataURL(namesIssuer: Bool) async throws {
        let issuer = "https://acme.example"
        try await with({
            $0.rules.metadataURL = EndpointURL(
                $0.issuer.text + "/.well-known/openid-configuration", policy: .allowLoopbackHTTP)
            if let url = EndpointURL(issuer, policy: .httpsOnly) { $0.issuer = url }
        }) { walk in
            walk.harness.simulator.update("acme") {
                $0.tampering.objects[.discovery, default: []].append {
                    $0["issuer"] = .string(namesIssuer ? issuer : "https://other.example")
                    $0["authorization_response_iss_parameter_supported"] = nil
                }
                $0.tampering.idTokens.append { $0.claims["iss"] = .string(issuer) }
                $0.faults = [.authorizationMissingIssuer]
            }
            let browser = Browser()
            guard namesIssuer else {
                let start = try await walk.start(browser, at: "acme")
                #expect(start.parameters["error"] == "carrier_error")
                return
            }
            let ending = try await end(walk, browser)
            #expect(ending.parameters["status"] == "success")
        }
    }

    @Test("A configured endpoint wins over metadata that lacks it or has another one", arguments: [true, false])
    func endpoint(isMissing: Bool) async throws {
        try await with({
            $0.rules.endpoints["token_endpoint"] = EndpointURL($0.issuer.text + "/token", policy: .allowLoopbackHTTP)
        }) { walk in
            walk.harness.simulator.update("acme") {
                $0.tampering.objects[.discovery, default: []].append {
                    $0["token_endpoint"] = isMissing ? nil : "http://127.0.0.1:1/token"
                }
            }
            let ending = try await end(walk)
            #expect(ending.parameters["status"] == "success")
        }
    }

    /// As with containers: the metadata has the addresses for browsers, which this server cannot reach.
    @Test("Browsers may reach the provider at another address than the server does")
    func browsersAddress() async throws {
        let outside = "https://sso.example"
        let endpoints = ["token_endpoint": "/token", "userinfo_endpoint": "/userinfo", "jwks_uri": "/jwks"]
        try await with({
            let inside = $0.issuer.text
            $0.rules.metadataURL = EndpointURL(
                inside + "/.well-known/openid-configuration", policy: .allowLoopbackHTTP)
            $0.rules.endpoints = endpoints.compactMapValues {
                EndpointURL(inside + $0, policy: .allowLoopbackHTTP)
            }
            if let url = EndpointURL(outside, policy: .httpsOnly) { $0.issuer = url }
        }) { walk in
            walk.harness.simulator.update("acme") {
                $0.tampering.objects[.discovery, default: []].append { metadata in
                    metadata["issuer"] = .string(outside)
                    for (name, path) in endpoints { metadata[name] = .string(outside + path) }
                    metadata["authorization_endpoint"] = .string(outside + "/authorize")
                    metadata["authorization_response_iss_parameter_supported"] = nil
                }
                $0.tampering.idTokens.append { $0.claims["iss"] = .string(outside) }
                $0.faults = [.authorizationMissingIssuer]
            }
            let browser = Browser()
            let page = try await walk.start(browser, at: "acme")
            #expect(page.location.hasPrefix(outside + "/authorize?"), "\(page.location)")
            var form = ["user": "jane"]
            for item in page.parameters.items { form[item.name] = item.value }
            let inside = try #require(walk.harness.simulator.issuer(of: "acme"))
            let approved = try await browser.post(inside + "/authorize/approve", form: form)
            #expect(try await browser.get(approved.location).parameters["status"] == "success")
        }
    }

    @Test("A redirect of the metadata is told with the address and the setting")
    func redirectedMetadata() async throws {
        try await with { walk in
            walk.harness.simulator.setFaults([.discoveryRedirect], for: "acme")
            let description = try await walk.start(Browser(), at: "acme").parameters["error_description"] ?? ""
            #expect(description.contains("a redirect to http://127.0.0.1"), "\(description)")
            #expect(description.contains("set metadata_url") || description.contains("set issuer"), "\(description)")
            #expect(walk.harness.simulator.log.count(.canary) == 0)
        }
    }

    // MARK: ID tokens

    @Test(
        "Audiences beside the client are accepted where they are trusted",
        arguments: [
            (["account"], [], "success"), ([], ["account"], "success"), (["other"], ["account"], "success"),
            ([], [], "failure"), (["other"], [], "failure"), ([], ["other"], "failure"),
        ] as [([String], [String], String)])
    func audiences(_ trusted: [String], _ ofClient: [String], _ status: String) async throws {
        try await with({
            $0.rules.trustedAudiences = trusted.compactMap { ClientID($0) }
            $0.clients[0].trustedAudiences = ofClient.compactMap { ClientID($0) }
        }) { walk in
            walk.harness.simulator.update("acme") {
                $0.tampering.idTokens.append {
                    $0.claims["azp"] = $0.claims["aud"]
                    $0.claims["aud"] = .array(["account", $0.claims["aud"] ?? .null])
                }
            }
            let ending = try await end(walk)
            #expect(ending.parameters["status"] == status)
        }
    }

    /// The provider `acme` as one tenant of several.
    private func withTenants(
        allowing tenants: Set<String>?, _ body: (ProviderWalk, _ template: String) async throws -> Void
    ) async throws {
        var template = ""
        try await with({
            template = String($0.issuer.text.dropLast("acme".count)) + "{tenantid}"
            $0.rules.tenants = TenantIssuers(template, allowing: tenants)
        }) { walk in
            let template = template
            walk.harness.simulator.update("acme") {
                $0.tampering.objects[.discovery, default: []].append { $0["issuer"] = .string(template) }
                $0.tampering.idTokens.append { $0.claims["tid"] = "acme" }
            }
            try await body(walk, template)
        }
    }

    @Test(
        "A user of an allowed tenant signs in, as a user of the tenant's issuer",
        arguments: [(["acme"], "success"), (nil, "success"), (["globex"], "failure")] as [(Set<String>?, String)])
    func tenants(_ allowed: Set<String>?, _ status: String) async throws {
        try await withTenants(allowing: allowed) { walk, template in
            let browser = Browser()
            #expect(try await end(walk, browser).parameters["status"] == status)
            guard status == "success" else { return }
            let identities = try await browser.get(walk.origin + "/users/me/identities").text
            #expect(identities.contains("\"\(walk.harness.simulator.issuer(of: "acme") ?? "-")\""), "\(identities)")
            #expect(!identities.contains("tenantid"))
        }
    }

    @Test("A token that names another tenant than its issuer is refused")
    func otherTenant() async throws {
        try await withTenants(allowing: nil) { walk, _ in
            walk.harness.simulator.update("acme") { $0.tampering.idTokens.append { $0.claims["tid"] = "globex" } }
            let ending = try await end(walk)
            #expect(ending.parameters["error"] == "invalid_id_token")
        }
    }

    @Test("A token of 60 KiB is read, and no longer one than 64 KiB", arguments: [(44_000, true), (50_000, false)])
    func longToken(_ count: Int, isAccepted: Bool) async throws {
        try await with { walk in
            walk.harness.simulator.update("acme") {
                $0.tampering.idTokens.append { $0.claims["groups"] = .string(String(repeating: "g", count: count)) }
            }
            let ending = try await end(walk)
            #expect(ending.parameters["status"] == (isAccepted ? "success" : "failure"))
        }
    }

    @Test("A code of 16 KiB reaches the provider, by a redirect, by a form and by an app")
    func longCode() async throws {
        try await with { walk in
            let code = String(repeating: "c", count: 16_384)
            for (isForm, code) in [(true, "f" + code.dropFirst()), (false, code)] {
                let browser = Browser()
                let state = try await walk.start(browser, at: "acme").parameters["state"] ?? ""
                var fields = ["state": state, "code": code, "iss": walk.harness.simulator.issuer(of: "acme") ?? ""]
                let page: Browser.Page
                if isForm {
                    fields["sent_again"] = "true"
                    page = try await browser.post(walk.origin + "/auth/acme/callback", form: fields)
                } else {
                    page = try await browser.get(walk.origin + "/auth/acme/callback?\(App.form(fields))")
                }
                #expect(page.parameters["error"] == "invalid_grant", "\(page.status) \(page.location)")
            }
            let fields = try walk.code(at: "acme").merging(["code": code]) { $1 }
            #expect(try await post(walk, fields).error == "invalid_grant")
            #expect(try await post(walk, fields.merging(["code": code + "c"]) { $1 }).status == 400)
            #expect(walk.harness.simulator.log.tokenPosts("acme") == 3)
        }
    }

    // MARK: Responses

    @Test("A response may have what browsers do not encode, unknown parameters, and bytes that are not UTF-8")
    func untidyResponse() async throws {
        try await with { walk in
            let browser = Browser()
            let callback = try await walk.approved(browser, try await walk.start(browser, at: "acme"))
            let done = try await browser.get(callback + #"&scope=[a]|{b}^`\"<c>&x=1&x=2&session_state=%zz&hd=M%FCller"#)
            #expect(done.parameters["status"] == "success", "\(done.status) \(done.text)")
            let state = try await walk.start(browser, at: "acme").parameters["state"] ?? ""
            let refusal = [
                "state": state, "iss": walk.harness.simulator.issuer(of: "acme") ?? "", "error": "access_denied",
            ]
            let failed = try await browser.get(
                walk.origin + "/auth/acme/callback?\(App.form(refusal))&error_description=verweigert%FC|")
            #expect(failed.parameters["error"] == "access_denied", "\(failed.status) \(failed.text)")
        }
    }

    // MARK: Requests

    @Test("Fixed parameters are sent, those of apps only if they are listed, and none replaces another")
    func parameters() async throws {
        try await with({
            $0.rules.parameters.fixed = ["access_type": "offline", "hd": "example.org"]
            $0.rules.parameters.fromApps = ["organization", "hd"]
            $0.clients[0].rules.parameters.fixed = ["access_type": "online"]
            $0.clients[0].rules.parameters.fromApps = ["ui_locales"]
        }) { walk in
            let fields = ["organization": "a&b", "ui_locales": "de", "audience": "x", "login_hint": "jo"]
            let asked = try await walk.start(Browser(), at: "acme", fields).parameters
            #expect(asked["access_type"] == "online")
            #expect(asked["hd"] == "example.org")
            #expect(asked["organization"] == "a&b")
            #expect(asked["ui_locales"] == "de")
            #expect(asked["login_hint"] == "jo")
            #expect(asked["audience"] == nil)
            #expect(try await walk.start(Browser(), at: "acme", ["hd": "own.org"]).parameters["hd"] == "example.org")
            #expect(try await walk.start(Browser(), at: "globex", fields).parameters["organization"] == nil)
            #expect(try await end(walk, Browser(), fields).parameters["status"] == "success")
        }
    }

    @Test("A fixed acr_values is what every sign-in asks for, and the ID token must have it")
    func fixedDemand() async throws {
        try await with({ $0.rules.parameters.fixed = ["acr_values": "a1", "max_age": "60", "prompt": "login"] }) {
            walk in
            let asked = try await walk.start(Browser(), at: "acme").parameters
            #expect(asked["acr_values"] == "a1" && asked["max_age"] == "60" && asked["prompt"] == "login")
            #expect(asked.items.count { $0.name == "acr_values" } == 1)
            #expect(try await end(walk).parameters["status"] == "success")
            let weaker = ["acr_values": "a3", "max_age": "600", "prompt": "consent"]
            let own = try await walk.start(Browser(), at: "acme", weaker).parameters
            #expect(own["acr_values"] == "a1" && own["max_age"] == "60" && own["prompt"] == "login")
            let shorter = try await walk.start(Browser(), at: "acme", ["max_age": "30"]).parameters
            #expect(shorter["max_age"] == "30")
            walk.harness.simulator.setFaults([.idTokenWrongACR], for: "acme")
            #expect(try await end(walk).parameters["error"] == "invalid_id_token")
        }
    }

    @Test("A code that an app posts must meet what is fixed, of the provider and of the client")
    func fixedDemandOfPostedCodes() async throws {
        let rows: [([String: String], CarrierSimulator.Fault?, Int, String)] = [
            ([:], nil, 200, ""), (["acr_values": "a1 a3"], nil, 200, ""), ([:], .idTokenWrongACR, 401, "(acr)"),
            ([:], .idTokenMissingACR, 401, "(acr)"), ([:], .idTokenOldAuthentication, 401, "(auth_time)"),
            ([:], .idTokenMissingAuthenticationTime, 401, "(auth_time)"),
            (["acr_values": "a1"], nil, 400, "acr_values"),
        ]
        try await with({
            $0.rules.parameters.fixed = ["acr_values": "a1", "max_age": "60"]
            // The simulator's codes have it.
            $0.clients[0].rules.parameters.fixed = ["acr_values": "a3"]
        }) { walk in
            for (asked, fault, status, named) in rows {
                walk.harness.simulator.setFaults(Set([fault].compactMap(\.self)), for: "acme")
                let answer = try await post(walk, try walk.code(at: "acme").merging(asked) { $1 })
                let description = answer.json["error_description"]?.string ?? ""
                #expect(answer.status == status, "\(asked) \(named) \(description)")
                #expect(status == 200 || description.contains(named), "\(description)")
            }
        }
    }

    @Test("A logout has the configured parameters")
    func logoutParameters() async throws {
        try await with({
            $0.rules.logoutParameters = [
                "client_id": "{client_id}", "logout_uri": "{post_logout_redirect_uri}", "kind": "all",
            ]
        }) { walk in
            let browser = Browser()
            _ = try await end(walk, browser)
            let page = try await browser.post(
                walk.origin + "/auth/acme/logout", form: ["post_logout_redirect_uri": ProviderWalk.webURI],
                headers: ["Sec-Fetch-Site: same-origin"])
            #expect(Set(page.parameters.items.map(\.name)) == ["client_id", "logout_uri", "kind"], "\(page.location)")
            #expect(page.parameters["logout_uri"] == walk.origin + "/auth/acme/logged-out")
        }
    }

    // MARK: What ties a response to its request

    @Test("Without nonce none is sent or demanded; PKCE ties the sign-in to its browser")
    func withoutNonce() async throws {
        try await with({ $0.rules.nonce = .off }) { walk in
            walk.harness.simulator.setFaults([.idTokenMissingNonce], for: "acme")
            let asked = try await walk.start(Browser(), at: "acme").parameters
            #expect(asked["nonce"] == nil && asked["code_challenge"] != nil)
            #expect(try await end(walk).parameters["status"] == "success")
            var fields = try walk.code(at: "acme")
            fields["nonce"] = nil
            #expect(try await post(walk, fields).status == 200)
            // One that is sent all the same need not come back, and no other one may.
            #expect(try await post(walk, try walk.code(at: "acme")).status == 200)
            walk.harness.simulator.setFaults([.idTokenWrongNonce], for: "acme")
            #expect(try await post(walk, try walk.code(at: "acme")).status == 401)
            walk.harness.simulator.setFaults([.idTokenMissingNonce], for: "acme")
            var without = try walk.code(at: "acme")
            (without["nonce"], without["code_verifier"]) = (nil, nil)
            #expect(try await post(walk, without).status == 400)
        }
    }

    @Test("A client without a secret signs in, by PKCE alone, also where the metadata lists other ways only")
    func publicClient() async throws {
        try await ProviderWalk.with(
            configure: { $0.providers[0].clients[0].authentication = .publicClient },
            register: { $0.authentication = .publicClient }
        ) { walk in
            let page = try await end(walk)
            #expect(page.parameters["status"] == "success", "\(page.location)")
            let posted = try await post(walk, try walk.code(at: "acme"))
            #expect(posted.status == 200)
        }
    }

    @Test("Without PKCE no challenge and no verifier is sent, and an app must have a nonce")
    func withoutPKCE() async throws {
        try await with({ $0.rules.pkce = .off }) { walk in
            walk.harness.simulator.update("acme") { $0.codeChallenges = .refused }
            let asked = try await walk.start(Browser(), at: "acme").parameters
            #expect(asked["nonce"] != nil && asked["code_challenge"] == nil && asked["code_challenge_method"] == nil)
            #expect(try await end(walk).parameters["status"] == "success")
            walk.harness.simulator.update("acme") { $0.codeChallenges = .optional }
            var fields = try walk.code(at: "acme")
            #expect(try await post(walk, fields).status == 200)
            fields = try walk.code(at: "acme")
            fields["nonce"] = nil
            #expect(try await post(walk, fields).status == 400)
            walk.harness.simulator.setFaults([.idTokenWrongNonce], for: "acme")
            #expect(try await end(walk).parameters["error"] == "invalid_id_token")
        }
    }

    @Test("A provider with neither is asked without both, which this server demands of it otherwise")
    func refusesChallenge() async throws {
        try await with { walk in
            walk.harness.simulator.update("acme") { $0.codeChallenges = .refused }
            let ending = try await end(walk)
            #expect(ending.parameters["status"] == "failure")
        }
    }

    @Test("With state alone every sign-in is tied to its browser, and no app brings a code", arguments: ["web", "ios"])
    func stateAlone(clientType: String) async throws {
        try await with({
            ($0.rules.nonce, $0.rules.pkce) = (.off, .off)
            $0.clients[0].redirectURIs.append("com.example.app:/done")
        }) { walk in
            walk.harness.simulator.update("acme") {
                $0.codeChallenges = .refused
                $0.faults = [.idTokenMissingNonce]
            }
            let uri = clientType == "web" ? ProviderWalk.webURI : "com.example.app:/done"
            let start = ["client_type": clientType, "redirect_uri": uri]
            let browser = Browser()
            let page = try await walk.start(browser, at: "acme", start)
            #expect(page.parameters["nonce"] == nil && page.parameters["code_challenge"] == nil)
            let callback = try await walk.approved(browser, page)
            let again = try await walk.approved(browser, try await walk.start(browser, at: "acme", start))
            #expect(try await Browser().get(callback).status == 400, "another browser")
            #expect(try await browser.get(again).parameters["status"] == "success")
            let fields = ["client_id": SignInHarness.clientID, "code": "c", "redirect_uri": SignInHarness.redirectURI]
            #expect(try await post(walk, fields).status == 400)
            #expect(try await post(walk, start, to: "/auth/acme/start").status == 400)
            #expect(walk.harness.simulator.log.tokenPosts("acme") == 1)
        }
    }

    @Test("A provider without ID tokens and PKCE ties sign-ins to their browsers")
    func stateAloneWithoutIDTokens() async throws {
        try await ProviderWalk.with(configure: {
            guard let index = $0.providers.firstIndex(where: { $0.id == "meetings" }) else { return }
            ($0.providers[index].rules.pkce, $0.providers[index].rules.nonce) = (.off, .off)
            $0.providers[index].rules.parameters.fixed = ["display": "page"]
        }) { walk in
            walk.harness.simulator.update("meetings") { $0.codeChallenges = .refused }
            let browser = Browser()
            let page = try await walk.start(browser, at: "meetings")
            #expect(page.parameters["display"] == "page" && page.parameters["code_challenge"] == nil)
            let callback = try await walk.approved(browser, page)
            #expect(try await Browser().get(callback).status == 400)
            #expect(try await walk.signIn(browser, at: "meetings").parameters["status"] == "success")
        }
    }

    // MARK: Extras

    @Test("Attributes are read from configured claims, of userinfo and of ID tokens", arguments: [true, false])
    func members(hasUserInfo: Bool) async throws {
        try await with({
            $0.rules.userMembers.attributes = ["emails.0", "nick"].map(UserEndpoint.Member.init).enumerated().reduce(
                into: [:]
            ) { $0[$1.offset == 0 ? .email : .name] = $1.element }
            $0.rules.userMembers.verified = [.email: UserEndpoint.Member("flags.confirmed")].compactMapValues { $0 }
        }) { walk in
            let claims: [String: JSONValue] = [
                "emails": ["jo@example.org", "x@example.org"], "nick": "Jo", "flags": ["confirmed": true],
                "email": "other@example.org", "email_verified": false,
            ]
            walk.harness.simulator.update("acme") {
                if !hasUserInfo { $0.faults = [.userInfo500] }
                $0.tampering.idTokens.append { for (name, value) in claims { $0.claims[name] = value } }
                $0.tampering.objects[.userInfo, default: []].append { for (name, value) in claims { $0[name] = value } }
            }
            let browser = Browser()
            #expect(try await end(walk, browser, ["scope": "openid email"]).parameters["status"] == "success")
            let me = App.Members(of: try await browser.get(walk.origin + "/users/me").response.body)
            #expect(me["email"]?.string == "jo@example.org" && me["name"]?.string == "Jo", "\(me)")
            #expect(me["email_verified"]?.bool == true)
        }
    }

    @Test(
        "Userinfo that is no help ends no sign-in: the ID token counts; another sub does",
        arguments: [
            (CarrierSimulator.Fault.userInfo401, nil), (.userInfo500, nil), (.userInfoNotJSON, nil),
            (.userInfoMissingSubject, nil), (.userInfoRedirect, nil), (.userInfoWrongSubject, "invalid_id_token"),
            (.userInfoSubjectArray, "invalid_id_token"),
        ] as [(CarrierSimulator.Fault, String?)])
    func userInfo(_ fault: CarrierSimulator.Fault, _ error: String?) async throws {
        try await with { walk in
            walk.harness.simulator.update("acme") {
                $0.faults = [fault]
                $0.tampering.idTokens.append { $0.claims["email"] = "jo@example.org" }
            }
            let browser = Browser()
            let done = try await end(walk, browser, ["scope": "openid email"])
            #expect(done.parameters["error"] == error)
            guard error == nil else { return }
            let me = App.Members(of: try await browser.get(walk.origin + "/users/me").response.body)
            #expect(me["email"]?.string == "jo@example.org")
            #expect(walk.harness.simulator.log.count(.canary) == 0)
        }
    }

    @Test("A claim that userinfo told stays where it fails at the next sign-in")
    func claimsStay() async throws {
        try await with { walk in
            walk.harness.simulator.update("acme") {
                $0.tampering.objects[.userInfo, default: []].append { $0["is_adult"] = .bool(true) }
            }
            for fails in [false, true] {
                if fails { walk.harness.simulator.setFaults([.userInfo500], for: "acme") }
                let browser = Browser()
                let done = try await end(walk, browser, ["scope": "openid is_adult"])
                #expect(done.parameters["status"] == "success")
                let me = App.Members(of: try await browser.get(walk.origin + "/users/me").response.body)
                #expect(me["is_adult"]?.bool == true, "fails: \(fails)")
            }
        }
    }

    @Test("Fractions of a second and unknown members end no sign-in")
    func tokenResponse() async throws {
        try await with { walk in
            walk.harness.simulator.update("acme") {
                $0.tampering.objects[.token, default: []].append {
                    $0["expires_in"] = .number(3599.5)
                    $0["ext"] = ["a": [1, .null]]
                }
            }
            let ending = try await end(walk)
            #expect(ending.parameters["status"] == "success")
        }
    }
}
