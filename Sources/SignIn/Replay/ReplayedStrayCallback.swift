import OpenIDConnect
import Primitives

/// An authorization response that belongs to no sign-in: of the wrong kind, with a signature that is refused, or with
/// an unknown state.
struct ReplayedStrayCallback: ReplayedFlow {
    private enum Received {
        case unreadable
        case plain(hasState: Bool)
        case signed(Secret)
    }

    private let received: Received
    let position: ReplayPosition?

    init(_ capsule: CapsuleReplay, _ rebuilt: inout RebuiltSignIn) throws(CapsuleReplay.Refusal) {
        let shown = capsule.request?["authorization_response"]?.object
        position = capsule.failure.positionOfUnauthenticated
        if shown?["response"] != nil {
            // The signature is checked last: what was refused by another check says nothing about it, and a response
            // whose state is unknown has passed it.
            let isVerified: Bool? =
                switch capsule.failure.check {
                case nil: true
                case AuthorizationResponseCheck.signature.rawValue: false
                default: nil
                }
            received = .signed(
                try rebuilt.token(shown, named: "the authorization response", isVerified: isVerified))
            return
        }
        guard let isReadable = shown?["is_readable"]?.bool else {
            throw CapsuleReplay.Refusal(
                .notReplayable,
                "it does not say whether the parameters could be read, as capsules of earlier versions do not")
        }
        received = isReadable ? .plain(hasState: shown?["state"]?.string != nil) : .unreadable
    }

    func run(_ scene: ReplayScene) async -> ReplayOutcome {
        let rules = RedirectRules(configuration: scene.configuration, relyingParties: scene.relyingParties)
        switch received {
        case .unreadable:
            return ReplayOutcome(undecided: "parameters that cannot be read are not in a capsule")
        case .plain(let hasState):
            guard !rules.isSigned(at: scene.provider) else { return ReplayOutcome(.responseNotSigned) }
            guard hasState else { return ReplayOutcome(.redirectUnknown) }
        case .signed(let text):
            guard rules.isSigned(at: scene.provider) else { return ReplayOutcome(.responseSigned) }
            if let outcome = await refusal(of: text, scene) { return outcome }
        }
        return ReplayOutcome(undecided: "whether a sign-in with this state is under way, the database decides")
    }

    private func refusal(of text: Secret, _ scene: ReplayScene) async -> ReplayOutcome? {
        let clients = scene.configuration.providers[scene.provider]?.clients.mapValues(\.responseSigningAlgorithm)
        do throws(AuthorizationResponseRefusal) {
            _ = try await scene.relyingParty.verify(authorizationResponse: text, for: clients ?? [:])
            return nil
        } catch {
            var outcome = ReplayOutcome(SignInError(error))
            if case .failed(let check) = error { outcome.check = check.rawValue }
            return outcome
        }
    }
}
