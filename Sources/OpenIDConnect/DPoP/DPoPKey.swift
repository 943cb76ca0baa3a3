import Crypto
public import Primitives

/// The key that the tokens of a grant are bound to (RFC 9449): P-256, for ES256.
///
/// Each authorization has a new one, so that proofs do not connect the sign-ins of a user. It prints and reflects as
/// `‹redacted›`. A class, so that a value that has no key has one word for it.
public final class DPoPKey: Sendable {
    /// The RFC 7638 thumbprint of the public key, 43 characters: the value of `dpop_jkt` (RFC 9449 section 10).
    public let thumbprint: String
    private let bytes: [UInt8]
    private let key: ClientKey

    /// A new key.
    public convenience init() { self.init(P256.Signing.PrivateKey()) }

    /// The key that ``secret`` gave; nil if the text is none.
    public convenience init?(secret: Secret) {
        guard let bytes = Base64URL.decode(secret.exposed),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes)
        else { return nil }
        self.init(key)
    }

    private init(_ key: P256.Signing.PrivateKey) {
        bytes = Array(key.rawRepresentation)
        let key = ClientKey(.p256(key), keyID: nil)
        thumbprint = key.keyID
        self.key = key
    }

    /// The private key, to be stored encrypted: its 32 bytes in base64url.
    public var secret: Secret { Secret(Base64URL.encode(bytes)) }

    /// A signed JWT in compact form, whose header has the public key.
    /// - Parameters:
    ///   - type: The header's `typ`.
    ///   - claims: A JSON object.
    func token(type: String, claims: [UInt8]) throws(OIDCError) -> Secret {
        try key.token(type: type, naming: .publicKey, claims: claims)
    }
}

extension DPoPKey: Hashable {
    /// Compares the public keys.
    public static func == (left: DPoPKey, right: DPoPKey) -> Bool { left.thumbprint == right.thumbprint }

    public func hash(into hasher: inout Hasher) { hasher.combine(thumbprint) }
}

extension DPoPKey: Redacted {}

/// What becomes of the tokens of new sign-ins at a provider (DPoP, RFC 9449).
package enum DPoPUse: Sendable, Hashable {
    /// They are Bearer tokens.
    case none
    /// They are bound to a key that only this server has, if the provider binds them.
    case offered
    /// They are bound to such a key, or refused.
    case required

    /// A token that is used once and forgotten gains little, and each proof costs a signature. So what a provider only
    /// supports is used where that gains something.
    /// - Parameters:
    ///   - setting: ``ExtensionUse/auto`` also binds tokens where the provider only supports it, if they are preferred.
    ///   - prefersBoundTokens: Whether tokens are bound wherever the provider supports it.
    package init(_ setting: ExtensionUse, at provider: ProviderMetadata, prefersBoundTokens: Bool) {
        self =
            switch setting {
            case .auto where provider.demands.dpopBoundTokens: .required
            case .auto:
                prefersBoundTokens && provider.demands.dpopAlgorithms?.contains(.es256) ?? false ? .offered : .none
            case .always: .required
            case .never: .none
            }
    }
}
