/// The result of completing a backchannel authentication by signing its user in.
package enum BackchannelAuthenticationEnding: Sendable, Hashable {
    case signedIn(SignedInUser)
    /// The identity is unknown, and unknown identities are refused: no session was made.
    case unknownUser
    /// It was completed before, and the session of that time has ended: no session was made.
    case sessionEnded
    /// It was changed since it was read: nothing was stored.
    case changed
}
