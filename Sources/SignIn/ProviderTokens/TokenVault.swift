import OpenIDConnect
import Primitives
package import StorageModel

/// Encrypts providers' tokens for the store: AES-256-GCM under one of the administrator's keys, bound to their row, so
/// that write access to the database does not suffice to use one user's tokens for another.
///
/// The first key encrypts and all decrypt, so that keys can be changed while servers run (docs/providers.md).
package struct TokenVault: Sendable {
    /// Why stored tokens cannot be read.
    package enum VaultError: String, Error {
        /// Their key is not configured.
        case unknownKey = "unknown_key"
        /// They belong to another row, or were changed.
        case unreadable
        /// No key is configured, so nothing can be encrypted.
        case noKey = "no_key"
    }

    private let keys: [EncryptionKey]

    package init(keys: [EncryptionKey]) { self.keys = keys }

    /// The id of the key that encrypts; nil if there is none.
    package var currentKeyID: String? { keys.first?.id }

    /// Whether the key with this id is configured.
    package func holds(_ keyID: String) -> Bool { keys.contains { $0.id == keyID } }

    package func seal(_ tokens: ProviderTokens, at binding: TokenBinding) throws(VaultError) -> SealedTokens {
        var json = JSONObjectWriter(capacity: 512)
        tokens.write(to: &json)
        // Tokens that can be refreshed have no expiry.
        return try seal(json.finish(), at: binding, expiresAt: tokens.refreshToken == nil ? tokens.expiresAt : nil)
    }

    package func open(_ record: ProviderTokenRecord) throws(VaultError) -> ProviderTokens {
        let content = try content(of: record)
        guard let json = (try? JSONValue(parsing: content))?.object, let tokens = ProviderTokens(json) else {
            throw .unreadable
        }
        return tokens
    }

    /// The same tokens, encrypted under the current key.
    package func resealed(_ record: ProviderTokenRecord) throws(VaultError) -> SealedTokens {
        try seal(try content(of: record), at: record.binding, expiresAt: record.sealed.expiresAt)
    }

    private func seal(
        _ content: [UInt8], at binding: TokenBinding, expiresAt: Timestamp?
    ) throws(VaultError) -> SealedTokens {
        guard let key = keys.first else { throw .noKey }
        guard let sealed = try? key.key.seal(content, boundTo: Self.authenticated(binding, key.id)) else {
            throw .noKey
        }
        return SealedTokens(keyID: key.id, content: sealed, expiresAt: expiresAt)
    }

    private func content(of record: ProviderTokenRecord) throws(VaultError) -> [UInt8] {
        guard let key = keys.first(where: { $0.id == record.sealed.keyID }) else { throw .unknownKey }
        guard let content = key.key.open(record.sealed.content, boundTo: Self.authenticated(record.binding, key.id))
        else { throw .unreadable }
        return content
    }

    /// The data that the content is bound to, each part after its length, so that no two bindings have the same bytes.
    private static func authenticated(_ binding: TokenBinding, _ keyID: String) -> [UInt8] {
        let parts = [
            "latchkey provider tokens", keyID, String(binding.user.number), binding.identity.issuer,
            binding.identity.subject, binding.provider, binding.clientID,
        ]
        return parts.flatMap { part in withUnsafeBytes(of: Int64(part.utf8.count).bigEndian, Array.init) + part.utf8 }
    }
}

extension TokenVault {
    /// Stores tokens with a sign-in. A provider may issue a refresh token at the first sign-in only, so without a new
    /// one the earlier one stays.
    package func storing(_ tokens: ProviderTokens, of provider: String, for clientID: String) -> NewProviderTokens {
        NewProviderTokens(provider: provider, clientID: clientID) { binding, earlier in
            try seal(tokens.withRefreshToken(of: earlier.flatMap { try? open($0) }), at: binding)
        }
    }
}
