/// The most backchannel authentications that are stored at once.
public struct BackchannelAuthenticationLimits: Sendable, Hashable {
    /// Of one caller, in any phase.
    public var perCaller = 10_000
    /// Pending for one user, of all callers. One caller may have half of them, rounded up.
    public var pendingPerUser = 3
    /// Pending at one carrier, of one API key, or of one address where there is no key. Well below
    /// ``pendingPerCarrier``, so that no caller can keep out all others.
    public var pendingPerCaller = 1_000
    /// Pending at one carrier, of all callers.
    public var pendingPerCarrier = 10_000

    /// The default limits.
    public init() {}

    /// The part of ``pendingPerUser`` that one caller may have: one caller alone cannot keep a user from signing in
    /// elsewhere.
    package var pendingPerUserAndCaller: Int { (pendingPerUser + 1) / 2 }
}
