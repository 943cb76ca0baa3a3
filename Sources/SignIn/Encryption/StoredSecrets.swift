import Crypto
import FoundationEssentials
package import OpenIDConnect
public import Primitives
package import StorageModel

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

/// Keeps values that are read once, by a random handle: AES-GCM under a key derived from the handle.
///
/// The store has the handle's hash and the encrypted value, so that a stolen database reveals no value.
package struct EncryptedOneTimeStore: Sendable {
    package struct Purpose: Sendable {
        /// A code, or a token in its place, stored to be recognised and never taken.
        package static let answeredCode = Purpose("answered code")

        package let text: String

        /// - Parameter text: Is stored, and other versions of the server read it: it never changes.
        package init(_ text: String) { self.text = text }
    }

    let store: any OneTimeRecordStore
    let clock: WallClock

    package init(store: any OneTimeRecordStore, clock: WallClock) {
        self.store = store
        self.clock = clock
    }

    /// - Returns: False if there is a record of the handle already, which stays.
    @discardableResult
    package func keep(
        _ content: [UInt8], for purpose: Purpose, under handle: Secret, seconds: Int64,
        insteadOf evicted: [TokenHash] = []
    ) async throws(SignInError) -> Bool {
        try await add(sealed(content, for: purpose, under: handle, seconds: seconds), insteadOf: evicted)
    }

    /// The record of an encrypted value.
    package func sealed(
        _ content: [UInt8], for purpose: Purpose, under handle: Secret, seconds: Int64
    ) throws(SignInError) -> OneTimeRecord {
        guard let sealed = try? Self.key(purpose, handle).seal(content) else { throw .internalFault }
        return record(TokenHash(sha256Of: handle.exposed), for: purpose, seconds: seconds, content: sealed)
    }

    /// The length of some content when it is encrypted: with a nonce of 12 bytes and a tag of 16.
    package static func length(of content: [UInt8]) -> Int { content.count + 28 }

    /// - Returns: False if there is a record of the handle already.
    package func add(_ record: OneTimeRecord, insteadOf evicted: [TokenHash] = []) async throws(SignInError) -> Bool {
        try await mappingStoreErrors(await store.addOneTimeRecord(record, insteadOf: evicted))
    }

    /// - Parameter content: None for the record of an operation that may happen once.
    package func record(_ hash: TokenHash, for purpose: Purpose, seconds: Int64, content: [UInt8] = []) -> OneTimeRecord
    {
        let end = clock.now().advanced(bySeconds: seconds)
        return OneTimeRecord(handle: hash, purpose: purpose.text, content: content, expiresAt: end)
    }

    /// Which handles have a record that is neither taken nor expired.
    package func present(among handles: [TokenHash]) async throws(SignInError) -> Set<TokenHash> {
        let now = clock.now()
        return try await mappingStoreErrors(await store.oneTimeRecords(among: handles, at: now))
    }

    /// Reads a value, and leaves it there; nil as of ``take(_:under:)``.
    package func read(_ purpose: Purpose, under handle: Secret) async throws(SignInError) -> [UInt8]? {
        let hash = TokenHash(sha256Of: handle.exposed)
        let now = clock.now()
        let sealed = try await mappingStoreErrors(await store.oneTimeRecord(hash, purpose: purpose.text, at: now))
        return sealed.flatMap { Self.key(purpose, handle).open($0) }
    }

    /// Reads a value, once; nil if the handle is unknown, used or expired, or has another purpose.
    package func take(_ purpose: Purpose, under handle: Secret) async throws(SignInError) -> [UInt8]? {
        let hash = TokenHash(sha256Of: handle.exposed)
        let now = clock.now()
        let sealed = try await mappingStoreErrors(
            await store.takeOneTimeRecord(hash, purpose: purpose.text, at: now))
        return sealed.flatMap { Self.key(purpose, handle).open($0) }
    }

    /// The hash that finds a record and the function that decrypts it, for a store call that takes it in a transaction.
    package static func opening(_ purpose: Purpose, under handle: Secret) -> (
        handle: TokenHash, open: @Sendable ([UInt8]) -> [UInt8]?
    ) { (TokenHash(sha256Of: handle.exposed), { key(purpose, handle).open($0) }) }

    private static func key(_ purpose: Purpose, _ handle: Secret) -> SymmetricKey {
        SymmetricKey(derivedFrom: handle.exposed, for: purpose.text)
    }
}

/// The one use of a token that stands in for a code, and of its nonce.
package struct TokenUse: Sendable {
    let use: OneTimeUse
    /// The error of a second one.
    let usedBefore: SignInError
}

/// A token that stands in for a code is used once, also if its server takes it again. It is bound to no app: an
/// attacker who finds a token could use it.
extension EncryptedOneTimeStore {
    /// - Parameter name: Of the token and of its server.
    package func use(of token: Secret, _ name: String, orThrow error: SignInError) -> TokenUse {
        let hash = TokenHash(sha256Of: "\(name)\n\(token.exposed)")
        return TokenUse(use: OneTimeUse(record(hash, for: .answeredCode, seconds: 600)), usedBefore: error)
    }

    /// Marks an ID token that an app brought as used, for as long as it could be accepted. An issued nonce is used up
    /// with it.
    /// - Throws: `invalid_request` without the nonce that must be an issued one.
    package func use(
        of idToken: VerifiedIDToken, in run: SignInRun, orThrow error: SignInError
    ) throws(SignInError) -> TokenUse {
        let rules = run.relyingParty.idTokenRules
        let record = OneTimeRecord(
            handle: TokenHash(idToken.fingerprint, issuedAt: idToken.issuedAt), purpose: Purpose.answeredCode.text,
            content: [],
            expiresAt: idToken.issuedAt.advanced(bySeconds: rules.maximumAgeSeconds + rules.clockSkewSeconds + 1))
        guard run.client.rules.native.nonce == .issued else {
            return TokenUse(use: OneTimeUse(record, nonce: .any(run.request.possibleNonces)), usedBefore: error)
        }
        let (nonce, purpose) = try run.request.issuedNonce
        return TokenUse(use: OneTimeUse(record, nonce: .issued(nonce, purpose: purpose)), usedBefore: error)
    }

    /// Uses a token up.
    /// - Throws: The error of a second use; `invalid_request` for a nonce that must be an issued one.
    package func spend(_ use: TokenUse) async throws(SignInError) {
        let now = clock.now()
        switch try await mappingStoreErrors(await store.spend(use.use, at: now)) {
        case .used: break
        case .tokenUsedBefore: throw use.usedBefore
        case .nonceNotIssued: throw .nonceNotIssued
        }
    }
}

/// The encryption of the ID tokens that are kept for logout: AES-256-GCM under a key that HKDF-SHA-256 (RFC 5869)
/// derives from the family of the session's refresh tokens, so that the next refresh tokens open it as well.
///
/// A session token reveals no family. So this key is also stored, encrypted under one that the session token derives,
/// and encrypted again for the new session token at each refresh. The store has only hashes of all these tokens.
extension SealedIDToken {
    /// Nil if the tokens are not those of a session.
    package init?(_ hint: IDTokenHint, openedBy tokens: SessionTokens) {
        guard let refreshToken = PresentedRefreshToken(tokens.refreshToken),
            let content = try? Self.key(of: refreshToken).seal(
                Array((hint.issuer + "\n" + hint.token.exposed).utf8)),
            let sessionKey = Self.sessionKey(for: tokens.token.exposed, of: refreshToken)
        else { return nil }
        self.init(content: content, sessionKey: sessionKey)
    }

    /// The key of a session's ID token, encrypted for a new session token.
    static func sessionKey(for token: String, of refreshToken: PresentedRefreshToken) -> [UInt8]? {
        let key = key(of: refreshToken).withUnsafeBytes { Array($0) }
        return try? Self.key(ofSessionToken: token).seal(key)
    }

    /// The ID token; nil for the token of another session, and for one that a refresh has replaced.
    package func hint(forSessionToken token: Secret) -> IDTokenHint? {
        guard let key = Self.key(ofSessionToken: token.exposed).open(sessionKey), key.count == 32 else { return nil }
        return hint(under: SymmetricKey(data: key))
    }

    /// The ID token; nil for a refresh token of another session.
    package func hint(forRefreshToken token: Secret) -> IDTokenHint? {
        PresentedRefreshToken(token).flatMap { hint(under: Self.key(of: $0)) }
    }

    private func hint(under key: SymmetricKey) -> IDTokenHint? {
        guard let bytes = key.open(content), let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        return IDTokenHint(
            issuer: String(decoding: bytes[..<end], as: UTF8.self),
            token: Secret(String(decoding: bytes[(end + 1)...], as: UTF8.self)))
    }

    private static func key(of refreshToken: PresentedRefreshToken) -> SymmetricKey {
        SymmetricKey(derivedFrom: refreshToken.family, for: "latchkey ID token of a session")
    }

    private static func key(ofSessionToken token: String) -> SymmetricKey {
        SymmetricKey(derivedFrom: token, for: "latchkey key of a session's ID token")
    }
}
