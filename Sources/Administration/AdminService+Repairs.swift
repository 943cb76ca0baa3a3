package import LatchkeyService
import Primitives
import Storage
import StorageModel

/// Repairs of accounts. Without `applies` each only reports what it would do.
extension AdminService {
    /// Replaces an identity of a user; the user's sessions end.
    /// - Parameter replacing: The beginning of the fingerprint of the identity to replace; nil if the user has only
    ///   one.
    package func relink(
        _ user: Int64, toIssuer issuer: String, subject: String, replacing: String? = nil, reason: String?,
        applies: Bool
    ) async throws -> CommandReport {
        try check(reason)
        let identity = Identity(issuer: issuer, subject: subject)
        try check(identity, replacing: replacing)
        let record = try await account(of: user)
        let (id, now) = (UserID(user), clock.now())
        let former = try await store.relink(
            id, to: identity, replacing: replacing, at: now, by: .operating(Self.operatorName), reason: reason,
            applies: applies
        ).get()
        let lines = [
            "user \(user) \(applies ? "signs" : "would sign") in with \(identity.name),",
            "  and no longer with \(former.name);", "  sessions ended: \(record.sessionCount).",
        ]
        return report(lines, applies: applies) { json in
            json.add("user_id", user)
            json.add("identity", object: identity.write)
            json.add("former_identity", object: former.write)
            json.add("sessions_ended", record.sessionCount)
        }
    }

    /// Merges an account into another, which gets the identities and missing profile values. The merged account is
    /// erased and its sessions end.
    package func merge(
        _ other: Int64, into user: Int64, reason: String?, applies: Bool
    ) async throws -> CommandReport {
        try check(reason)
        guard other != user else { throw AdministratorError("name two different users") }
        let (gone, kept) = (try await account(of: other), try await account(of: user))
        if applies {
            let now = clock.now()
            let isDone = try await store.merge(
                UserID(other), into: UserID(user), at: now, by: .operating(Self.operatorName), reason: reason)
            guard isDone else { throw AdministratorError("one of the users was erased in the meantime") }
        }
        let lines = [
            "user \(other) \(applies ? "was" : "would be") merged into user \(kept.user.id.number) and erased:",
            "  identities moved: \(gone.identities.count);", "  sessions ended: \(gone.sessionCount).",
        ]
        return report(lines, applies: applies) { json in
            json.add("user_id", user)
            json.add("erased_user_id", other)
            json.add("identities_moved", gone.identities.count)
            json.add("sessions_ended", gone.sessionCount)
        }
    }

    /// Erases a user: identities, sessions, tokens and profile. Then what the user has elsewhere ends.
    /// - Parameter ending: Is called before, for what ends then.
    package func erase(
        _ user: Int64, reason: String?, applies: Bool, ending: () async -> @Sendable () async -> [String] = { { [] } }
    ) async throws -> CommandReport {
        try check(reason)
        let record = try await account(of: user)
        var ended: [String] = []
        if applies {
            let event = event(.userErased, of: user) { json in
                json.add(erased: record.user)
                json.add("reason", ifPresent: reason)
            }
            let ending = await ending()
            let isDone = try await store.deleteUser(UserID(user), in: nil, recording: event)
            guard isDone else { throw AdministratorError("there is no user \(user)") }
            ended = await ending()
        }
        let line =
            "user \(user) \(applies ? "was" : "would be") erased, with identities: \(record.identities.count), "
            + "sessions: \(record.sessionCount)."
        return report([line] + ended.map { "  \($0)" }, applies: applies) { json in
            json.add("user_id", user)
            json.add("identities", record.identities.count)
            json.add("sessions_ended", record.sessionCount)
            if !ended.isEmpty { json.add("at_providers", ended) }
        }
    }

    func check(_ reason: String?) throws(AdministratorError) {
        guard (reason?.count ?? 0) <= 280 else {
            throw AdministratorError("the reason must have at most 280 characters")
        }
    }

    private func check(_ identity: Identity, replacing: String?) throws(AdministratorError) {
        try identity.checkForm()
        if let replacing, replacing.utf8.count < 8 {
            throw AdministratorError("give at least 8 digits of the fingerprint")
        }
    }
}

extension Identity {
    /// Checks that an ID token can have the identity: a typing error locks the user out.
    func checkForm() throws(AdministratorError) {
        guard EndpointURL(issuer, policy: .allowLoopbackHTTP) != nil else {
            throw AdministratorError("the issuer is not an https URL; copy it from the provider's OpenID configuration")
        }
        guard subject.isVisibleASCII(upTo: 255) else {
            throw AdministratorError("the subject must be 1 to 255 visible ASCII characters")
        }
    }
}

extension AuditEvent.Kind {
    static let identityMoveUndone = AuditEvent.Kind("identity.move_undone")
    static let identityRelinked = AuditEvent.Kind("identity.relinked")
    static let userMerged = AuditEvent.Kind("user.merged")
}

struct UndoableMove: Sendable, Hashable {
    let move: IdentityMove
    /// The identity that gets the account back.
    let former: Identity
    /// The identity that loses the account.
    let present: Identity
}

extension SQLStore {
    /// Gives the account back to the identity that it was moved from, and ends the user's sessions: some may belong to
    /// the holder of the identity that it was moved to by mistake.
    ///
    /// The identity that the account was moved to is forgotten, and makes a new user when it signs in again. If the
    /// account had been moved away from it before, it gets that status back.
    /// - Parameter applies: False to change nothing, and to tell what would be undone.
    func undoMove(
        _ number: Int64, of user: UserID, at now: Timestamp, by actor: AuditEvent.Actor, reason: String?,
        applies: Bool = true
    ) async throws(StorageError) -> Result<UndoableMove, AdministratorError> {
        try await writes.submit(locking: [.user(user)]) { db in
            let result = try Self.undoable(number, of: user, in: db)
            guard applies, case .success(let undoable) = result,
                let former = try IdentitiesTable.row(undoable.former, in: db)
            else { return result }
            if let departure = undoable.move.earlierDeparture {
                try IdentitiesTable.update(
                    undoable.present, movedBy: departure, arrivedBy: undoable.move.earlierArrival, restoredAt: nil,
                    in: db)
            } else {
                try IdentitiesTable.delete(undoable.present, in: db)
            }
            try IdentitiesTable.update(
                undoable.former, movedBy: nil, arrivedBy: former.arrivedBy, restoredAt: now, in: db)
            try db.perform("UPDATE identity_moves SET undone_at = ? WHERE id = ?", now, number)
            let sessions = try SessionsTable.endAll(of: user, in: db)
            let details = AuditDetails { json in
                json.add("move", number)
                json.add(from: undoable.present, to: undoable.former)
                json.add("sessions_ended", sessions)
                json.add("reason", ifPresent: reason)
            }
            try AuditTable.insert(
                AuditEvent(at: now, .identityMoveUndone, user: user, by: actor, details: details), in: db)
            return result
        }
    }

    private static func undoable(
        _ number: Int64, of user: UserID, in db: SQLSession
    ) throws -> Result<UndoableMove, AdministratorError> {
        guard let move = try IdentityMovesTable.move(number, in: db), move.user == user else {
            let reason = "user \(user.number) has no move \(number); latchkey users show \(user.number) lists the moves"
            return .failure(AdministratorError(reason))
        }
        guard move.undoneAt == nil else {
            return .failure(AdministratorError("move \(number) has been undone already"))
        }
        let identities = try IdentitiesTable.rows(of: user, in: db)
        guard let former = identities.first(where: { $0.movedBy == number }),
            let present = identities.first(where: { $0.arrivedBy == number && $0.movedBy == nil })
        else {
            return .failure(
                AdministratorError(
                    "move \(number) cannot be undone: a later move follows it, or the identity was removed since; undo "
                        + "the later move first"))
        }
        return .success(UndoableMove(move: move, former: former.identity, present: present.identity))
    }

    /// Replaces an identity of a user with another one, and ends the user's sessions: some may be those of the former
    /// identity's present holder.
    /// - Parameter applies: False to change nothing, and to tell what would be replaced.
    /// - Returns: The identity that was replaced; it is forgotten.
    func relink(
        _ user: UserID, to identity: Identity, replacing fingerprint: String?, at now: Timestamp,
        by actor: AuditEvent.Actor, reason: String?, applies: Bool = true
    ) async throws(StorageError) -> Result<Identity, AdministratorError> {
        try await writes.submit(locking: [.user(user)]) { db in
            let result = try Self.relinkable(user, to: identity, replacing: fingerprint, in: db)
            guard applies, case .success(let former) = result else { return result }
            try IdentitiesTable.delete(former, in: db)
            try IdentitiesTable.insert(identity, of: user, at: now, in: db)
            let sessions = try SessionsTable.endAll(of: user, in: db)
            let event = AuditEvent(
                at: now, .identityRelinked, user: user, by: actor,
                details: AuditDetails { json in
                    json.add(from: former, to: identity)
                    json.add("sessions_ended", sessions)
                    json.add("reason", ifPresent: reason)
                })
            try AuditTable.insert(event, in: db)
            return result
        }
    }

    /// Gives a user the identities of another and what the profile lacks, and erases the other. The user's sessions
    /// stay; the other's end. False if either user is missing, or both are the same.
    func merge(
        _ other: UserID, into user: UserID, at now: Timestamp, by actor: AuditEvent.Actor, reason: String?
    ) async throws(StorageError) -> Bool {
        try await writes.submit(locking: [.user(other), .user(user)]) { db in
            guard other != user, let kept = try UsersTable.trackedUser(user, in: db),
                let gone = try UsersTable.user(other, in: db)
            else { return false }
            let identities = try IdentitiesTable.rows(of: other, in: db).count
            for table in ["identities", "identity_moves"] {
                try db.perform("UPDATE \(table) SET user_id = ? WHERE user_id = ?", user, other)
            }
            var filled = kept
            filled.fill(with: gone.profile)
            _ = try UsersTable.replace(kept, by: filled, in: db)
            let sessions = try SessionsTable.endAll(of: other, in: db)
            _ = try UsersTable.delete(other, in: db)
            let details = AuditDetails { json in
                json.add("from_user", other.number)
                json.add("to_user", user.number)
                json.add(erased: gone)
                json.add("identities", identities)
                json.add("sessions_ended", sessions)
                json.add("reason", ifPresent: reason)
            }
            for (subject, kind) in [(user, AuditEvent.Kind.userMerged), (other, .userMergedAway)] {
                try AuditTable.insert(AuditEvent(at: now, kind, user: subject, by: actor, details: details), in: db)
            }
            return true
        }
    }

    /// The identity that would be replaced: the user's only one, unless a fingerprint selects it.
    private static func relinkable(
        _ user: UserID, to identity: Identity, replacing fingerprint: String?, in db: SQLSession
    ) throws -> Result<Identity, AdministratorError> {
        func refused(_ reason: String) -> Result<Identity, AdministratorError> { .failure(AdministratorError(reason)) }
        guard try UsersTable.user(user, in: db) != nil else { return refused("there is no user \(user.number)") }
        let live = try IdentitiesTable.rows(of: user, in: db).filter { $0.movedBy == nil }.map(\.identity)
        let fitting = live.filter { fingerprint == nil || $0.fingerprint.hasPrefix(fingerprint ?? "") }
        guard let former = fitting.first else {
            return refused(
                "user \(user.number) has no such identity; latchkey users show \(user.number) lists the identities")
        }
        guard fitting.count == 1 else {
            return refused("user \(user.number) has several identities; name the one to replace with --replacing")
        }
        switch try IdentitiesTable.status(of: identity, in: db) {
        case .unknown: return .success(former)
        case .live(let owner), .moved(let owner):
            return refused(
                "this identity belongs, or belonged before a move, to user \(owner.number); to combine two accounts, "
                    + "use latchkey users merge")
        }
    }
}
