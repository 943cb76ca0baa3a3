import CarrierSimulator
import HTTPServer
import Primitives
import TestSupport
import Testing

/// The plans whose modules are those of the basic profile.
extension CertificationPlan {
    static let basic = CertificationPlan(
        id: "basic", title: "Basic", name: "oidcc-client-basic-certification-test-plan",
        summary: "The code flow, with a client secret by HTTP Basic and ID tokens with RS256.",
        modules: basicModules)

    static let formPost = CertificationPlan(
        id: "form", title: "Form post", name: "oidcc-client-formpost-basic-certification-test-plan",
        summary: "The same, with `response_mode: form_post`.", settings: { _ in ["response_mode": "form_post"] },
        modules: basicModules, postsForms: true)

    private static let basicModules: [CertificationModule] =
        [
            "", "-invalid-iss", "-missing-sub", "-invalid-aud", "-missing-iat", "-kid-absent-single-jwks",
            "-kid-absent-multiple-jwks", "-idtoken-sig-rs256", "-idtoken-sig-none", "-invalid-sig-rs256",
            "-userinfo-invalid-sub", "-nonce-invalid",
        ].map { .same("oidcc-client-test\($0)") }
        + [
            .same("oidcc-client-test-scope-userinfo-claims").by(signInAndSeeClaims),
            .same("oidcc-client-test-client-secret-basic").by(signInByBasic),
        ]

    private static let signInAndSeeClaims: CertificationModule.Steps = { run in
        let browser = Browser()
        let observation = try await run.signIn(browser)
        let page = try await browser.get("\(run.harness.origin)/users/me")
        let user = App.Members(of: page.response.body)
        #expect(user["email"]?.string == "jane.doe@example.com")
        #expect(user["name"]?.string == "Jane Doe")
        return observation
    }

    /// The provider decodes id and secret, which has every character that needs encoding.
    private static let signInByBasic: CertificationModule.Steps = { run in
        let observation = try await CertificationRun.signIn(run)
        let request = run.last(.token)
        #expect(request?.authorization?.hasPrefix("Basic ") == true)
        #expect(request?["client_id"] == nil && request?["client_secret"] == nil)
        return observation
    }
}
