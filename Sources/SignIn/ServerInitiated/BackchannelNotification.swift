public import Primitives

/// What a carrier tells of a server-initiated sign-in.
public struct BackchannelNotification: Sendable {
    public enum Outcome: Sendable {
        /// The user approved.
        case approved(idToken: Secret, accessToken: Secret?)
        /// With the carrier's error code.
        case refused(String)
    }

    /// What the carrier calls the request.
    public var requestID: Secret
    public var state: Secret?
    public var outcome: Outcome

    public init(requestID: Secret, state: Secret?, outcome: Outcome) {
        self.requestID = requestID
        self.state = state
        self.outcome = outcome
    }
}
