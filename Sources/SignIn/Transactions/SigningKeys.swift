import Logging
import Primitives
import StorageModel
import Synchronization

/// The keys that sign receipts and seals of the audit log, created, published and removed as `SigningKeySchedule`
/// decides.
///
/// They are stored, so that all processes sign with the same ones, and cached for a minute. If several processes create
/// a key at once, the store accepts one, and the others use it.
package final class SigningKeys: Sendable {
    /// How long verifiers may cache the published keys, in seconds.
    package static let cacheLifetime: Int64 = 3600
    /// How long the keys are used before the store is read again, and how long if it is unavailable, in seconds.
    private static let freshness: Int64 = 60
    private static let staleLifetime: Int64 = 3600

    private struct Held: Sendable {
        let keys: [StoredKey]
        let readAt: Timestamp

        func isYounger(than seconds: Int64, at now: Timestamp) -> Bool {
            readAt <= now && now < readAt.advanced(bySeconds: seconds)
        }
    }

    private let store: any SigningKeyStore
    private let schedule: SigningKeySchedule
    private let protection: KeyProtection
    private let clock: WallClock
    private let logger: Logger
    private let held = Mutex<Held?>(nil)
    /// The ids of stored keys that this process cannot use and has logged.
    private let blamed = Mutex<Set<String>>([])

    init(
        store: any SigningKeyStore, configuration: SignInConfiguration.Transactions, clock: WallClock, logger: Logger
    ) {
        self.store = store
        schedule = SigningKeySchedule(lifetime: configuration.keyLifetime)
        protection = KeyProtection(keys: configuration.encryptionKeys)
        self.clock = clock
        self.logger = logger
    }

    /// The keys of all valid receipts, and those that will sign next. With encryption keys, these are keys only that a
    /// holder of them stored: whoever can write to the database could have others published. Without encryption keys,
    /// keys are published that this process cannot decrypt, because another instance may have encryption keys already.
    /// - Throws: `temporarily_unavailable`.
    package func published() async throws(SignInError) -> [PublicSigningKey] {
        try await keys().compactMap { key in
            if let signing = key.signing { return PublicSigningKey(id: signing.id, point: signing.publicPoint) }
            return protection.encrypts ? nil : PublicSigningKey(id: key.record.id, point: key.record.publicKey)
        }
    }

    /// Adds the next key when it is due, and removes the expired ones. Must be called at least once an hour.
    /// - Throws: `temporarily_unavailable`; `server_error` if no key can be created.
    package func maintain() async throws(SignInError) {
        _ = try await maintained(at: clock.now())
    }

    /// The key to sign with.
    /// - Throws: `temporarily_unavailable`; `server_error` if no key can be created.
    func signer() async throws(SignInError) -> SigningKey { try await sealingKeys().signer }

    /// The keys that seal the audit log.
    /// - Throws: `temporarily_unavailable`; `server_error` if no key can be created.
    func sealingKeys() async throws(SignInError) -> SealingKeys {
        let now = clock.now()
        let keys = try await keys()
        guard let chosen = schedule.signer(among: keys.map(\.scheduled), at: now),
            let signer = keys.first(where: { $0.record.id == chosen.id })?.signing
        else { throw .internalFault }
        return SealingKeys(own: keys.compactMap(\.signing?.id), signer: signer)
    }

    /// The keys in memory, or read again; at least one can sign.
    private func keys() async throws(SignInError) -> [StoredKey] {
        let now = clock.now()
        let held = held.withLock { $0 }
        if let held, held.isYounger(than: Self.freshness, at: now) { return held.keys }
        do throws(SignInError) {
            let read = try await read()
            guard schedule.signer(among: read.map(\.scheduled), at: now) != nil else {
                return try await maintained(at: now)
            }
            hold(read, now)
            return read
        } catch {
            // Keys change by the day, so that older ones are still right.
            guard let held, held.isYounger(than: Self.staleLifetime, at: now) else { throw error }
            return held.keys
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
            try await stored(
                await store.removeSigningKeys(outdated) { id in
                    AuditEvent(
                        at: now, .signingKeyRemoved, user: nil, by: .latchkey,
                        details: AuditDetails { $0.add("kid", id) })
                })
            for id in outdated { logger.info("signing key removed", metadata: ["kid": "\(id)"]) }
            keys.removeAll { outdated.contains($0.record.id) }
        }
        hold(keys, now)
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
        let isFirst = try await stored(await store.addSigningKey(record, after: newest, recording: event))
        guard isFirst else { return }
        let wait = max(0, start.seconds(since: now))
        logger.info("signing key made", metadata: ["kid": "\(key.id)", "signs_in_s": "\(wait)"])
    }

    private func read() async throws(SignInError) -> [StoredKey] {
        let records = try await stored(await store.signingKeys())
        let keys = records.map { StoredKey($0, protection) }
        blame(keys.filter { $0.signing == nil }.map(\.record))
        return keys
    }

    /// Tells once of each key that is not used.
    private func blame(_ records: [SigningKeyRecord]) {
        let known = blamed.withLock { blamed in
            defer { blamed = Set(records.map(\.id)) }
            return blamed
        }
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

    private func hold(_ keys: [StoredKey], _ now: Timestamp) {
        held.withLock { $0 = Held(keys: keys, readAt: now) }
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
        // The encryption keys have other uses, too. What they encrypted is no signing key under another row's name.
        signing = SigningKey(of: record, protection)
        scheduled = SigningKeySchedule.Key(
            id: record.id, signsFrom: record.signsFrom, isUsable: signing != nil,
            isProtectedAsWanted: protection.isCurrent(record.privateKey, of: record.id))
    }
}
