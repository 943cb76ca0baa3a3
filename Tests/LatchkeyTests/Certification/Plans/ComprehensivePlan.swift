import CarrierSimulator
import Primitives
import TestSupport
import Testing

/// The plan of all modules, without those of the other plans.
extension CertificationPlan {
    static let comprehensive = CertificationPlan(
        id: "more", title: "Comprehensive", name: "oidcc-client-test-plan",
        summary: """
            This plan is not part of the certification. Here are its modules that no plan above has, in the variant \
            with `response_mode: form_post`.
            """,
        settings: { _ in ["response_mode": "form_post"] }, clientSettings: [:],
        modules: [
            .same("oidcc-client-test-missing-aud"), .same("oidcc-client-test-invalid-sig-es256"),
            .same("oidcc-client-test-invalid-sig-hs256").withoutVerdict(
                "The suite waits for an authorization request, which a client that refuses HS256 does not send."),
            .same("oidcc-client-test-userinfo-bearer-header").by(signInAndSeeBearer),
            .same("oidcc-client-test-form-post-error"), .same("oidcc-client-test-aggregated-claims"),
            CertificationModule("oidcc-client-test-distributed-claims", .signedIn).by(signInWithDistributedClaims)
                .withoutVerdict("The suite waits for a request to the claims endpoint, and Latchkey sends none."),
        ],
        others: [
            Others(
                names: ["oidcc-client-test-userinfo-bearer-body"],
                reason: "The access token is sent in the header only (RFC 6750 section 2.1)."),
            Others(
                names: [
                    "oidcc-client-test-nonce-unless-code-flow", "oidcc-client-test-invalid-athash",
                    "oidcc-client-test-missing-athash", "oidcc-client-test-invalid-chash",
                    "oidcc-client-test-missing-chash",
                ],
                reason: "It is about tokens from the authorization endpoint, which are never accepted."),
        ], postsForms: true)

    static let comprehensiveCertificate = mutualTLS(.certificate, "more-tls", "with a certificate")

    static let comprehensiveSelfSigned = mutualTLS(.selfSigned, "more-own", "with a self-signed certificate")

    private static func mutualTLS(_ client: Client, _ id: String, _ variant: String) -> CertificationPlan {
        let method = client == .selfSigned ? "self_signed_tls_client_auth" : "tls_client_auth"
        return CertificationPlan(
            id: id, title: "Comprehensive \(variant)", name: "oidcc-client-test-plan",
            summary: """
                The variant with `client_auth_type=\(method)`, as far as it differs. The provider's endpoints ask for \
                the client's certificate: the usual ones, or the `mtls_endpoint_aliases`.
                """,
            client: client, clientSettings: [:], provider: { $0.authenticationMethods = [method] },
            modules: [
                CertificationModule("oidcc-client-test", .signedIn).by(CertificationRun.signInWithoutAliases),
                CertificationModule("oidcc-client-test-mtls-endpoint-aliases", .signedIn).by(
                    CertificationRun.signInAtAliases),
            ])
    }

    private static let signInAndSeeBearer: CertificationModule.Steps = { run in
        let observation = try await CertificationRun.signIn(run)
        #expect(run.last(.userInfo)?.authorization?.hasPrefix("Bearer ") == true)
        #expect(run.last(.userInfo)?["access_token"] == nil)
        return observation
    }

    /// The claims would be at an address that only this provider names.
    private static let signInWithDistributedClaims: CertificationModule.Steps = { run in
        let trap = (run.simulator.issuer(of: run.provider) ?? "") + "/canary/claims"
        run.simulator.update(run.provider) { provider in
            provider.tampering.objects[.userInfo, default: []].append { claims in
                claims["_claim_names"] = ["credit_score": "a"]
                claims["_claim_sources"] = ["a": ["endpoint": .string(trap), "access_token": "claims-token"]]
            }
        }
        return try await CertificationRun.signIn(run)
    }
}
