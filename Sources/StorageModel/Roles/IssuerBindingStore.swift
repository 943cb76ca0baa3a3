package import Primitives

/// Which issuer each mobile network has, and the keys and hosts that each issuer is bound to.
package protocol IssuerBindingStore: Sendable {
    /// What is stored of a network and of an issuer.
    func knownIssuer(of network: String, _ issuer: String) async throws(StorageError) -> KnownIssuerRecord

    /// Stores the issuer of a network, and its binding: one of first use only where there is none; a confirmed one in
    /// place of any but a pinned one; a pinned one in place of any, and of the network's former issuer. If a confirmed
    /// binding replaces a different one of first use, the other networks of the issuer are removed.
    /// - Parameter limit: How many networks and issuers are stored at most; further ones are not.
    /// - Returns: What is stored afterwards.
    func bindIssuer(
        _ binding: IssuerBindingRecord, to network: String, limit: Int, at now: Timestamp
    ) async throws(StorageError) -> KnownIssuerRecord

    /// Removes an issuer's binding if it is of first use, and the networks of the issuer with it.
    func removeFirstUse(of issuer: String) async throws(StorageError)
}
