package import OpenIDConnect
import Primitives
package import StorageModel

/// Prepares the claims that a user consented to share for the store: AES-256-GCM under one of the operator's keys
/// (`vault.encryption_keys`), bound to what they belong to, so that write access to the database does not suffice to
/// give one user's claims to another.
///
/// Without a key the sensitive claims are not stored. The first key encrypts and all decrypt.
package struct ClaimsVault: Sendable {
    /// What stored claims belong to.
    package enum Owner: Sendable {
        /// A user, by the public id.
        case user(String)
        /// A registration that is not complete, or a server-initiated sign-in, by its handle.
        case handle(TokenHash)

        fileprivate var text: String {
            switch self {
            case .user(let publicID): "user " + publicID
            case .handle(let hash): "handle " + hash.bytes.hexadecimal
            }
        }
    }

    private let keys: [EncryptionKey]

    package init(keys: [EncryptionKey]) { self.keys = keys }

    /// Claims in the form of the store: the id of the key, a colon and the encrypted JSON in base64url; without a key
    /// the JSON of those that are not sensitive.
    /// - Returns: Nil if there is nothing to store.
    package func stored(_ claims: ConsentedClaims, of owner: Owner) -> String? {
        guard let key = keys.first else { return Self.json(of: claims.filtered { !$0.isSensitive }) }
        return Self.json(of: claims).flatMap { Self.seal(Array($0.utf8), with: key, of: owner) }
    }

    /// The claims in the store; none if they belong to another owner, or their key is not configured.
    package func claims(in stored: String?, of owner: Owner) -> ConsentedClaims {
        guard let stored, let bytes = content(of: stored, of: owner),
            let object = (try? JSONValue(parsing: bytes))?.object
        else { return ConsentedClaims() }
        return ConsentedClaims(object)
    }

    /// The claims of a user.
    package func claims(of user: User) -> ConsentedClaims {
        guard let stored = user.vouched?.claims else { return ConsentedClaims() }
        return claims(in: stored, of: .user(user.publicID))
    }

    /// The same claims, encrypted under the current key; nil if they cannot be decrypted, or there is no key.
    package func resealed(_ stored: String, of owner: Owner) -> String? {
        guard let key = keys.first, let content = content(of: stored, of: owner) else { return nil }
        return Self.seal(content, with: key, of: owner)
    }

    /// Gives a user the claims of a sign-in; nil if it brought none.
    func update(with claims: ConsentedClaims) -> ClaimsUpdate? {
        guard !claims.isEmpty else { return nil }
        return { publicID, earlier, replaces in
            let owner = Owner.user(publicID)
            let known = self.claims(in: earlier, of: owner)
            let all = replaces ? claims.filled(with: known) : known.filled(with: claims)
            // Encrypted anew they would differ, and the user would be written at every sign-in.
            if known == all || isStored(all, in: known), isCurrent(earlier) { return earlier }
            return stored(all, of: owner)
        }
    }

    /// Whether the store can have no more of the claims than it has.
    private func isStored(_ claims: ConsentedClaims, in known: ConsentedClaims) -> Bool {
        keys.isEmpty && claims.filtered { !$0.isSensitive } == known
    }

    /// Whether stored claims have the form that ``stored(_:of:)`` makes now.
    private func isCurrent(_ stored: String?) -> Bool {
        guard let stored, let key = keys.first else { return true }
        return stored.hasPrefix(key.id + ":")
    }

    private func content(of stored: String, of owner: Owner) -> [UInt8]? {
        guard !stored.hasPrefix("{") else { return Array(stored.utf8) }
        let parts = stored.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let key = keys.first(where: { $0.id == parts[0] }),
            let sealed = Base64URL.decode(String(parts[1]))
        else { return nil }
        return key.key.open(sealed, boundTo: Self.authenticated(owner, key.id))
    }

    private static func seal(_ content: [UInt8], with key: EncryptionKey, of owner: Owner) -> String? {
        guard let sealed = try? key.key.seal(content, boundTo: authenticated(owner, key.id)) else { return nil }
        return key.id + ":" + Base64URL.encode(sealed)
    }

    private static func authenticated(_ owner: Owner, _ keyID: String) -> [UInt8] {
        Array("latchkey consented claims \(keyID) \(owner.text)".utf8)
    }

    private static func json(of claims: ConsentedClaims) -> String? {
        guard !claims.isEmpty else { return nil }
        var json = JSONObjectWriter()
        claims.write(to: &json)
        return String(decoding: json.finish(), as: UTF8.self)
    }
}
