package import Primitives

/// Keeps which issuer each network names, and the binding of each issuer. Every call is atomic.
package protocol IssuerBindings: Sendable {
    /// - Throws: ``OIDCError/Code/storeUnavailable``.
    func known(of network: MCCMNC, _ issuer: String) async throws(OIDCError) -> KnownIssuer

    /// Keeps that the network names the issuer, and the issuer's binding, by the rule of ``KnownIssuer/change(by:)``.
    ///
    /// - Returns: What is in force afterwards: it may be another process's binding. Nothing is in force for a new
    ///   network or issuer if there are ``KnownIssuers/maximumCount`` of them.
    /// - Throws: ``OIDCError/Code/storeUnavailable``.
    func bind(_ network: MCCMNC, to binding: IssuerBinding) async throws(OIDCError) -> KnownIssuer

    /// Forgets a binding of first use, and the networks that named its issuer.
    /// - Throws: ``OIDCError/Code/storeUnavailable``.
    func forgetFirstUse(_ issuer: String) async throws(OIDCError)
}
