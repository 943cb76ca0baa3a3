package import Primitives

/// A provider's notification about a backchannel authentication.
package struct BackchannelNotification: Sendable {
    package enum Outcome: Sendable {
        /// The user approved.
        case approved(idToken: Secret, accessToken: Secret?)
        /// The carrier refused, with its error code.
        case refused(String)
        /// The provider has the outcome at its token endpoint (CIBA Core section 10.2).
        case ready
    }

    /// The id that the carrier gave the request (`auth_req_id`).
    package var requestID: Secret
    package var state: Secret?
    package var outcome: Outcome

    package init(requestID: Secret, state: Secret?, outcome: Outcome) {
        self.requestID = requestID
        self.state = state
        self.outcome = outcome
    }
}
