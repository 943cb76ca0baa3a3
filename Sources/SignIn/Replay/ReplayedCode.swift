import OpenIDConnect
import Primitives

/// The redemption of a code: discovery, token request, validation, userinfo.
struct ReplayedCode: ReplayedFlow {
    private let request: SignInRequest
    private let failure: CapsuleReplay.Failure

    init(_ capsule: CapsuleReplay, _ rebuilt: RebuiltSignIn) {
        request = rebuilt.request
        failure = capsule.failure
    }

    var position: ReplayPosition? { failure.positionOfCode }

    private var failedStep: SignInReport.Step? { failure.step.flatMap(SignInReport.Step.init(rawValue:)) }
    private var failedCheck: IDTokenCheck? { failure.check.flatMap(IDTokenCheck.init(rawValue:)) }

    func run(_ scene: ReplayScene) async -> ReplayOutcome {
        var log = SignInLog(request, correlationID: scene.correlationID, logger: scene.logger, observer: { _ in })
        do throws(SignInError) {
            let undecided = try await run(scene, &log)
            return ReplayOutcome(undecided: undecided)
        } catch {
            return ReplayOutcome(error, log.stepTimes.last)
        }
    }

    /// - Returns: What decided the failure, if it came after the steps that passed.
    private func run(_ scene: ReplayScene, _ log: inout SignInLog) async throws(SignInError) -> String? {
        let moment = scene.moment
        let attempt = try SignInAttempt(
            request, scene.correlationID, scene.configuration, scene.relyingParties, clock: WallClock { moment })
        if failedStep == .recall { return "the sign-in was a repeated one, which the database decides" }
        log.begin(.discovery)
        let provider = try await attempt.discoverProvider()
        if failedStep == .attempt { return "whether this server had issued the nonce, the database decides" }
        log.begin(.token)
        let tokens = try await attempt.exchangeCode(at: provider)
        if failedCheck == .encryption {
            return "an encrypted token is not in a capsule, so that it cannot be decrypted again"
        }
        _ = try await attempt.verifyUser(tokens, from: provider, &log)
        if failedCheck == .sameUser { return "who was signed in is not in a capsule" }
        guard failedStep == .store || failedStep == .migrate else { return nil }
        return "the database decided it, after the provider had vouched for the user"
    }
}
