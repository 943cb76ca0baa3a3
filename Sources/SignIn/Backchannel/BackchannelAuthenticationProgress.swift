/// The status of a server-initiated sign-in, as a poll returns it.
package enum BackchannelAuthenticationProgress: Sendable {
    case pending
    case ended(SignInOutcome)
}
