import Primitives
package import StorageModel

/// A user's operations on their own account. The caller has authenticated the session's holder.
extension Sessions {
    /// Counts a change of an account over all instances on one database, so that more instances do not allow more
    /// changes with a stolen session.
    /// - Returns: The seconds to wait if there were too many, in which case the change is not counted; otherwise nil.
    /// - Throws: `temporarily_unavailable` if the store is unavailable.
    package func countChange(
        of user: UserID, within allowance: SharedAllowance
    ) async throws(SignInError) -> Int64? {
        try await stored(await store.countChange(of: user, within: allowance, at: clock.now()))
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
        let user = try await stored(
            await store.editProfile(of: holder.user.id, in: holder.session.id, change, recording: event))
        guard let user else { throw .sessionUnknown }
        return user
    }

    /// The user's identities, the oldest first.
    /// - Throws: `temporarily_unavailable`.
    package func identities(for holder: SessionAndUser) async throws(SignInError) -> [LinkedIdentity] {
        try await stored(await store.identities(of: holder.user.id))
    }

    /// Removes an identity from the user, and ends the sessions that it signed in, except the holder's.
    /// - Throws: `not_found` if the user has no identity of this id; `last_identity`; `invalid_token` if the
    ///   session was revoked meanwhile; `temporarily_unavailable`.
    package func unlink(_ id: String, for holder: SessionAndUser, requestID: String) async throws(SignInError) {
        guard id.utf8.count <= 64 else { throw .noSuchIdentity }
        let (user, now) = (holder.user.id, clock.now())
        defer { forget(user) }
        let removal = try await stored(
            await store.removeIdentity(id: id, of: user, keeping: holder.session.id) { identity in
                AuditEvent(
                    at: now, .identityUnlinked, user: user, by: .user, requestID: requestID,
                    details: AuditDetails { json in
                        json.add("identity", identity.fingerprint)
                        json.add("issuer", identity.issuer)
                    })
            })
        switch removal {
        case .removed: return
        case .isLast: throw .lastIdentity
        case .unknown: throw .noSuchIdentity
        case .unknownSession: throw .sessionUnknown
        }
    }
}
