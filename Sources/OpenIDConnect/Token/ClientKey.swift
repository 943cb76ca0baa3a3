package import Crypto
import CryptoExtras
public import Primitives

/// A client's private key, whose public half providers know: RSA of 2048 to 8192 bits for RS256 or PS256, P-256 for
/// ES256, or Ed25519 (RFC 8037).
///
/// It prints and reflects as `‹redacted›`.
public struct ClientKey: Sendable, Redacted {
    enum Material: Sendable {
        case rsa(_RSA.Signing.PrivateKey)
        case p256(P256.Signing.PrivateKey)
        case ed25519(Curve25519.Signing.PrivateKey)

        /// The algorithms that fit the key's type; the first is the usual one.
        var algorithms: [SigningAlgorithm] {
            switch self {
            case .rsa: [.rs256, .ps256]
            case .p256: [.es256]
            case .ed25519: [.edDSA, .ed25519]
            }
        }
    }

    /// The algorithms that a client's key may sign with.
    public static let algorithms: [SigningAlgorithm] = [.rs256, .ps256, .es256, .edDSA, .ed25519]

    /// By what the header of a JWT says which key signed it.
    package enum Reference: Sendable {
        /// `kid`, for a verifier that has the key.
        case keyID
        /// `jwk`, the public half itself (RFC 7515 section 4.1.3).
        case publicKey
        /// `x5c`, its certificate in DER and base64, followed by those of the issuers (RFC 7515 section 4.1.6).
        case certificates([String])
    }

    /// The `kid` under which providers know the key: the configured one, or that of the JSON Web Key, otherwise the
    /// key's thumbprint (RFC 7638).
    public private(set) var keyID: String
    /// What the key signs with.
    public private(set) var algorithm: SigningAlgorithm
    /// The `alg` of the JSON Web Key that it was read from, if that has one and no other was chosen since.
    public private(set) var statedAlgorithm: SigningAlgorithm?
    private let material: Material
    let publicJWK: PublicJWK
    /// Of ``publicJWK``. Equal keys have the same.
    private let thumbprint: String

    init(_ material: Material, keyID: String?) {
        self.material = material
        algorithm = material.algorithms[0]
        publicJWK =
            switch material {
            case .rsa(let key): PublicJWK(key.publicKey)
            case .p256(let key): PublicJWK(key.publicKey)
            case .ed25519(let key): PublicJWK(key.publicKey)
            }
        thumbprint = publicJWK.thumbprint
        self.keyID = keyID ?? thumbprint
    }

    /// The key of this server for ES256.
    package init(_ key: P256.Signing.PrivateKey) { self.init(.p256(key), keyID: nil) }

    /// The same key under another `kid`.
    public func named(_ keyID: String) -> ClientKey { altered(self) { $0.keyID = keyID } }

    /// The same key with the algorithm that its JSON Web Key states; nil if that does not fit the key's type.
    func stating(_ algorithm: SigningAlgorithm) -> ClientKey? {
        signing(with: algorithm).map { altered($0) { $0.statedAlgorithm = algorithm } }
    }

    /// The same key with another algorithm; nil if that does not fit the key's type.
    public func signing(with algorithm: SigningAlgorithm) -> ClientKey? {
        guard material.algorithms.contains(algorithm) else { return nil }
        return altered(self) { ($0.algorithm, $0.statedAlgorithm) = (algorithm, nil) }
    }

    /// A signed JWT in compact form (RFC 7515 section 7.1).
    ///
    /// - Parameters:
    ///   - type: The header's `typ`.
    ///   - reference: By what the header says which key signed.
    ///   - claims: A JSON object.
    /// - Throws: ``OIDCError/Code/clientRefused`` if the key cannot sign.
    package func token(
        type: String = "JWT", naming reference: Reference = .keyID, claims: [UInt8]
    ) throws(OIDCError) -> Secret {
        var header = JSONObjectWriter(capacity: 96)
        header.add("alg", algorithm.rawValue)
        header.add("typ", type)
        switch reference {
        case .keyID: header.add("kid", keyID)
        case .publicKey: header.add("jwk", object: publicJWK.write)
        case .certificates(let chain): header.add("x5c", chain)
        }
        let signed = Base64URL.encode(header.finish()) + "." + Base64URL.encode(claims)
        return try mappingErrors(
            Secret(signed + "." + Base64URL.encode(try signature(over: Array(signed.utf8))))
        ) { (_: any Error) in OIDCError(.clientRefused, reason: "The client's private key cannot sign.") }
    }

    /// A signed JWT with the claims that say who made it, for whom, and until when it is valid.
    /// - Parameters:
    ///   - id: Unique, where a verifier may refuse a second use.
    ///   - lifetime: In seconds.
    func assertion(
        type: String = "JWT", issuer: String, subject: String? = nil, audience: String, id: String? = nil,
        lifetime: Int64, now: Timestamp, _ add: (inout JSONObjectWriter) -> Void = { _ in }
    ) throws(OIDCError) -> Secret {
        var claims = JSONObjectWriter()
        claims.add("iss", issuer)
        claims.add("sub", ifPresent: subject)
        claims.add("aud", audience)
        claims.add("iat", now.secondsSinceEpoch)
        claims.add("exp", now.advanced(bySeconds: lifetime).secondsSinceEpoch)
        claims.add("jti", ifPresent: id)
        add(&claims)
        return try token(type: type, claims: claims.finish())
    }

    /// Writes the public half as a JSON Web Key (RFC 7517 section 4) for signatures.
    package func writePublicKey(to json: inout JSONObjectWriter) {
        publicJWK.write(to: &json, use: "sig", algorithm: algorithm.rawValue, keyID: keyID)
    }

    /// A symmetric key for a purpose, derived from the private key. All instances with the same private key have it,
    /// and no database.
    package func derivedKey(for purpose: String) -> SymmetricKey {
        let secret =
            switch material {
            case .rsa(let key): SymmetricKey(data: key.derRepresentation)
            case .p256(let key): SymmetricKey(data: key.rawRepresentation)
            case .ed25519(let key): SymmetricKey(data: key.rawRepresentation)
            }
        return HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, info: Array(purpose.utf8), outputByteCount: 32)
    }

    private func signature(over bytes: [UInt8]) throws -> [UInt8] {
        switch material {
        case .rsa(let key):
            let padding: _RSA.Signing.Padding = algorithm == .ps256 ? .PSS : .insecurePKCS1v1_5
            return Array(try key.signature(for: SHA256.hash(data: bytes), padding: padding).rawRepresentation)
        case .p256(let key): return Array(try key.signature(for: SHA256.hash(data: bytes)).rawRepresentation)
        case .ed25519(let key): return Array(try key.signature(for: bytes))
        }
    }
}

extension ClientKey: Hashable {
    /// Compares the public halves, the `kid`s and the algorithms.
    public static func == (left: ClientKey, right: ClientKey) -> Bool {
        left.keyID == right.keyID && left.thumbprint == right.thumbprint && left.algorithm == right.algorithm
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(keyID)
        hasher.combine(thumbprint)
        hasher.combine(algorithm)
    }
}
