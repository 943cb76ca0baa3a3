package import Primitives

/// The verifications of signed-in users' phone numbers.
package protocol PhoneVerificationStore: Sendable {
    /// Counts a verification for each of some keys, such as that of its user and that of its number, against an
    /// allowance that all processes share.
    /// - Returns: The seconds to wait if one of the allowances is used up, and then it is counted for none; nil if it
    ///   fits.
    func countPhoneVerification(
        for keys: [TokenHash], within allowance: SharedAllowance, at now: Timestamp
    ) async throws(StorageError) -> Int64?

    /// Stores an outcome. A confirmed number becomes the user's own, verified by the issuer, and no other user keeps it
    /// as verified; any other outcome changes no user.
    /// - Returns: The other users who had the number as verified; nil if the session has ended meanwhile, and then
    ///   nothing was stored.
    func addPhoneVerification(
        _ verification: PhoneVerification, by issuer: String, requestID: String?
    ) async throws(StorageError) -> [UserID]?

    /// An outcome, for the session that asked; nil if it is unknown, another session's, or too old.
    func phoneVerification(
        _ id: TokenHash, in session: String, at now: Timestamp
    ) async throws(StorageError) -> PhoneVerification?
}
