import Logging
import OpenIDConnect
import Primitives

/// One flow, with what a capsule says of it: the steps of the server can be run again.
protocol ReplayedFlow: Sendable {
    /// How far the operation of the capsule came; nil if what failed was the request that has no response.
    var position: ReplayPosition? { get }

    func run(_ scene: ReplayScene) async -> ReplayOutcome
}

/// What a flow runs with: the settings, and a provider whose responses are those of the capsule.
struct ReplayScene: Sendable {
    let provider: String
    let client: SignInConfiguration.Client
    let configuration: SignInConfiguration
    let relyingParty: RelyingParty
    let moment: Timestamp
    let correlationID = CorrelationID.random(from: .system)
    /// Writes nothing.
    let logger = Logger(label: "replay") { _ in SwiftLogNoOpLogHandler() }

    var relyingParties: [String: RelyingParty] { [provider: relyingParty] }
}

/// What became of a flow.
struct ReplayOutcome: Sendable {
    /// How it fails; nil if it passes.
    let error: SignInError?
    let step: SignInReport.Step?
    /// The check of a token that fails.
    var check: String?
    /// The checks of a token that is no ID token that fail.
    var failedChecks: [CapsuleReplay.FailedCheck] = []
    /// What decided the failure of the capsule, if no step that can be run again did: a sentence.
    let undecided: String?

    init(_ error: SignInError? = nil, _ step: SignInReport.Step? = nil, undecided: String? = nil) {
        self.error = error
        self.step = step
        check = error?.check?.rawValue
        self.undecided = undecided
    }
}
