import Crypto
public import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a former carrier vouches for: that its user has gone to another carrier. Only this module can make one.
///
/// The subject is personal: neither `print` nor interpolation nor reflection shows it.
public struct VerifiedPortToken: Sendable, Hashable {
    /// The former carrier.
    public let issuer: String
    /// Whom it knew the user as.
    public let subject: String
    public let issuedAt: Timestamp
    /// SHA-256 of what was signed, 32 bytes: the same for the same port token, however its signature is written.
    public let digest: [UInt8]

    /// - Throws: ``PortTokenCheck/key`` or ``PortTokenCheck/signature``.
    init(_ token: UnverifiedPortToken, keys: JSONWebKeySet) throws(PortTokenRefusal) {
        let candidates = keys.candidates(for: token.token)
        guard !candidates.isEmpty else { throw PortTokenRefusal(.key, issuer: token.issuer) }
        guard candidates.contains(where: { $0.verifies(token.token.signature, for: token.token.digest) }) else {
            throw PortTokenRefusal(.signature, issuer: token.issuer)
        }
        issuer = token.issuer
        subject = token.subject
        issuedAt = token.issuedAt
        digest = Array(token.token.digest)
    }
}

extension VerifiedPortToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "VerifiedPortToken(issuer: \(issuer))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["issuer": issuer]) }
}
