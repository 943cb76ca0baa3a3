import Primitives
public import StorageModel

extension SQLStore {
    /// All in one transaction: a session that ends meanwhile links nothing, and of two users who claim an identity at once
    /// one gets it.
    public func link(_ link: IdentityLink) async throws(StorageError) -> IdentityLinking {
        try await writes.submit { db in
            guard try SessionsTable.session(link.session, at: link.time, in: db)?.user.id == link.user else {
                return .unknownSession
            }
            switch try IdentitiesTable.status(of: link.identity, in: db) {
            case .live(link.user):
                try link.putTokens(in: db)
                return try IdentitiesTable.linked(link.identity, of: link.user, in: db).map { .wasLinked($0) }
                    ?? .isTaken
            case .live, .moved:
                try AuditTable.insert(link.event(.identityLinkRefused), in: db)
                return .isTaken
            case .unknown:
                guard try IdentitiesTable.count(of: link.user, in: db) < link.limit else { return .tooMany }
                try IdentitiesTable.insert(link.identity, of: link.user, at: link.time, in: db)
                try link.putTokens(in: db)
                try AuditTable.insert(link.event(.identityLinked), in: db)
                return try IdentitiesTable.linked(link.identity, of: link.user, in: db).map { .linked($0) } ?? .isTaken
            }
        }
    }
}

extension IdentityLink {
    fileprivate func putTokens(in db: SQLSession) throws {
        guard let tokens else { return }
        try ProviderTokensTable.put(tokens, of: identity, user, at: time, replacing: false, in: db)
    }

    fileprivate func event(_ kind: AuditEvent.Kind) -> AuditEvent {
        AuditEvent(
            at: time, kind, user: user, by: .user, requestID: requestID,
            details: AuditDetails { json in
                json.add("identity", identity.fingerprint)
                json.add("issuer", identity.issuer)
            })
    }
}
