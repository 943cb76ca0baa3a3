package import Primitives

/// A sign-in that this server started at a carrier or another provider (OpenID Connect CIBA), stored until it ends and
/// a while longer.
///
/// The handle, the notification token and the carrier's request id are stored as hashes only.
package struct BackchannelAuthenticationRecord: Sendable, Hashable {
    /// Its phase, apart from expiry.
    package enum Phase: String, Sendable, CaseIterable {
        /// The carrier has not reported the user's answer. Stored as `waiting`.
        case pending = "waiting"
        /// The carrier authenticated the user.
        case approved
        /// The client has the result.
        case done
        /// The carrier refused, or its result was invalid.
        case failed
        /// The client cancelled it.
        case cancelled
    }

    /// The parameters of the request, which a retry repeats.
    package struct Terms: Sendable, Hashable {
        package var provider: String
        package var clientID: String
        /// Empty for a provider that is no carrier.
        package var network: String
        /// Empty for a provider that is no carrier.
        package var redirectURI: String
        /// Separated by spaces.
        package var scope: String
        /// Empty for a provider that is no carrier: a request to it is not repeated.
        package var loginHint: Secret
        /// Separated by spaces.
        package var acrValues: String?
        package var context: String?
        package var prompt: String?
        package var options: String?
        package var correlationID: String

        package init(
            provider: String, clientID: String, network: String, redirectURI: String, scope: String,
            loginHint: Secret, correlationID: String
        ) {
            self.provider = provider
            self.clientID = clientID
            self.network = network
            self.redirectURI = redirectURI
            self.scope = scope
            self.loginHint = loginHint
            self.correlationID = correlationID
        }
    }

    /// The hash of the client's handle.
    package let handle: TokenHash
    /// The caller that started it, the only one that may poll it.
    package let caller: TokenHash
    package let terms: Terms
    package var phase = Phase.pending
    /// How many requests were sent to the carrier.
    package var attempt: Int64 = 1
    /// The hash of the token that the carrier's notification of the latest request must have.
    package var notification: TokenHash
    /// The hash of the carrier's id of the latest request (`auth_req_id`); nil until it is known.
    package var carrierRequest: TokenHash?
    /// Why it failed.
    package var failure: String?
    /// The authenticated identity.
    package var identity: Identity?
    /// The carrier's claims about the user.
    package var profile = Profile()
    /// Which of the claims the carrier verified.
    package var verified = VerifiedFlags()
    /// The carrier's further claims, encrypted by the use case.
    package var claims: String?
    /// Former identities, as ``SignInRecord/portedFrom``.
    package var portedFrom: [PortedIdentity] = []
    /// How its tokens are fetched; nil if they come with the carrier's notification.
    package var polling: TokenPolling?
    /// When the pending or approved phase expires.
    package var expiresAt: Timestamp
    /// When the record is removed.
    package var removedAt: Timestamp
    /// Counts the changes, so that of two concurrent ones only one is stored.
    package var revision: Int64 = 0

    package init(
        handle: TokenHash, caller: TokenHash, terms: Terms, notification: TokenHash, expiresAt: Timestamp,
        removedAt: Timestamp
    ) {
        self.handle = handle
        self.caller = caller
        self.terms = terms
        self.notification = notification
        self.expiresAt = expiresAt
        self.removedAt = removedAt
    }
}
