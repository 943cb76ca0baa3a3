import Primitives
import Storage
import StorageModel

/// What an event changes.
struct EventChange: Sendable {
    let event: EventName
    let action: EventAction
    let identity: Identity
}

/// The token of some events.
struct EventOrigin: Sendable {
    let provider: String
    let issuer: String
    let tokenID: String
    /// The token is refused from then on.
    let keptUntil: Timestamp
    let requestID: String?

    /// No field has a zero byte, so that no two tokens have the same.
    fileprivate var record: OneTimeRecord {
        OneTimeRecord(
            handle: TokenHash(sha256Of: "security event\0\(issuer)\0\(tokenID)"), purpose: "security-event",
            content: [1], expiresAt: keptUntil)
    }
}

/// What an event has changed.
struct EventEffect: Sendable {
    let user: UserID
    /// How many sessions ended.
    let sessions: Int
}

extension SQLStore {
    /// Does what the events of a token lead to, once for each token, with audit events.
    ///
    /// In one transaction: the token is used up with its effect, and not without.
    /// - Returns: The effect of each change; nil for a change whose identity belongs to no user. Nil instead of a list
    ///   if the token was used before.
    func apply(
        _ changes: [EventChange], of origin: EventOrigin, at now: Timestamp
    ) async throws(StorageError) -> [EventEffect?]? {
        try await writes.submit(locking: changes.map { .holder(of: $0.identity) }) { db in
            guard try OneTimeRecordsTable.insert(origin.record, in: db) else { return nil }
            return try changes.map { try $0.apply(of: origin, at: now, in: db) }
        }
    }
}

/// The lease of the instance that polls a provider: a record that expires.
extension SQLStore {
    private static let leasePurpose = "event-poll"

    private static func lease(of provider: String) -> TokenHash { TokenHash(sha256Of: "event poll\0\(provider)") }

    /// Takes or extends the lease, unless another instance has it.
    /// - Parameter seconds: How long it is held without an extension.
    func claimPolling(
        of provider: String, for holder: String, at now: Timestamp, seconds: Int64
    ) async throws(StorageError) -> Bool {
        let record = OneTimeRecord(
            handle: Self.lease(of: provider), purpose: Self.leasePurpose, content: Array(holder.utf8),
            expiresAt: now.advanced(bySeconds: seconds))
        return try await writes.submit { db in
            // A clock that was wrong must not hold the lease forever.
            let count = try db.run(
                """
                UPDATE sealed_notes SET content = ?, expires_at = ? WHERE handle_hash = ? AND purpose = ? \
                AND (content = ? OR expires_at <= ? OR expires_at > ?)
                """, record.content, record.expiresAt, record.handle, record.purpose, record.content, now,
                now.advanced(bySeconds: 2 * max(seconds, Self.longestLease)))
            return try count > 0 || OneTimeRecordsTable.insert(record, in: db)
        }
    }

    /// The longest lease of any instance, whose configuration may differ: the longest `events.poll_interval`.
    private static let longestLease: Int64 = 86_400

    /// Lets another instance have the lease at once.
    func releasePolling(of provider: String, by holder: String) async throws(StorageError) {
        try await writes.submit { db in
            try db.perform(
                "DELETE FROM sealed_notes WHERE handle_hash = ? AND purpose = ? AND content = ?",
                Self.lease(of: provider), Self.leasePurpose, Array(holder.utf8))
        }
    }
}

extension EventChange {
    fileprivate func apply(of origin: EventOrigin, at now: Timestamp, in db: SQLSession) throws -> EventEffect? {
        if action.endsSessions {
            // A sign-in of before that waits for the registration of its user.
            try db.perform("DELETE FROM pending_registrations WHERE issuer = ? AND subject = ?", identity)
        }
        guard let user = try UsersTable.user(identity, in: db)?.id else { return nil }
        let sessions =
            action.endsSessions ? try SessionsTable.endAll(of: user, signedInBy: identity, except: nil, in: db) : 0
        let tokens =
            action.forgetsTokens
            ? try db.run("DELETE FROM provider_tokens WHERE issuer = ? AND subject = ?", identity) : 0
        let details = AuditDetails { json in
            json.add("provider", origin.provider)
            json.add("event", event.rawValue)
            json.add("action", action.rawValue)
            if action.endsSessions { json.add("sessions", sessions) }
            if action.forgetsTokens { json.add("tokens", tokens) }
        }
        try AuditTable.insert(
            AuditEvent(
                at: now, .securityEvent, user: user, by: .client(origin.issuer), requestID: origin.requestID,
                details: details), in: db)
        return EventEffect(user: user, sessions: sessions)
    }
}

extension AuditEvent.Kind {
    /// A provider reported a security event of a user.
    fileprivate static let securityEvent = AuditEvent.Kind("security_event.received")
}
