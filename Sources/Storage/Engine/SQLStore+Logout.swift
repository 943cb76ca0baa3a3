import Primitives
public import StorageModel

extension SQLStore {
    /// In one transaction: the token is used up with what it ended, and not without.
    public func endSessions(_ logout: ProviderLogout) async throws(StorageError) -> ProviderLogoutResult {
        try await writes.submit { db in
            var known = try CachedStatement(
                db, "INSERT INTO logout_tokens (token_hash, expires_at) VALUES (?, ?) ON CONFLICT DO NOTHING")
            known.bind(logout.token)
            known.bind(logout.expiresAt.secondsSinceEpoch)
            try known.run()
            guard db.changesCount == 1 else { return .replayed }
            let ended = try SessionsTable.end(logout.scope, in: db)
            for (user, count) in ended {
                let event = AuditEvent(
                    at: logout.time, .sessionsEndedByProvider, user: user, by: .client(logout.scope.issuer),
                    requestID: logout.requestID, details: AuditDetails { $0.add("sessions", count) })
                try AuditTable.insert(event, in: db)
            }
            return .done(ended)
        }
    }
}

extension ProviderLogout.Scope {
    fileprivate var issuer: String {
        switch self {
        case .identity(let identity): identity.issuer
        case .session(let session, _): session.issuer
        }
    }
}
