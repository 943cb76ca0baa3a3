import Crypto
public import Primitives

/// What a former carrier vouches for: its user has moved to another carrier. Only this module can make one.
///
/// The subject is personal, so only the issuer is printed and reflected.
public struct VerifiedPortToken: Sendable, Hashable {
    /// The former carrier.
    public let issuer: String
    /// The former carrier's subject of the user.
    public let subject: String
    /// When the former carrier issued the token.
    public let issuedAt: Timestamp
    /// SHA-256 of what was signed, 32 bytes: the same for the same port token, however its signature is written.
    public let digest: [UInt8]

    /// - Throws: ``PortTokenCheck/key`` or ``PortTokenCheck/signature``.
    init(_ token: UnverifiedPortToken, keys: JSONWebKeySet) throws(PortTokenRefusal) {
        let context = SignatureValidationContext(token.token, keys: keys)
        guard !context.candidates.isEmpty else { throw PortTokenRefusal(.key, issuer: token.issuer) }
        guard context.verifies else { throw PortTokenRefusal(.signature, issuer: token.issuer) }
        issuer = token.issuer
        subject = token.subject
        issuedAt = token.issuedAt
        // Port tokens are signed with one of the standard algorithms, which all use SHA-256.
        guard case .sha256(let digest) = token.token.signed else {
            throw PortTokenRefusal(.algorithm, issuer: token.issuer)
        }
        self.digest = Array(digest)
    }
}

extension VerifiedPortToken: Redacted { public var shown: [Mirror.Child] { [("issuer", issuer)] } }
