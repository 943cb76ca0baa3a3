import OpenIDConnect
import Primitives
import StorageModel

/// A carrier's notification: whether it is about the request, and the validation of the ID token.
struct ReplayedNotification: ReplayedFlow {
    private enum Content {
        case unreadable
        case refused(String)
        case ready
        /// The ID token is nil if the capsule has none, because it was not checked.
        case approved(idToken: Secret?, accessToken: Secret?)
    }

    private let terms: BackchannelAuthenticationRecord.Terms
    private let match: NotificationMatch?
    private let content: Content
    private let requestID: Secret
    private let nonce: Secret?
    let position: ReplayPosition?

    init(_ capsule: CapsuleReplay, _ rebuilt: inout RebuiltSignIn) throws(CapsuleReplay.Refusal) {
        let request = try rebuilt.made(capsule.request)
        let unknown = CapsuleReplay.Refusal(
            .notReplayable, "it does not say what the notification was about, as capsules of earlier versions do not")
        guard let shown = request?["notification"]?.object else { throw unknown }
        terms = BackchannelAuthenticationRecord.Terms(capsule, request)
        position = capsule.failure.positionOfCheck
        requestID = try rebuilt.backchannelRequestID(capsule.content["id_token"]?.object)
        nonce = try rebuilt.expectedNonce()
        if shown["is_readable"]?.bool == false {
            match = nil
            content = .unreadable
            return
        }
        guard let isRequest = shown["matches_request"]?.bool, let isState = shown["matches_state"]?.bool,
            let outcome = shown["outcome"]?.string
        else { throw unknown }
        match = NotificationMatch(isPing: shown["is_ping"]?.bool ?? false, request: isRequest, state: isState)
        rebuilt.carriedOver.append("that auth_req_id is \(isRequest ? "" : "not ")that of the request")
        rebuilt.carriedOver.append("that state is \(isState ? "" : "not ")that of the request")
        switch outcome {
        case "refused": content = .refused(CapsuleReplay.errorCode(shown["error"]?.string ?? ""))
        case "approved":
            let hasToken = shown["has_access_token"]?.bool == true
            content = .approved(
                idToken: rebuilt.idToken.map(Secret.init), accessToken: hasToken ? rebuilt.accessToken : nil)
        default: content = .ready
        }
    }

    func run(_ scene: ReplayScene) async -> ReplayOutcome {
        var log = BackchannelAuthenticationLog(
            .notification, terms, .known, scene.logger, refusals: nil, observer: { _ in })
        do throws(SignInError) {
            let undecided = try await run(scene, &log)
            return ReplayOutcome(undecided: undecided)
        } catch {
            return ReplayOutcome(error, log.stepTimes.last)
        }
    }

    /// - Returns: What decided the failure, if no step did.
    private func run(
        _ scene: ReplayScene, _ log: inout BackchannelAuthenticationLog
    ) async throws(SignInError) -> String {
        try match?.check()
        switch content {
        case .unreadable: return "a field that cannot be read is not in a capsule"
        case .refused(let code): throw BackchannelAuthenticationFailure(carrierCode: code).error
        case .ready: break
        case .approved(let idToken, let accessToken):
            try await verify(idToken, accessToken, scene, &log)
            guard idToken != nil else { return "the capsule does not have the ID token, which was not checked" }
        }
        return "the database decided it, after the notification was accepted"
    }

    private func verify(
        _ idToken: Secret?, _ accessToken: Secret?, _ scene: ReplayScene, _ log: inout BackchannelAuthenticationLog
    ) async throws(SignInError) {
        log.begin(.discovery)
        let context: BackchannelAuthenticationContext
        do throws(SignInError) {
            context = try await .find(terms, scene.configuration, scene.relyingParties)
        } catch {
            throw .cannotVerifyNotification.explained(by: error)
        }
        try context.checkNotification(hasAccessToken: accessToken != nil)
        guard let idToken else { return }
        do throws(OIDCError) {
            _ = try await context.verify(notified: idToken, accessToken, of: requestID, nonce: nonce, &log)
        } catch {
            throw .notificationRefused(error)
        }
    }
}

/// A notification with a token that no sign-in waits for.
struct ReplayedStrayNotification: ReplayedFlow {
    let position: ReplayPosition? = nil

    func run(_: ReplayScene) async -> ReplayOutcome {
        ReplayOutcome(undecided: "whether a sign-in waits for a notification with this token, the database decides")
    }
}
