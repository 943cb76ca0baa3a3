import Crypto
import FoundationEssentials
package import OpenIDConnect
public import Primitives
package import StorageModel

/// Prepares the claims that a user consented to share for the store: AES-256-GCM under one of the administrator's keys
/// (`encryption_keys`), bound to what they belong to, so that write access to the database does not suffice to
/// give one user's claims to another.
///
/// Without a key the sensitive claims are not stored. The first key encrypts and all decrypt.
package struct ClaimsVault: Sendable {
    /// What stored claims belong to.
    private enum Owner {
        /// A user, by the public id.
        case user(String)
        /// A registration that is not complete, or a backchannel authentication, by its handle.
        case handle(TokenHash)

        var text: String {
            switch self {
            case .user(let publicID): "user " + publicID
            case .handle(let hash): "handle " + hash.bytes.hexadecimal
            }
        }
    }

    private let keys: [EncryptionKey]

    package init(keys: [EncryptionKey]) { self.keys = keys }

    /// The claims of a registration or a backchannel authentication in the form of the store: the id of the key, a
    /// colon and the encrypted JSON in base64url; without a key the JSON of those that are not sensitive.
    /// - Returns: Nil if there is nothing to store.
    package func stored(_ claims: ConsentedClaims, of handle: TokenHash) -> String? {
        let storable = keys.isEmpty ? claims.filtered { !$0.isSensitive } : claims
        guard !storable.isEmpty else { return nil }
        var json = JSONObjectWriter()
        storable.write(to: &json)
        return text(of: json.finish(), .handle(handle))
    }

    /// The claims of a registration or a backchannel authentication; none if they belong to another, or their key is
    /// not configured.
    package func claims(in stored: String?, of handle: TokenHash) -> ConsentedClaims {
        guard let stored, let bytes = content(of: stored, of: .handle(handle)),
            let object = (try? JSONValue(parsing: bytes))?.object
        else { return ConsentedClaims() }
        return ConsentedClaims(object)
    }

    /// A new user's claims in the same form.
    /// - Returns: Nil if there is nothing to store.
    package func stored(_ claims: ClientClaims, of publicID: String) -> String? {
        var user = UserClaims()
        user.set(claims)
        return stored(user, of: publicID)
    }

    /// The claims that a user consented to share with a client; nil if there are none that can be read.
    package func claims(of user: User, for clientID: String) -> ClientClaims? {
        guard let stored = user.assertions?.claims else { return nil }
        return userClaims(in: stored, of: user.publicID)?[clientID]
    }

    /// The same claims, encrypted under the current key; nil if they cannot be decrypted, or there is no key. Claims
    /// that were stored without a key are encrypted, too.
    package func resealed(_ stored: String, of publicID: String) -> String? {
        let owner = Owner.user(publicID)
        guard let key = keys.first,
            let content = stored.hasPrefix("{") ? Array(stored.utf8) : content(of: stored, of: owner)
        else { return nil }
        return Self.seal(content, with: key, of: owner)
    }

    /// Gives a user the claims of a sign-in.
    /// - Parameter scopes: What the sign-in asked for.
    package func update(with brought: ClientClaims, asked scopes: [String]) -> ClaimsUpdate {
        { publicID, earlier in
            guard earlier != nil || !brought.claims.isEmpty else { return nil }
            let asked = ConsentedClaim.allCases.filter { brought.claims[$0] != nil || scopes.contains($0.rawValue) }
            // What cannot be read stays, because its key may be restored.
            guard !asked.isEmpty, let known = userClaims(in: earlier, of: publicID) else { return earlier }
            var all = known
            all.set(known[brought.clientID]?.updated(with: brought, asked: asked) ?? brought)
            // Encrypted anew they would differ, and the user would be written at every sign-in.
            if (keys.isEmpty ? all.withoutSensitive : all) == known, isCurrent(earlier) { return earlier }
            return stored(all, of: publicID)
        }
    }

    private func stored(_ claims: UserClaims, of publicID: String) -> String? {
        (keys.isEmpty ? claims.withoutSensitive : claims).json.flatMap { text(of: $0, .user(publicID)) }
    }

    /// Nil if there are claims that cannot be read.
    private func userClaims(in stored: String?, of publicID: String) -> UserClaims? {
        guard let stored else { return UserClaims() }
        // With a key, what is not encrypted may be of anybody who can write to the database.
        if !keys.isEmpty, stored.hasPrefix("{") { return UserClaims() }
        return content(of: stored, of: .user(publicID)).map(UserClaims.init)
    }

    /// Whether stored claims have the form that ``stored(_:of:)`` makes now.
    private func isCurrent(_ stored: String?) -> Bool {
        guard let stored, let key = keys.first else { return true }
        return stored.hasPrefix(key.id + ":")
    }

    private func text(of content: [UInt8], _ owner: Owner) -> String? {
        guard let key = keys.first else { return String(decoding: content, as: UTF8.self) }
        return Self.seal(content, with: key, of: owner)
    }

    private func content(of stored: String, of owner: Owner) -> [UInt8]? {
        guard !stored.hasPrefix("{") else { return keys.isEmpty ? Array(stored.utf8) : nil }
        let parts = stored.split(ascii: ":", maxSplits: 1)
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
}

/// The claims that a user consented to share with one client, and the provider that sent them.
package struct ClientClaims: Sendable, Hashable {
    /// The client that the user consented to share them with, and the only one that is shown them.
    package let clientID: String
    /// The issuer of the provider that sent them.
    package let issuer: String
    package let claims: ConsentedClaims

    package init(_ claims: ConsentedClaims, for clientID: String, from issuer: String) {
        self.clientID = clientID
        self.issuer = issuer
        self.claims = claims
    }

    /// These claims after a later sign-in of the same client.
    /// - Parameters:
    ///   - other: What the sign-in brought. Claims of another provider replace all of these.
    ///   - asked: What the sign-in asked for. Claims that were asked for and not sent are withdrawn.
    func updated(with other: ClientClaims, asked: [ConsentedClaim]) -> ClientClaims {
        guard other.issuer == issuer else { return other.claims.isEmpty ? self : other }
        let kept = claims.filtered { !asked.contains($0) }
        return ClientClaims(other.claims.filled(with: kept), for: clientID, from: issuer)
    }
}

/// The claims that a user consented to share, apart for each client.
struct UserClaims: Sendable, Equatable {
    /// One for each client, the latest change last.
    private(set) var clients: [ClientClaims] = []

    /// Bounds a user's row: the oldest are left out.
    static let maximumClients = 16

    /// The claims of a client; nil if there are none.
    subscript(clientID: String) -> ClientClaims? { clients.first { $0.clientID == clientID } }

    mutating func set(_ client: ClientClaims) {
        clients.removeAll { $0.clientID == client.clientID }
        if !client.claims.isEmpty { clients.append(client) }
        clients.removeFirst(max(0, clients.count - Self.maximumClients))
    }

    /// What may be stored without encryption.
    var withoutSensitive: UserClaims {
        var some = UserClaims()
        for client in clients {
            let claims = client.claims.filtered { !$0.isSensitive }
            some.set(ClientClaims(claims, for: client.clientID, from: client.issuer))
        }
        return some
    }
}

/// As JSON, for the store.
extension UserClaims {
    /// Nil if there are no claims.
    var json: [UInt8]? {
        guard !clients.isEmpty else { return nil }
        var json = JSONObjectWriter()
        json.add("clients", objects: clients) { client, json in
            json.add("client_id", client.clientID)
            json.add("issuer", client.issuer)
            json.add("claims", object: client.claims.write)
        }
        return json.finish()
    }

    /// Reads what ``json`` wrote, and leaves out what it did not write.
    init(json bytes: [UInt8]) {
        let object = (try? JSONValue(parsing: bytes))?.object
        for client in object?["clients"]?.array ?? [] {
            guard let client = client.object, let clientID = client["client_id"]?.string,
                let issuer = client["issuer"]?.string, let claims = client["claims"]?.object
            else { continue }
            set(ClientClaims(ConsentedClaims(claims), for: clientID, from: issuer))
        }
    }
}

/// Encrypts private keys for the store with AES-256-GCM. Without an encryption key they are stored in plain form, under
/// the database's own protection.
///
/// The first encryption key encrypts, all of them decrypt, so that they can be changed while private keys encrypted
/// under the old one are in use.
package struct KeyProtection: Sendable {
    /// The first byte of a stored key: the form of the others.
    private enum Form {
        static let plain: UInt8 = 0
        static let encrypted: UInt8 = 1
    }

    /// What a stored key is encrypted with.
    package enum State: Sendable, Hashable {
        /// The first key, or none where there is none.
        case current
        /// Another of the keys.
        case older
        /// None, although there is one: anybody who can write to the database can store such a key.
        case plain
        /// A key that is not there.
        case unreadable
    }

    private let keys: [EncryptionKey]

    package init(keys: [EncryptionKey]) { self.keys = keys }

    package func state(of record: SigningKeyRecord) -> State {
        if isCurrent(record.privateKey, of: record.id) { return .current }
        if record.privateKey.first == Form.plain { return .plain }
        return open(record.privateKey, of: record.id) == nil ? .unreadable : .older
    }

    /// - Parameter id: Bound to the stored form, so that one stored key cannot replace another.
    func protect(_ secret: [UInt8], of id: String) throws -> [UInt8] {
        guard let first = keys.first else { return [Form.plain] + secret }
        return [Form.encrypted] + (try first.key.seal(secret, boundTo: Array(id.utf8)))
    }

    /// The secret; nil if no key decrypts it, or if it is in plain form although there are keys. Anybody who can write
    /// to the database can store one in plain form.
    package func open(_ stored: [UInt8], of id: String) -> [UInt8]? {
        switch stored.first {
        case Form.plain: encrypts ? nil : Array(stored.dropFirst())
        case Form.encrypted: keys.lazy.compactMap { Self.decrypt(stored, of: id, with: $0) }.first
        default: nil
        }
    }

    /// Whether the stored key is not in plain form.
    package static func isEncrypted(_ stored: [UInt8]) -> Bool { stored.first == Form.encrypted }

    /// Whether keys are encrypted; else they are stored in plain form.
    var encrypts: Bool { !keys.isEmpty }

    /// Whether the stored form is the one that ``protect(_:of:)`` makes now.
    func isCurrent(_ stored: [UInt8], of id: String) -> Bool {
        guard let first = keys.first else { return stored.first == Form.plain }
        return stored.first == Form.encrypted && Self.decrypt(stored, of: id, with: first) != nil
    }

    private static func decrypt(_ stored: [UInt8], of id: String, with key: EncryptionKey) -> [UInt8]? {
        key.key.open(Array(stored.dropFirst()), boundTo: Array(id.utf8))
    }
}

/// A 256-bit key that encrypts private keys and providers' tokens in the store. It prints as `‹redacted›`.
public struct EncryptionKey: Sendable {
    let key: SymmetricKey
    /// Names the key without revealing it: 16 hexadecimal digits, derived from the key by HKDF.
    public let id: String

    /// A key of 32 bytes; nil for another number.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        key = SymmetricKey(data: bytes)
        let digest = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, info: Array("latchkey key id".utf8), outputByteCount: 8)
        id = digest.withUnsafeBytes { $0.hexadecimal }
    }
}

extension EncryptionKey: Redacted {}

// AES-GCM (NIST SP 800-38D) as everything that is encrypted in the store has it: a random nonce (12 bytes), the
// ciphertext and the tag (16 bytes), one behind the other.
extension SymmetricKey {
    /// A key that a secret text stands for, apart for each purpose (HKDF-SHA-256, RFC 5869), which does not reveal the
    /// text.
    package init(derivedFrom text: String, for purpose: String) {
        self = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(text.utf8)), info: Array(purpose.utf8), outputByteCount: 32)
    }

    /// Encrypts content under a new nonce.
    /// - Parameter context: What the content is bound to: it opens only with the same context.
    package func seal(_ content: [UInt8], boundTo context: [UInt8] = []) throws -> [UInt8] {
        let box = try AES.GCM.seal(content, using: self, authenticating: context)
        return Array(box.nonce) + box.ciphertext + box.tag
    }

    /// The content, or nil if it was sealed with another key or context, or was changed.
    package func open(_ sealed: [UInt8], boundTo context: [UInt8] = []) -> [UInt8]? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            let content = try? AES.GCM.open(box, using: self, authenticating: context)
        else { return nil }
        return Array(content)
    }
}
