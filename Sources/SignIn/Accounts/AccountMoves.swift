package import StorageModel

/// Proves that a user has an account under other identities. Asked in a sign-in before its transaction, which moves the
/// account to the identity that signs in.
/// - Returns: The other identities, in the order in which the store tries them.
package typealias FormerIdentitySource =
    @Sendable (
        _ user: VerifiedSignIn, _ signIn: any UserVerification
    ) async throws(SignInError) -> [PortedIdentity]

extension IdentityStore {
    /// An identity that an account was moved away from can neither sign in nor register.
    package func refuseIfMoved(_ identity: Identity) async throws(SignInError) {
        if case .moved = try await status(of: identity) { throw .identityMoved }
    }

    func status(of identity: Identity) async throws(SignInError) -> IdentityStatus {
        let statuses = try await mappingStoreErrors(await statuses(of: [identity]))
        return statuses.first ?? .unknown
    }
}
