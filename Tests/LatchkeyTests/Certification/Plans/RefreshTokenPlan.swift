import CarrierSimulator
import HTTPServer
import Primitives
import TestSupport
import Testing

/// The plans of refresh tokens, and of sign-ins that others initiate.
extension CertificationPlan {
    static let refreshToken = CertificationPlan(
        id: "refresh", title: "Refresh token", name: "oidcc-client-refreshtoken-test-plan",
        summary: """
            Latchkey stores the provider's tokens, and the userinfo endpoint is a resource that a signed-in user can \
            fetch. The access token has expired.
            """,
        settings: { address in
            ["store_tokens": true, "resources": ["userinfo": ["url": address.issuer + "/userinfo"]]]
        },
        modules: [
            CertificationModule("oidcc-client-test-refresh-token", .refreshed).by(refresh).refusing("invalid_token"),
            CertificationModule(
                "oidcc-client-test-refresh-token-invalid-issuer", .refreshRefused, .claim("iss", plus: "1")
            ).by(refresh).refusing("invalid_token"),
            CertificationModule(
                "oidcc-client-test-refresh-token-invalid-sub", .refreshRefused, .claim("sub", plus: "1")
            ).by(refresh).refusing("invalid_token"),
        ])

    static let loginInitiation = CertificationPlan(
        id: "initiation", title: "Third-party initiated login",
        name: "oidcc-client-test-3rd-party-init-login-test-plan",
        summary: "Another site sends the browser to `initiate_login_uri` with `iss`.",
        settings: { _ in ["initiate_login_client": Client.secret.rawValue] },
        clientSettings: ["id_token_signed_response_alg": "RS256", "scopes": ["openid", "profile", "email"]],
        modules: [CertificationModule("oidcc-client-test-3rd-party-init-login", .signedIn).by(signInAsInitiated)])

    private static let signInAsInitiated: CertificationModule.Steps = { run in
        let browser = Browser()
        let issuer = run.simulator.issuer(of: run.provider) ?? ""
        let asked = try await browser.get("\(run.path)/initiate-login?" + App.form(["iss": issuer]))
        return try await run.finish(browser, asked)
    }

    /// The first tokens are good; the defect is that of the refreshed ID token.
    private static let refresh: CertificationModule.Steps = { run in
        let browser = Browser()
        run.behave(true)
        let observation = try await run.signIn(browser)
        guard observation == .signedIn else { return observation }
        run.behave(false)
        run.simulator.expireAccessTokens(at: run.provider)
        let page = try await run.fetch("userinfo", browser)
        let entries = run.simulator.log.entries.filter { $0.mccmnc == run.provider }
        let refreshed = try #require(entries.lastIndex { $0["grant_type"] == "refresh_token" })
        let used = try #require(entries.lastIndex { $0.endpoint == .userInfo })
        switch (page.status, used > refreshed) {
        case (200, true): return .refreshed
        case (400..., false): return .refreshRefused
        case (let status, let isUsed): return .other("\(status), the new token is used: \(isUsed)")
        }
    }
}

extension CertificationRun {
    /// Fetches a resource of the provider with the session of a browser.
    func fetch(_ resource: String, _ browser: Browser) async throws -> Browser.Page {
        try await browser.get("\(path)/resources/\(resource)", headers: ["Sec-Fetch-Site: same-origin"])
    }
}
