import Crypto
import OpenIDConnect
import Primitives

extension Provider {
    /// The key of ``LoginHint/hash(with:at:)`` and ``UserHint/hash(with:at:)``: the same for all clients and on all
    /// instances, and in no database. Nil if no client can start backchannel authentications.
    var userKey: SymmetricKey? {
        let purpose = "users of backchannel requests"
        let clients = allClients.sorted { $0.id.text < $1.id.text }
        if let key = clients.lazy.compactMap(\.signingKey).first { return key.derivedKey(for: purpose) }
        guard openID != nil, let secret = clients.lazy.compactMap(\.authentication.secret).first else { return nil }
        return HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(secret.exposed.utf8)), info: Array(purpose.utf8),
            outputByteCount: 32)
    }
}

extension ClientAuthentication {
    /// What only the client has, besides a ``ClientKey``; nil for a public client.
    fileprivate var secret: Secret? {
        switch self {
        case .clientSecretBasic(let secret, _), .clientSecretPost(let secret): secret
        case .tlsClientAuth(let clientTLS), .selfSignedTLSClientAuth(let clientTLS): clientTLS.certificate.privateKey
        case .privateKeyJWT, .signedClientSecret, .publicClient: nil
        }
    }
}
