/// For how long the store may delay the commit of a sign-in for other sign-ins that share its flush to disk.
enum AllowedCommitDelay {
    private static let shortestSignIn: UInt64 = 20_000_000
    private static let longest: UInt64 = 5_000_000

    /// A twentieth of the time that the sign-in has taken, mostly for its carrier, and at most 5 ms. A sign-in of less
    /// than 20 ms allows none: a wait in the store would cost more than it saves.
    /// - Parameter elapsed: Nanoseconds since the sign-in began.
    static func nanoseconds(after elapsed: UInt64) -> UInt64 {
        elapsed < shortestSignIn ? 0 : min(elapsed / 20, longest)
    }
}
