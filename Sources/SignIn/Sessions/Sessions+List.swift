import Primitives
package import StorageModel

/// A user's operations on their own sessions. The caller has authenticated the session's holder.
extension Sessions {
    /// The most sessions in a list.
    package static let listLimit = 200

    /// The user's sessions, the last seen first; the holder's is seen now.
    /// - Throws: `temporarily_unavailable`.
    package func list(for holder: SessionAndUser) async throws(SignInError) -> [SessionSummary] {
        let now = clock.now()
        let sessions = try await mappingStoreErrors(
            await store.sessions(of: holder.user.id, at: now, limit: Self.listLimit))
        return sessions.map { session in
            let seen = session.id == holder.session.id ? now : lastSeen.time(of: session.id)
            var session = session
            session.lastSeenAt = max(session.lastSeenAt, seen ?? session.lastSeenAt)
            return session
        }
    }

    /// Ends one of the user's sessions.
    /// - Throws: `not_found` if the user has no session of this id; `invalid_token` if the holder's session was revoked
    ///   meanwhile; `temporarily_unavailable`.
    package func revoke(_ id: String, for holder: SessionAndUser, requestID: String) async throws(SignInError) {
        let event = event(.sessionRevoked, holder.user.id, by: .user, requestID) { $0.add("session_id", id) }
        guard id.utf8.count <= 64 else { throw .noSuchSession }
        switch try await revoke(id, of: holder.user.id, in: holder.session.id, recording: event) {
        case .revoked: break
        case .unknownSession: throw .noSuchSession
        case .askingSessionEnded: throw .sessionUnknown
        }
    }

    /// Ends all of the user's sessions but the holder's, and returns their number.
    /// - Throws: `invalid_token` if the holder's session was revoked meanwhile; `temporarily_unavailable`.
    package func revokeOthers(than holder: SessionAndUser, requestID: String) async throws(SignInError) -> Int {
        let event = event(.otherSessionsRevoked, holder.user.id, by: .user, requestID) {
            $0.add("kept_session_id", holder.session.id)
        }
        defer { forget(holder.user.id) }
        let count = try await mappingStoreErrors(
            await store.revokeSessions(of: holder.user.id, except: holder.session.id, recording: event))
        guard let count else { throw .sessionUnknown }
        counts.note { $0.revoked += UInt64(clamping: count) }
        return count
    }

    /// Stores when sessions were last seen. Called periodically.
    /// - Throws: `temporarily_unavailable`; the times that could not be stored are lost.
    package func writeLastSeen() async throws(SignInError) {
        let unwritten = lastSeen.takeUnwritten()
        guard !unwritten.isEmpty else { return }
        try await mappingStoreErrors(await store.recordLastSeen(unwritten))
    }

    /// Ends a session.
    /// - Parameters:
    ///   - session: The session that asks for it; nil if none does.
    ///   - count: Of the sessions that ended for the same reason.
    func revoke(
        _ id: String, of user: UserID, in session: String?, recording event: AuditEvent?,
        countedAs count: WritableKeyPath<SessionStatistics, UInt64> = \.revoked
    ) async throws(SignInError) -> SessionRevocation {
        // Also if the store fails, because the session may have been revoked before the failure. For all of the user's
        // sessions, because this one may also be cached under its token before the last refresh.
        defer { forget(user) }
        let revocation = try await mappingStoreErrors(
            await store.revokeSession(id: id, of: user, in: session, recording: event))
        if revocation == .revoked { counts.note { $0[keyPath: count] += 1 } }
        return revocation
    }

    func event(
        _ kind: AuditEvent.Kind, _ user: UserID, by actor: AuditEvent.Actor, _ requestID: String,
        _ details: (inout JSONObjectWriter) -> Void
    ) -> AuditEvent {
        AuditEvent(at: clock.now(), kind, user: user, by: actor, requestID: requestID, details: AuditDetails(details))
    }
}

/// A user's operations on their own account. The caller has authenticated the session's holder.
extension Sessions {
    /// Counts a change of an account over all instances on one database, so that more instances do not allow more
    /// changes with a stolen session.
    /// - Returns: The seconds to wait if there were too many, in which case the change is not counted; otherwise nil.
    /// - Throws: `temporarily_unavailable` if the store is unavailable.
    package func countChange(
        of user: UserID, within allowance: SharedAllowance
    ) async throws(SignInError) -> Int64? {
        let use = AllowanceUse(of: "account change of user \(user.number)", allowance)
        return try await mappingStoreErrors(await store.count([use], at: clock.now()))
    }

    /// Changes the user's profile and returns the user as stored.
    /// - Throws: `invalid_request` naming every malformed attribute; `email_domain_blocked`; `invalid_token` if the
    ///   user was erased or the session was revoked meanwhile; `temporarily_unavailable`.
    package func edit(
        _ edit: ProfileEdit, for holder: SessionAndUser, requestID: String
    ) async throws(SignInError) -> User {
        let change = try edit.change(registration)
        guard change != ProfileChange() else { return holder.user }
        let event = event(.userEdited, holder.user.id, by: .user, requestID) {
            $0.add("attributes", change.present.map(\.rawValue))
        }
        // Also if the store fails, because the change may have been stored before the failure.
        defer { cache.remove(holder.user.id) }
        let user = try await mappingStoreErrors(
            await store.editProfile(of: holder.user.id, in: holder.session.id, change, recording: event))
        guard let user else { throw .sessionUnknown }
        return user
    }
}
