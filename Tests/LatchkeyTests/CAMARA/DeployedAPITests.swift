import CarrierSimulator
import TestSupport
import Testing

/// The CAMARA APIs as operators and aggregators deploy them, over sockets. The simulator knows no other path, scope,
/// prefix and header field than those of its profile.
@Suite("CAMARA APIs as they are deployed, over sockets") struct DeployedAPITests {
    typealias Profile = CarrierSimulator.OperatorProfile

    struct Deployment: Sendable, CustomTestStringConvertible {
        /// Lines of the provider, or of each operator.
        let settings: [String]
        let change: @Sendable (inout Profile) -> Void
        /// What a sign-in and a verification over the mobile network end with, where the settings are missing.
        let failure: String?

        init(
            _ settings: [String], orElse failure: String? = "carrier_error",
            _ change: @escaping @Sendable (inout Profile) -> Void
        ) {
            (self.settings, self.failure, self.change) = (settings, failure, change)
        }

        var testDescription: String { settings.joined(separator: ", ") }
    }

    static let deployments: [Deployment] = [
        Deployment(["api_versions: {number_verification: v0, sim_swap: v0}"]) {
            ($0.numberVerificationVersion, $0.simSwapVersion) = ("v0", "v0")
        },
        Deployment(["api_versions: {number_verification: v1, sim_swap: v1}"]) {
            ($0.numberVerificationVersion, $0.simSwapVersion) = ("v1", "v1")
        },
        // Each API has a version of its own.
        Deployment(["api_versions: {sim_swap: v1}"]) { $0.simSwapVersion = "v1" },
        Deployment(["api_versions: {number_verification: v031, sim_swap: v040}", "api_prefix: /camara"]) {
            ($0.numberVerificationVersion, $0.simSwapVersion, $0.apiPrefix) = ("v031", "v040", "/camara")
        },
        Deployment(["api_prefix: /aggregator/v031"]) { $0.apiPrefix = "/aggregator/v031" },
        Deployment(["headers: {X-API-Key: key-1, X-Tenant: shop}"]) {
            $0.demandedHeaders = ["X-API-Key": "key-1", "X-Tenant": "shop"]
        },
        Deployment(["scope_form: combined"]) { $0.scopeForm = .combined },
        Deployment(["scope_form: combined-v0"]) { $0.scopeForm = .combinedV0 },
        Deployment(["scope_form: purpose"]) { $0.scopeForm = .purpose },
        Deployment(["operator_token_prefix: 'ts43:'"], orElse: nil) { $0.operatorTokenPrefix = "ts43:" },
        Deployment(["operator_token_prefix: ''"], orElse: nil) { $0.operatorTokenPrefix = "" },
        Deployment([
            "api_versions: {number_verification: v0, sim_swap: v1}", "api_prefix: /aggregator/v031",
            "headers: {X-API-Key: key-1}", "operator_token_prefix: 'ts43:'", "scope_form: combined-v0",
        ]) {
            ($0.numberVerificationVersion, $0.simSwapVersion, $0.apiPrefix) = ("v0", "v1", "/aggregator/v031")
            ($0.demandedHeaders, $0.operatorTokenPrefix) = (["X-API-Key": "key-1"], "ts43:")
            $0.scopeForm = .combinedV0
        },
    ]

    private static let simSwap = "{max_age_hours: 72}"

    private static func change(_ walk: NumberWalk, _ change: @Sendable (inout Profile) -> Void) {
        for name in ["northwind", "harbor"] {
            walk.simulator.update(name) { carrier in
                guard var profile = carrier.operatorProfile else { return }
                change(&profile)
                carrier.operatorProfile = profile
            }
        }
    }

    @Test(
        "Sign-ins and verifications work as configured, with both ways and the check of the SIM", arguments: deployments
    )
    func configured(_ deployment: Deployment) async throws {
        try await NumberWalk.with(simSwap: Self.simSwap, more: deployment.settings) { (walk) async throws in
            Self.change(walk, deployment.change)
            #expect(try await walk.signIn().result == "success")
            #expect(try await walk.signInByToken().result == "success")
            let end = try await walk.verify()
            #expect(end.status == "verified" && end.number == NumberWalk.number, "\(end)")
            #expect(walk.count(.devicePhoneNumber) == 2 && walk.count(.numberVerify) == 1)
            #expect(walk.count(.simSwapCheck) == 3)
        }
    }

    @Test("An operator takes an operator token with its prefix also by CIBA", arguments: ["ts43:", ""])
    func backchannel(_ prefix: String) async throws {
        try await NumberWalk.with(more: ["operator_token_prefix: '\(prefix)'"]) { (walk) async throws in
            Self.change(walk) {
                $0.acceptsJWTBearer = false
                $0.operatorTokenPrefix = prefix
            }
            #expect(try await walk.signInByToken().result == "success")
            #expect(walk.count(.backchannelAuthentication) == 1)
        }
    }

    @Test("What an operator deploys otherwise than configured signs nobody in", arguments: deployments)
    func notConfigured(_ deployment: Deployment) async throws {
        try await NumberWalk.with(simSwap: Self.simSwap) { (walk) async throws in
            Self.change(walk, deployment.change)
            #expect(try await walk.signIn().result == deployment.failure ?? "success")
            #expect(try await walk.signInByToken().token == nil)
        }
    }

    @Test("An operator token of 16 kB is exchanged in both ways", arguments: [true, false])
    func longToken(byJWT: Bool) async throws {
        try await NumberWalk.with { (walk) async throws in
            Self.change(walk) {
                $0.operatorTokenBytes = 16_384
                $0.acceptsJWTBearer = byJWT
            }
            #expect(try await walk.signInByToken().result == "success")
            Self.change(walk) { $0.operatorTokenBytes = 16_385 }
            #expect(try await walk.signInByToken().result == "invalid_request")
        }
    }
}
