import CarrierSimulator
import HTTPServer
import Primitives
import TestSupport
import Testing

/// Cases of sign-ins by redirects, at the callback and after it.
extension ConformanceCases {
    static let olderRedirects: [ConformanceCase] = [
        .ok("rp-response_mode-form_post", .redirect, .steps(finishByForm)),
        .callback("rp-response_mode-form_post-error", .callback(demandLogin), .steps(finishByForm)),
    ]

    static let newerRedirects: [ConformanceCase] = [
        .ok("oidcc-client-test:redirect", .redirect),
        .callback("oidcc-client-test-form-post-error", .callback(demandLogin), .steps(finishByForm)),
    ]

    static let fapiRedirects: [ConformanceCase] = [
        .callback("fapi2-invalid-authorization-response-iss", .callback("iss", plus: "1")),
        .callback("fapi2-remove-authorization-response-iss", .fault(.authorizationMissingIssuer)),
        .callback("fapi2-ensure-authorization-response-with-invalid-state-fails", .callback("state", plus: "1")),
        .callback("fapi2-ensure-authorization-response-with-invalid-missing-state-fails", .callback("state", nil)),
    ]

    static let callbackGaps: [ConformanceCase] = [
        .callback("x-authz-error:access_denied", .fault(.authorizationDenied)),
        .callback("x-authz-error:server_error", .fault(.authorizationServerError)),
        .callback("x-authz-error:login_required", .callback(demandLogin)),
        .callback("x-authz-error:unsupported_response_type", .callback { answer(&$0, "unsupported_response_type") }),
        .callback("x-authz-error:no-error-code", .callback { answer(&$0, "") }),
        .callback(
            "x-authz-error:without-state",
            .callback { items in
                answer(&items, "access_denied")
                items.removeAll { $0.name == "state" }
            }),
        .callback(
            "x-authz-error:error-and-code", .callback { $0.append(.init(name: "error", value: "access_denied")) }),
        .callback("x-authz-error:doubled-code", .callback { double(&$0, "code") }),
        .callback("x-authz-error:doubled-state", .callback { double(&$0, "state") }),
        .callback("x-response_type:front-channel", .callback(answerWithTokens)),
        .callback("x-response_type:front-channel-by-form", .callback(answerWithTokens), .steps(finishByForm)),
        .ok(
            "x-response_type:front-channel-beside-code", .redirect,
            .callback { $0.append(.init(name: "id_token", value: "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ2aWN0aW0ifQ.")) }),
    ]

    static let callbackAttacks: [ConformanceCase] = [
        .callback("sec-23 replay:callback", .steps(finishTwice), .posts(1)),
        .callback("sec-23 replay:state-with-another-code", .steps(finishTwiceWithAnotherCode), .posts(1)),
        .callback("sec-26 mix-up:callback-iss", .fault(.authorizationOtherIssuer)),
        .callback("sec-26 mix-up:callback-iss-of-another", .steps(comeBackAsAnother)),
        .callback("sec-26 mix-up:callback-iss-slash", .callback("iss", plus: "/")),
        .callback("sec-26 mix-up:callback-iss-empty", .callback("iss", "")),
        .callback("sec-26 mix-up:callback-iss-missing", .callback("iss", nil)),
        .ok(
            "sec-26 mix-up:callback-iss-missing-and-not-promised", .redirect,
            .metadata("authorization_response_iss_parameter_supported", nil), .callback("iss", nil)),
        .callback("sec-26 mix-up:callback-mccmnc-of-another", .callback("mccmnc", "310010")),
        .rejected("sec-26 mix-up:code-of-another", "", .redirect, .steps(finishWithCodeOfAnother)),
        .callback("sec-43 state-csrf:wrong", .fault(.authorizationOtherState)),
        .callback("sec-43 state-csrf:absent", .fault(.authorizationMissingState)),
        .callback("sec-43 state-csrf:empty", .callback("state", "")),
        .callback("sec-43 state-csrf:another-browser", .steps(finishInAnotherBrowser)),
        .callback("sec-43 state-csrf:browser-with-a-sign-in-of-its-own", .steps(finishInBusyBrowser)),
        .ok("sec-43 state-csrf:two-tabs", .redirect, .steps(finishTwoTabs)),
        .rejected("sec-44 code-injection:callback", "", .redirect, .steps(finishWithCodeOfVictim)),
        .rejected(
            "sec-44 code-injection:no-challenge-methods", "", .redirect,
            .metadata("code_challenge_methods_supported", nil), .steps(finishWithCodeOfVictim)),
        .ok(
            "sec-44 challenge-without-challenge-methods", .redirect,
            .metadata("code_challenge_methods_supported", nil), .steps(signInAndSeeChallenge)),
    ]

    // MARK: Authorization responses

    private static func demandLogin(_ items: inout [AuthorizationCallback.Item]) { answer(&items, "login_required") }

    /// An error in place of the code.
    private static func answer(_ items: inout [AuthorizationCallback.Item], _ error: String) {
        items.removeAll { $0.name == "code" }
        items.append(.init(name: "error", value: error))
    }

    /// Tokens in place of the code.
    private static func answerWithTokens(_ items: inout [AuthorizationCallback.Item]) {
        items.removeAll { $0.name == "code" }
        items.append(.init(name: "id_token", value: "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ2aWN0aW0ifQ."))
        items.append(.init(name: "access_token", value: "token-from-the-proxy"))
        items.append(.init(name: "token_type", value: "Bearer"))
    }

    private static func double(_ items: inout [AuthorizationCallback.Item], _ name: String) {
        items += items.filter { $0.name == name }
    }

    // MARK: Steps

    private static let finishByForm: ConformanceCase.Steps = { run in
        let (browser, returned) = try await run.comeBack()
        return [try await run.finishByForm(browser, returned)]
    }

    private static let finishTwice: ConformanceCase.Steps = { run in
        let (browser, returned) = try await run.comeBack()
        #expect(AuthorizationCallback.verdict(of: try await run.finish(browser, returned)) == .signedIn)
        // The same browser gets the same end (`RedirectReturnTests`).
        return [try await run.finish(Browser(), returned)]
    }

    private static let finishTwiceWithAnotherCode: ConformanceCase.Steps = { run in
        var (browser, returned) = try await run.comeBack()
        #expect(AuthorizationCallback.verdict(of: try await run.finish(browser, returned)) == .signedIn)
        returned["code"] = try await run.comeBack().1["code"]
        return [try await run.finish(browser, returned)]
    }

    /// Another carrier's response with this carrier's state.
    private static let comeBackAsAnother: ConformanceCase.Steps = { run in
        let other = ConformanceRun(run.row.twin, on: run.harness)
        var (browser, returned) = try await run.comeBack()
        let another = try await other.comeBack(with: browser).1
        returned["iss"] = another["iss"]
        returned["code"] = another["code"]
        let answer = try await run.finish(browser, returned)
        #expect(run.harness.proxy.count(.token, other.mccmnc) == 0)
        return [answer]
    }

    /// The code is posted to the wrong carrier, where it is invalid, and not to its own.
    private static let finishWithCodeOfAnother: ConformanceCase.Steps = { run in
        let other = ConformanceRun(run.row.twin, on: run.harness)
        var (browser, returned) = try await run.comeBack()
        returned["code"] = try await other.comeBack(with: browser).1["code"]
        let answer = try await run.finish(browser, returned)
        #expect(run.harness.proxy.count(.token, other.mccmnc) == 0)
        return [answer]
    }

    private static let finishInAnotherBrowser: ConformanceCase.Steps = { run in
        let returned = try await run.comeBack().1
        return [try await run.finish(Browser(), returned)]
    }

    private static let finishInBusyBrowser: ConformanceCase.Steps = { run in
        let returned = try await run.comeBack().1
        let busy = try await run.comeBack().0
        return [try await run.finish(busy, returned)]
    }

    private static let finishTwoTabs: ConformanceCase.Steps = { run in
        let browser = Browser()
        let first = try await run.comeBack(with: browser).1
        let second = try await run.comeBack(with: browser).1
        return [try await run.finish(browser, second), try await run.finish(browser, first)]
    }

    /// A victim's code in the attacker's own sign-in.
    private static let finishWithCodeOfVictim: ConformanceCase.Steps = { run in
        let victim = try await run.comeBack().1
        var (browser, returned) = try await run.comeBack()
        returned["code"] = victim["code"]
        return [try await run.finish(browser, returned)]
    }

    private static let signInAndSeeChallenge: ConformanceCase.Steps = { run in
        let answer = try await run.signIn()
        let request = run.harness.simulator.log.last(.authorization, run.mccmnc)
        #expect(request?["code_challenge_method"] == "S256" && request?["code_challenge"]?.utf8.count == 43)
        #expect(run.harness.simulator.log.last(.token, run.mccmnc)?["code_verifier"]?.utf8.count == 43)
        return [answer]
    }
}
