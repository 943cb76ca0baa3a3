package import OpenIDConnect
package import Primitives
package import StorageModel

/// A sign-in that a client wants this server to start at the user's carrier.
package struct BackchannelAuthenticationParameters: Sendable {
    /// The provider's name in ``SignInConfiguration/providers``.
    package var provider: String
    package var clientID: ClientID
    /// The user's phone number, or the carrier's subject for the user.
    package var loginHint: Secret
    package var scopes: [String]
    package var network: MCCMNC
    package var redirectURI: String
    package var acrValues: [String] = []
    /// The text the user is asked to approve.
    package var context: String?
    package var prompt: [String] = []
    package var options: String?
    /// The client's id for this sign-in; a random one if nil.
    package var correlationID: CorrelationID?

    package init(
        provider: String, clientID: ClientID, loginHint: Secret, scopes: [String], network: MCCMNC, redirectURI: String
    ) {
        self.provider = provider
        self.clientID = clientID
        self.loginHint = loginHint
        self.scopes = scopes
        self.network = network
        self.redirectURI = redirectURI
    }
}

/// For whom the requests of a server-initiated sign-in count.
package struct BackchannelAuthenticationCounting: Sendable {
    /// The caller that has the share of the carrier's waiting list: an API key, or an address where there is none.
    package var share: Caller
    /// How many requests may be sent to ask one user; nil for any number.
    package var perUser: SharedAllowance?

    package init(share: Caller, perUser: SharedAllowance? = nil) {
        self.share = share
        self.perUser = perUser
    }
}

/// A server-initiated sign-in that a carrier has accepted.
package struct BackchannelAuthenticationStarted: Sendable {
    /// Identifies the sign-in for the client that started it (`auth_req_id`).
    package let handle: Secret
    /// Seconds within which the user may approve.
    package let expiresIn: Int64
    package let correlationID: CorrelationID
}

/// The status of a server-initiated sign-in, as a poll returns it.
package enum BackchannelAuthenticationProgress: Sendable {
    case waiting
    case ended(SignInOutcome)
}
