package import Primitives

/// The sign-ins that this server starts at a provider (OpenID Connect CIBA).
package protocol BackchannelAuthenticationStore: Sendable {
    /// Stores a new backchannel authentication and counts the prompt of its first request, unless a limit is reached.
    func addBackchannelAuthentication(
        _ record: BackchannelAuthenticationRecord, for prompt: BackchannelPrompt,
        limits: BackchannelAuthenticationLimits, at now: Timestamp
    ) async throws(StorageError) -> BackchannelAuthenticationAdmission

    /// Counts the prompt of a further request of a stored backchannel authentication, unless a limit is reached. The
    /// record itself does not change.
    func admitBackchannelRequest(
        of record: BackchannelAuthenticationRecord, for prompt: BackchannelPrompt,
        limits: BackchannelAuthenticationLimits, at now: Timestamp
    ) async throws(StorageError) -> BackchannelAuthenticationAdmission

    /// Counts a prompt no longer: the user did not see it.
    func takeBack(_ prompt: BackchannelPrompt) async throws(StorageError)

    /// The record of a handle; nil if unknown or removed at `now`.
    func backchannelAuthentication(handle: TokenHash, at now: Timestamp) async throws(StorageError)
        -> BackchannelAuthenticationRecord?

    /// The record whose latest attempt has this notification token; nil if unknown or removed at `now`.
    func backchannelAuthentication(notification: TokenHash, at now: Timestamp) async throws(StorageError)
        -> BackchannelAuthenticationRecord?

    /// Replaces a record and increments its revision. False, and nothing is written, if it changed since it was read.
    func replaceBackchannelAuthentication(_ record: BackchannelAuthenticationRecord) async throws(StorageError) -> Bool

    /// Does ``replaceBackchannelAuthentication(_:)`` and ``SignInStore/signIn(_:)`` in one transaction.
    /// - Parameter allowance: The ``BackchannelPrompt/callerAllowance`` in which the prompt counts no longer, because
    ///   the user approved it; nil to leave it.
    func endBackchannelAuthentication(
        _ record: BackchannelAuthenticationRecord, with signIn: SignInRecord, givingBackTo allowance: SharedAllowance?
    ) async throws(StorageError) -> BackchannelAuthenticationEnding
}
