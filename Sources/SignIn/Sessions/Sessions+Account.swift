import Primitives
public import StorageModel

/// What a user can do with their own account. Each is for the holder of a session that was looked up before.
extension Sessions {
    /// Changes the user's profile; returns the user as now on record.
    /// - Throws: `invalid_request` that names every malformed attribute; `email_domain_blocked`; `invalid_token` if the
    ///   user was erased meanwhile; `temporarily_unavailable`.
    public func edit(
        _ edit: ProfileEdit, for holder: SessionAndUser, requestID: String
    ) async throws(SignInError) -> User {
        let change = try edit.change(registration)
        guard change != ProfileChange() else { return holder.user }
        let event = event(.userEdited, holder.user.id, by: .user, requestID) {
            $0.add("attributes", change.present.map(\.rawValue))
        }
        // Also when the store fails, because it may have stored the change before it did.
        defer { cache.remove(holder.user.id) }
        let user = try await stored(await store.editProfile(of: holder.user.id, change, recording: event))
        guard let user else { throw .sessionUnknown }
        return user
    }

    /// The ways the user can sign in, the oldest first.
    /// - Throws: `temporarily_unavailable`.
    public func identities(for holder: SessionAndUser) async throws(SignInError) -> [LinkedIdentity] {
        try await stored(await store.identities(of: holder.user.id))
    }

    /// Takes one of the ways to sign in from the user, and ends the sessions that it signed in; the holder's stays.
    /// - Throws: `not_found` if the user has none of this id, whether anybody else has or not; `last_identity`;
    ///   `temporarily_unavailable`.
    public func unlink(
        _ id: String, for holder: SessionAndUser, requestID: String
    ) async throws(SignInError) {
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
        }
    }
}
