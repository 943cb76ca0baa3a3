import OpenIDConnect
import Primitives

/// A back-channel logout: the validation of the logout token.
struct ReplayedLogout: ReplayedFlow {
    private let token: Secret
    let position: ReplayPosition?

    init(_ capsule: CapsuleReplay, _ rebuilt: inout RebuiltSignIn) throws(CapsuleReplay.Refusal) {
        let shown = capsule.request
        position = capsule.failure.positionOfUnauthenticated
        let verdict = shown?["checks"]?.object?["signature"]?.string.flatMap(TokenVerdict.init(rawValue:))
        let isVerified: Bool? =
            switch verdict {
            case .passed: true
            case .failed: false
            case .notCompared, .notPossible, nil: nil
            }
        token = try rebuilt.token(shown, named: "the logout token", isVerified: isVerified)
    }

    func run(_ scene: ReplayScene) async -> ReplayOutcome {
        guard let provider = scene.configuration.providers[scene.provider], provider.kind == .oidc,
            provider.endsSessions
        else { return ReplayOutcome(.unknownProvider(in: scene.configuration)) }
        let clients = provider.clients.mapValues(\.signingAlgorithms)
        do throws(LogoutTokenRefusal) {
            _ = try await scene.relyingParty.verify(logoutToken: token, for: clients)
        } catch {
            var outcome = ReplayOutcome(SignInError(error))
            guard case .failed(let check) = error else { return outcome }
            outcome.check = check.rawValue
            let failed = scene.relyingParty.explainOffline(logoutToken: token, for: clients).steps
                .filter { $0.verdict == .failed }
            outcome.failedChecks = failed.map {
                .init(check: $0.check.rawValue, expected: $0.check.demand, found: $0.found)
            }
            return outcome
        }
        return ReplayOutcome(undecided: "whether the logout token was used before, the database decides")
    }
}
