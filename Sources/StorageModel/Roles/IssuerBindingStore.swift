package import Primitives

/// Which issuer each mobile network has, and the keys and hosts that each issuer is bound to.
package protocol IssuerBindingStore: Sendable {
    /// What is stored of a network and of an issuer.
    func knownIssuer(of network: String, _ issuer: String) async throws(StorageError) -> KnownIssuer

    /// Stores the issuer of a network, and its binding, by the rule of ``KnownIssuer/change(by:)``.
    /// - Parameter limit: How many networks and issuers are stored at most; further ones are not.
    /// - Returns: What is stored afterwards.
    func bindIssuer(
        _ binding: IssuerBinding, to network: String, limit: Int, at now: Timestamp
    ) async throws(StorageError) -> KnownIssuer

    /// Removes an issuer's binding if it is of first use, and the networks of the issuer with it.
    func removeFirstUse(of issuer: String) async throws(StorageError)
}
