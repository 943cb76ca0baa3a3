package import Primitives

/// The verifications of signed-in users' phone numbers.
package protocol PhoneVerificationStore: AllowanceStore {
    /// Stores an outcome. A confirmed number becomes the user's own, verified by the issuer, and no other user keeps it
    /// as verified; any other outcome changes no user.
    /// - Returns: The other users who had the number as verified; nil if the session has ended meanwhile, and then
    ///   nothing was stored.
    func addPhoneVerification(
        _ verification: PhoneVerification, by issuer: String, requestID: String?
    ) async throws(StorageError) -> [UserID]?

    /// Stores a verification that a browser is sent away for.
    /// - Returns: False if the session has ended meanwhile, and then nothing was stored.
    func beginPhoneVerification(_ pending: PendingPhoneVerification) async throws(StorageError) -> Bool

    /// A verification that waits for its browser; nil if it is unknown or too old, if its browser was back before, or
    /// if its session has ended.
    func pendingPhoneVerification(
        _ id: TokenHash, at now: Timestamp
    ) async throws(StorageError) -> PendingPhoneVerification?

    /// Stores what the browser of a verification brought back, under the conditions of
    /// ``pendingPhoneVerification(_:at:)``. It changes no user.
    /// - Returns: False if a condition is not met, and then nothing was stored.
    func addPhoneVerificationFinding(
        _ finding: PhoneVerificationFinding, at now: Timestamp
    ) async throws(StorageError) -> Bool

    /// Ends a verification of a session with what the browser brought back, as
    /// ``addPhoneVerification(_:by:requestID:)`` does. A wrong confirmation is counted, and the last one that is
    /// allowed ends the verification as failed.
    /// - Parameter error: The code of that failure.
    func confirmPhoneVerification(
        _ id: TokenHash, in session: String, with confirmation: TokenHash, orFailWith error: String, at now: Timestamp,
        requestID: String?
    ) async throws(StorageError) -> PhoneVerificationConfirmation

    /// A verification, for the session that asked; nil if it is unknown, another session's, or too old. One that was
    /// not confirmed in time has failed.
    /// - Parameter error: The code of that failure.
    func phoneVerification(
        _ id: TokenHash, in session: String, expiredAs error: String, at now: Timestamp
    ) async throws(StorageError) -> PhoneVerificationState?
}
