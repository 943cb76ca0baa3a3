public import Primitives

/// A sign-in that this server started at a carrier, on record until it is over and a while longer.
///
/// The handle, the notification token and the carrier's own id are here as hashes only.
public struct BackchannelAuthenticationRecord: Sendable, Hashable {
    /// Where it stands, time aside.
    public enum Phase: String, Sendable, CaseIterable {
        /// The user was asked, and the carrier has not told what came of it.
        case waiting
        /// The carrier vouches for the user.
        case approved
        /// The client was told so.
        case done
        /// The carrier said no, or what it said does not hold.
        case failed
        /// The client does not want it any more.
        case cancelled
    }

    /// What was asked for, as it is asked for again at a retry.
    public struct Terms: Sendable, Hashable {
        public var provider: String
        public var clientID: String
        public var network: String
        public var redirectURI: String
        /// Separated by spaces.
        public var scope: String
        public var loginHint: Secret
        /// Separated by spaces.
        public var acrValues: String?
        public var context: String?
        public var prompt: String?
        public var options: String?
        public var correlationID: String

        public init(
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

    /// Of what the client calls it.
    public let handle: TokenHash
    /// Who started it, and alone may ask about it.
    public let caller: TokenHash
    public let terms: Terms
    public var phase = Phase.waiting
    /// How often the carrier was asked.
    public var attempt: Int64 = 1
    /// Of the token that the carrier's notification of the latest attempt has to bear.
    public var notification: TokenHash
    /// Of what the carrier calls the latest attempt; nil until it has said.
    public var carrierRequest: TokenHash?
    /// Why it failed.
    public var failure: String?
    /// Whom the carrier vouches for.
    public var identity: Identity?
    /// What the carrier told of them.
    public var profile = Profile()
    /// Whom former carriers vouch that they were, as ``SignInRecord/portedFrom``.
    public var portedFrom: [PortedIdentity] = []
    /// When waiting, or approved, comes to nothing.
    public var expiresAt: Timestamp
    /// When it is as if it had never been.
    public var removedAt: Timestamp
    /// Counts the changes, so that of two at once only one is made.
    public var revision: Int64 = 0

    public init(
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

/// How many server-initiated sign-ins may be on record at once.
public struct BackchannelAuthenticationLimits: Sendable, Hashable {
    /// Of one caller, whatever became of them.
    public var perCaller = 10_000
    /// Waiting for one user: each asks them on their phone.
    public var waitingPerLoginHint = 3
    /// Waiting at one carrier, whoever started them.
    public var waitingPerCarrier = 10_000

    public init() {}
}

/// Whether a server-initiated sign-in was put on record.
public enum BackchannelAuthenticationAdmission: Sendable, Hashable {
    case added
    case tooManyOfCaller
    case tooManyForLoginHint
    case tooManyAtCarrier
}

/// How a server-initiated sign-in was ended by signing its user in.
public enum BackchannelAuthenticationEnding: Sendable, Hashable {
    case signedIn(SignedInUser)
    /// The identity is unknown, and newcomers are turned away: no session was made.
    case unknownUser
    /// It was ended before, and the session that it gave then has ended, too: no session was made.
    case sessionEnded
    /// It was changed since it was read: nothing happened.
    case changed
}
