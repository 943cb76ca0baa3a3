import CarrierSimulator
import HTTPServer
import Primitives
import TestSupport
import Testing

extension ConformanceRun {
    /// Sends a browser to the carrier, where the user approves, and stops at the redirect back.
    func comeBack(with browser: Browser = Browser()) async throws -> (Browser, AuthorizationCallback) {
        let asked = try await start(browser)
        try #require(asked.status == 303)
        var back = try await browser.get(asked.location)
        if back.status == 200 {
            var form: [String: String] = [:]
            for item in asked.parameters.items { form[item.name] = item.value }
            back = try await browser.post(asked.location.prefix { $0 != "?" } + "/approve", form: form)
        }
        var returned = AuthorizationCallback(back)
        keepSecret([returned["code"]].compactMap(\.self))
        row.callbackEdit?(&returned.items)
        return (browser, returned)
    }

    /// The response that sends a browser to the carrier, or to the frontend with an error.
    func start(_ browser: Browser) async throws -> Browser.Page {
        let start = App.form([
            "client_type": "web", "client_id": row.clientID, "redirect_uri": ConformanceHarness.webURI,
            "mccmnc": mccmnc, "scope": row.scope,
        ])
        return try await browser.get("http://127.0.0.1:\(harness.app.port)/auth/zenkey/start?\(start)")
    }

    /// Passes an authorization response to Latchkey.
    func finish(_ browser: Browser, _ returned: AuthorizationCallback) async throws -> App.Answer {
        let page = try await timed { try await browser.get(returned.callback + "?" + returned.query) }
        return answer(page)
    }

    private func answer(_ page: Browser.Page) -> App.Answer {
        App.Answer(response: page.response, json: App.Members(of: page.response.body))
    }

    /// A start that sends no browser to the carrier.
    func startInVain() async throws -> App.Answer { answer(try await timed { try await start(Browser()) }) }

    func finish(_ both: (browser: Browser, returned: AuthorizationCallback)) async throws -> App.Answer {
        try await finish(both.browser, both.returned)
    }

    /// The same by a form that another site posts: the browser sends its cookies only with the form that the page in
    /// answer sends again.
    func finishByForm(_ browser: Browser, _ returned: AuthorizationCallback) async throws -> App.Answer {
        var form: [String: String] = [:]
        for item in returned.items { form[item.name] = item.value }
        let passed = try await Browser().post(returned.callback, form: form)
        try #require(passed.status == 200)
        form["sent_again"] = "true"
        return answer(try await timed { [form] in try await browser.post(returned.callback, form: form) })
    }

    /// Starts a backchannel authentication, approves it, and polls the result.
    func signInByPhone() async throws -> App.Answer {
        let path = "/auth/zenkey-async-signin"
        let fields = [
            "login_hint": "+12025550123", "client_id": row.clientID, "scope": row.scope, "mccmnc": mccmnc,
            "redirect_uri": SignInHarness.redirectURI, "acr_values": "a3",
        ]
        let started = try await timed {
            try await harness.app.send(
                "POST", path, headers: ["Content-Type: application/json"], body: App.json(fields))
        }
        guard let handle = started.json["auth_req_id"]?.string else { return started }
        if !row.faults.contains(.notificationBeforeResponse) {
            let id = try #require(harness.simulator.backchannelAuthenticationRequests(at: mccmnc).last)
            #expect(try await harness.simulator.complete(id, .approved) == row.notified)
        }
        return try await timed { try await harness.app.send("GET", path + "/" + handle) }
    }

    /// A session of a sign-in without faults.
    func session() async throws -> String {
        behave()
        let session = try await post(try fields()).token
        misbehave()
        return try #require(session)
    }

    /// The app's fields for an approved transaction.
    func transactionFields() throws -> ConformanceCase.Fields {
        var fields = try harness.authorizedResponse(
            mccmnc, clientID: row.clientID, acr: "a3", context: "Pay $10 to the grocer")
        keepSecret(["code", "code_verifier"].compactMap { fields[$0] })
        row.appEdit?(&fields)
        return fields
    }

    private func approve(_ fields: ConformanceCase.Fields, _ session: String) async throws -> App.Answer {
        try await timed { try await harness.app.authorize(fields, session) }
    }

    func approveTransaction() async throws -> App.Answer {
        let session = try await session()
        return try await approve(try transactionFields(), session)
    }

    /// Repeats the code of an approved transaction.
    func approveTransactionTwice() async throws -> App.Answer {
        let session = try await session()
        let fields = try transactionFields()
        #expect(try await approve(fields, session).status == 200)
        return try await approve(fields, session)
    }
}
