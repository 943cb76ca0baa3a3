public import Primitives

/// A carrier's notification about a server-initiated sign-in.
public struct BackchannelNotification: Sendable {
    public enum Outcome: Sendable {
        /// The user approved.
        case approved(idToken: Secret, accessToken: Secret?)
        /// The carrier refused, with its error code.
        case refused(String)
    }

    /// The id that the carrier gave the request (`auth_req_id`).
    public var requestID: Secret
    public var state: Secret?
    public var outcome: Outcome

    public init(requestID: Secret, state: Secret?, outcome: Outcome) {
        self.requestID = requestID
        self.state = state
        self.outcome = outcome
    }
}
