/// Whether a request to a carrier may be sent. Only an admitted one is counted.
package enum BackchannelAuthenticationAdmission: Sendable, Hashable {
    case admitted
    case tooManyOfCaller
    case tooManyPendingOfCaller
    case tooManyPendingForUser
    /// The caller has its part of those that may be pending for the user.
    case tooManyPendingForUserOfCaller
    case tooManyPendingAtCarrier
    /// All callers together had the user prompted as often as they may.
    case promptedTooOften(secondsToWait: Int64)
    /// The caller had the user prompted as often as one caller may.
    case promptedTooOftenByCaller(secondsToWait: Int64)
    /// The caller had users prompted as often as one caller may who did not sign in.
    case tooManyPromptsOfCaller(secondsToWait: Int64)
}
