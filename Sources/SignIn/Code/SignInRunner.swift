import Logging
import OpenIDConnect
import Primitives

/// Runs a request with a code or an operator token: a sign-in, a link or a transaction. Each has a correlation id, which
/// its error names; one log line, one report, and a capsule if it fails.
struct SignInRunner: Sendable {
    let providers: Providers
    /// Waits between two requests to a mobile operator.
    let pause: PollPauses
    let clock: WallClock
    let random: RandomSource
    let logger: Logger
    /// For sign-ins that anyone can begin.
    let refusals: LogSamplers
    let observer: SignInObserver
    /// Keeps capsules of failures; nil if none are made.
    let capsules: CapsuleRecorder?

    /// - Parameter body: Returns the outcome for the log, too.
    /// - Throws: What `body` throws; the errors of a request that its client may not make.
    func callAsFunction<Value>(
        _ request: SignInRequest, as kind: SignInReport.Kind,
        _ body: (SignInRun) async throws(SignInError) -> (Value, SignInReport.Outcome)
    ) async throws(SignInError) -> Value {
        // A link and a transaction have a session.
        let anyoneCanBegin = kind == .signIn && (request.isKeyless || request.wasStartedHere)
        var log = SignInLog(
            request, correlationID: request.correlationID ?? .random(from: random), logger: logger, kind,
            refusals: anyoneCanBegin ? refusals : nil, observer: observer)
        var run: SignInRun?
        return try await capsules.recording(as: log.correlationID, request.sentNames) { () async throws(SignInError) in
            let started = try SignInRun(request, log, providers, pause: pause, clock: clock)
            run = started
            let (value, outcome) = try await body(started)
            started.log.write(outcome)
            return value
        } failed: { error in
            guard let run else {
                log.write(error)
                return nil
            }
            run.log.write(error)
            return CapsuleSubject(run)
        }
    }
}
