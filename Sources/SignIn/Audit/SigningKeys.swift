package import Crypto
import Logging
package import OpenIDConnect
package import Primitives
package import StorageModel
import Synchronization

/// The keys that sign receipts, session tokens and seals of the audit log, created, published and removed as
/// `SigningKeySchedule` decides.
///
/// They are stored, so that all processes sign with the same ones, and cached for a minute. If several processes create
/// a key at once, the store accepts one, and the others use it.
package final class SigningKeys: Sendable {
    /// How long verifiers may cache the published keys, in seconds.
    package static let cacheLifetime: Int64 = 3600
    /// How long the keys are used before the store is read again, and how long if it is unavailable, in seconds.
    private static let freshness: Int64 = 60
    private static let staleLifetime: Int64 = 3600

    private let store: any KeyStore
    private let schedule: SigningKeySchedule
    private let protection: KeyProtection
    private let clock: WallClock
    private let logger: Logger
    private let last: CachedRead<[StoredKey], SignInError>
    /// The ids of stored keys that this process cannot use and has logged.
    private let blamed = Mutex<Set<String>>([])

    init(
        store: any KeyStore, configuration: SignInConfiguration.SigningKeys, clock: WallClock, logger: Logger
    ) {
        self.store = store
        schedule = SigningKeySchedule(lifetime: configuration.lifetime)
        protection = KeyProtection(keys: configuration.encryptionKeys)
        self.clock = clock
        self.logger = logger
        last = CachedRead(lifetime: Self.freshness, clock: clock)
    }

    /// The keys of all valid receipts, and those that will sign next. With encryption keys, these are keys only that a
    /// holder of them stored: whoever can write to the database could have others published. Without encryption keys,
    /// keys are published that this process cannot decrypt, because another instance may have encryption keys already.
    /// - Throws: `temporarily_unavailable`.
    package func published() async throws(SignInError) -> [PublicSigningKey] {
        try await keys().compactMap { key in
            guard key.signing != nil || !protection.encrypts else { return nil }
            return PublicSigningKey(id: key.record.id, point: key.signing?.publicPoint ?? key.record.publicKey)
        }
    }

    /// Adds the next key when it is due, and removes the expired ones. Must be called at least once an hour.
    /// - Throws: `temporarily_unavailable`; `server_error` if no key can be created.
    package func maintain() async throws(SignInError) {
        let now = clock.now()
        last.keep(try await maintained(at: now), readAt: now)
    }

    /// The key to sign with.
    /// - Throws: `temporarily_unavailable`; `server_error` if no key can be created.
    package func signer() async throws(SignInError) -> SigningKey { try await own().signer }

    /// The ids of the keys that this process can use, and the one of them that signs now. With encryption keys, no
    /// attacker who can only write to the database has them.
    /// - Throws: `temporarily_unavailable`; `server_error` if no key can be created.
    package func own() async throws(SignInError) -> (ids: [String], signer: SigningKey) {
        let now = clock.now()
        let keys = try await keys()
        guard let chosen = schedule.signer(among: keys.map(\.scheduled), at: now),
            let signer = keys.first(where: { $0.record.id == chosen.id })?.signing
        else { throw .internalFault }
        return (keys.compactMap(\.signing?.id), signer)
    }

    /// The keys in memory, or read again; at least one can sign.
    private func keys() async throws(SignInError) -> [StoredKey] {
        if let keys = last.current { return keys }
        let now = clock.now()
        do throws(SignInError) {
            return try await last.value { () async throws(SignInError) in
                let read = try await self.read()
                let canSign = self.schedule.signer(among: read.map(\.scheduled), at: now) != nil
                return try await canSign ? read : self.maintained(at: now)
            }
        } catch {
            // Keys change by the day, so that older ones are still right.
            guard let keys = last.value(notOlderThan: Self.staleLifetime, at: now) else { throw error }
            return keys
        }
    }

    private func maintained(at now: Timestamp) async throws(SignInError) -> [StoredKey] {
        var keys = try await read()
        if let start = schedule.startOfNext(after: keys.map(\.scheduled), at: now) {
            try await add(signingFrom: start, after: keys.last?.record.id, at: now)
            keys = try await read()
        }
        let outdated = schedule.outdated(among: keys.map(\.scheduled), at: now).map(\.id)
        if !outdated.isEmpty {
            try await mappingStoreErrors(
                await store.removeSigningKeys(outdated) { id in
                    AuditEvent(
                        at: now, .signingKeyRemoved, user: nil, by: .latchkey,
                        details: AuditDetails { $0.add("kid", id) })
                })
            for id in outdated { logger.info("signing key removed", metadata: ["kid": "\(id)"]) }
            keys.removeAll { outdated.contains($0.record.id) }
        }
        return keys
    }

    private func add(signingFrom start: Timestamp, after newest: String?, at now: Timestamp) async throws(SignInError) {
        let key = SigningKey()
        guard let protected = try? protection.protect(key.rawRepresentation, of: key.id) else { throw .internalFault }
        let record = SigningKeyRecord(
            id: key.id, publicKey: key.publicPoint, privateKey: protected, createdAt: now, signsFrom: start)
        let event = AuditEvent(
            at: now, .signingKeyCreated, user: nil, by: .latchkey,
            details: AuditDetails { json in
                json.add("kid", key.id)
                json.add("signs_from", start.secondsSinceEpoch)
                json.add("encrypted", protection.encrypts)
            })
        let isFirst = try await mappingStoreErrors(await store.addSigningKey(record, after: newest, recording: event))
        guard isFirst else { return }
        let wait = max(0, start.seconds(since: now))
        logger.info("signing key made", metadata: ["kid": "\(key.id)", "signs_in_s": "\(wait)"])
    }

    private func read() async throws(SignInError) -> [StoredKey] {
        let records = try await mappingStoreErrors(await store.signingKeys())
        let keys = records.map { StoredKey($0, protection) }
        blame(keys.filter { $0.signing == nil }.map(\.record))
        return keys
    }

    /// Tells once of each key that is not used.
    private func blame(_ records: [SigningKeyRecord]) {
        let known = blamed.withLock { exchange(&$0, with: Set(records.map(\.id))) }
        for record in records where !known.contains(record.id) {
            if protection.state(of: record) == .plain {
                logger.warning(
                    "a signing key is not encrypted although encryption_keys is set; it is neither used nor published",
                    metadata: ["kid": "\(record.id)"])
            } else {
                logger.error(
                    "a signing key cannot be decrypted; configure its encryption key again",
                    metadata: ["kid": "\(record.id)"])
            }
        }
    }
}

/// A stored key, and what this process can do with it.
private struct StoredKey: Sendable {
    let record: SigningKeyRecord
    /// Nil if this process does not have its encryption key, or if it is not encrypted although there are such keys.
    let signing: SigningKey?
    let scheduled: SigningKeySchedule.Key

    init(_ record: SigningKeyRecord, _ protection: KeyProtection) {
        self.record = record
        // The encryption keys have other uses, too. What they encrypted is not a signing key under another row's name.
        signing = SigningKey(of: record, protection)
        scheduled = SigningKeySchedule.Key(
            id: record.id, signsFrom: record.signsFrom, isUsable: signing != nil,
            isProtectedAsWanted: protection.isCurrent(record.privateKey, of: record.id))
    }
}

/// The public key of a receipt's signature, for ES256.
package struct PublicSigningKey: Sendable {
    /// The thumbprint of RFC 7638, so that two keys never share it by chance.
    package let id: String
    package let key: P256.Signing.PublicKey

    /// Nil for a point that is not on the curve.
    /// - Parameter point: 64 bytes.
    init?(id: String, point: [UInt8]) {
        guard let key = try? P256.Signing.PublicKey(rawRepresentation: point) else { return nil }
        self.id = id
        self.key = key
    }

    /// Writes it as a JSON Web Key (RFC 7517 section 4) for signatures.
    package func writePublicKey(to json: inout JSONObjectWriter) {
        PublicJWK(key).write(to: &json, use: "sig", algorithm: SigningAlgorithm.es256.rawValue, keyID: id)
    }
}

/// A key that signs receipts, and seals of the audit log.
package struct SigningKey: Sendable {
    private let privateKey: P256.Signing.PrivateKey
    private let signing: ClientKey

    init(_ key: P256.Signing.PrivateKey = P256.Signing.PrivateKey()) {
        privateKey = key
        signing = ClientKey(key)
    }

    /// A stored key; nil if the protection does not open it, or if it is another one than the row says. Besides the
    /// private key, a row has nothing that is encrypted.
    package init?(of record: SigningKeyRecord, _ protection: KeyProtection) {
        guard let bytes = protection.open(record.privateKey, of: record.id),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes)
        else { return nil }
        self.init(key)
        guard id == record.id else { return nil }
    }

    /// The thumbprint of RFC 7638.
    package var id: String { signing.keyID }

    /// Secret.
    var rawRepresentation: [UInt8] { Array(privateKey.rawRepresentation) }

    /// 64 bytes.
    var publicPoint: [UInt8] { Array(privateKey.publicKey.rawRepresentation) }

    /// A JWS in compact form (RFC 7515 section 7.1).
    /// - Throws: `server_error` if the key cannot sign.
    package func token(
        type: String, naming reference: ClientKey.Reference, claims: [UInt8]
    ) throws(SignInError) -> Secret {
        try mappingErrors(signing.token(type: type, naming: reference, claims: claims)) { (_: OIDCError) in
            SignInError.internalFault
        }
    }
}

/// Decides when signing keys are added, sign and are removed, so that a verifier with a cached key set never meets a
/// signature of an unpublished key.
///
/// A key is published for ``overlap`` before it signs, and as long after its successor begins to sign. Pure: it takes
/// the keys and the time as arguments.
struct SigningKeySchedule: Sendable {
    /// The seconds from a key's publication to its first signature, and from its last signature to its removal: a day,
    /// far more than the hour that key sets may be cached and the hour that receipts may last.
    static let overlap: Int64 = 86_400
    /// The seconds by which a key needed at once is backdated, for processes whose clocks are behind.
    private static let clockTolerance: Int64 = 300

    /// How long a key signs, in seconds; two days or more.
    let lifetime: Int64

    struct Key: Sendable, Hashable {
        let id: String
        let signsFrom: Timestamp
        /// Whether this process can sign with it.
        let isUsable: Bool
        /// Whether it is stored in the configured form.
        let isProtectedAsWanted: Bool
    }

    /// The key to sign with, among keys in the order of their addition; nil if a new one is needed at once.
    func signer(among keys: [Key], at now: Timestamp) -> Key? {
        keys.last { $0.isUsable && $0.signsFrom <= now }
    }

    /// When a key added now would begin to sign; nil if none is due.
    func startOfNext(after keys: [Key], at now: Timestamp) -> Timestamp? {
        guard signer(among: keys, at: now) != nil else { return now.advanced(bySeconds: -Self.clockTolerance) }
        // At most one key waits to sign, so that processes with different configurations add one a day, not one a
        // minute.
        guard let newest = keys.last, newest.signsFrom <= now else { return nil }
        let end = newest.signsFrom.advanced(bySeconds: lifetime - Self.overlap)
        guard end <= now || !newest.isUsable || !newest.isProtectedAsWanted else { return nil }
        return now.advanced(bySeconds: Self.overlap)
    }

    /// The keys that signed nothing that is still valid.
    func outdated(among keys: [Key], at now: Timestamp) -> [Key] {
        let successor = keys.lastIndex { $0.isUsable && $0.signsFrom.advanced(bySeconds: Self.overlap) <= now }
        return successor.map { Array(keys[..<$0]) } ?? []
    }
}
