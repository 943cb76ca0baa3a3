/// The status of a backchannel authentication, as a poll returns it.
package enum BackchannelAuthenticationProgress: Sendable {
    case pending
    case ended(SignInOutcome)
}
