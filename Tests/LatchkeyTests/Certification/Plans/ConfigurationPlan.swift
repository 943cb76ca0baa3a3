import CarrierSimulator
import HTTPServer
import Primitives
import TestSupport
import Testing

/// The plans about metadata and keys.
extension CertificationPlan {
    static let configuration = CertificationPlan(
        id: "config", title: "Configuration", name: "oidcc-client-config-certification-test-plan",
        summary: "Discovery by the issuer, and keys that change.", modules: configurationModules)

    static let dynamic = CertificationPlan(
        id: "dynamic", title: "Dynamic", name: "oidcc-client-dynamic-certification-test-plan",
        summary: """
            The plan begins with a registration by the client. Latchkey's operator registers the client, with what \
            `latchkey client-metadata` prints; what the plan has beyond that is shown here.
            """,
        modules: configurationModules + [.same("oidcc-client-test-userinfo-signed")],
        others: [
            Others(
                names: ["oidcc-client-test-discovery-webfinger-acct", "oidcc-client-test-discovery-webfinger-url"],
                reason: "Users choose a provider that the operator has configured; no identifier of a user is resolved."
            ),
            Others(
                names: ["oidcc-client-test-dynamic-registration"],
                reason: "The operator registers the client at each provider and configures that provider."),
            Others(
                names: ["oidcc-client-test-request-uri-signed-rs256", "oidcc-client-test-request-uri-signed-none"],
                reason: "Request objects are sent or pushed (RFC 9126), so that the provider fetches nothing."),
        ])

    private static let configurationModules: [CertificationModule] = [
        .same("oidcc-client-test-discovery-openid-config").by(signInAndSeeDiscovery),
        .same("oidcc-client-test-discovery-jwks-uri-keys").by(signInAndSeeKeys),
        .same("oidcc-client-test-discovery-issuer-mismatch"), .same("oidcc-client-test-idtoken-sig-none"),
        .same("oidcc-client-test-signing-key-rotation-just-before-signing").by(signInBefore),
        .same("oidcc-client-test-signing-key-rotation").by(rotateBetween),
    ]

    private static let signInAndSeeDiscovery: CertificationModule.Steps = { run in
        let observation = try await CertificationRun.signIn(run)
        #expect(run.count(.configuration) == 1)
        return observation
    }

    /// The address of the keys is another in each run.
    private static let signInAndSeeKeys: CertificationModule.Steps = { run in
        let observation = try await CertificationRun.signIn(run)
        #expect(run.count(.keys) == 1)
        #expect(run.last(.keys)?["path"] != nil)
        return observation
    }

    /// The key that the first sign-in fetched is replaced when the second one's token is made.
    private static let signInBefore: CertificationModule.Steps = { run in
        run.behave(true)
        let first = try await CertificationRun.signIn(run)
        guard first == .signedIn else { return first }
        run.behave(false)
        let second = try await CertificationRun.signIn(run)
        #expect(run.count(.keys) == 2)
        return second
    }

    private static let rotateBetween: CertificationModule.Steps = { run in
        let first = try await CertificationRun.signIn(run)
        guard first == .signedIn else { return first }
        run.simulator.rotateKeys(run.provider)
        let second = try await CertificationRun.signIn(run)
        #expect(run.count(.keys) == 2)
        return second
    }
}
