import Primitives
package import StorageModel

extension SQLStore {
    package func signIn(_ signIn: SignInRecord) async throws(StorageError) -> SignedInUser? {
        let batched = isShared && signIn.isOrdinary ? BatchedSignIn(signIn) : nil
        let delay = batched == nil ? signIn.commitDelay : max(signIn.commitDelay, CommitDelay.shared)
        return try await writes.submit(locking: signIn.locks, allowing: delay, sharing: batched) { [isShared] db in
            if let result = batched?.output { return result }
            var former: [OneTimeRecord] = []
            if let use = signIn.tokenUse {
                guard let found = try OneTimeRecordsTable.use(use, at: signIn.session.createdAt, in: db) else {
                    return nil
                }
                former = found
            }
            guard let (user, retry) = try Self.signedIn(by: signIn, isShared: isShared, in: db) else {
                if let use = signIn.tokenUse { try OneTimeRecordsTable.undo(use, of: former, in: db) }
                return nil
            }
            var signedIn = user
            if let number = signIn.provenPhoneNumber {
                signedIn.formerHolders = try ReassignedNumber.endVerifications(
                    of: number, nowOf: signedIn.user.id, signIn.identity, at: signIn.session.createdAt,
                    requestID: signIn.requestID, in: db)
            }
            try Self.addSession(of: signIn, for: signedIn, retry, in: db)
            return signedIn
        }
    }

    /// Adds the session of a sign-in, with the provider's tokens.
    package static func addSession(
        of signIn: SignInRecord, for user: SignedInUser, _ retry: RecentSignIn? = nil, in db: SQLSession
    ) throws {
        try SessionsTable.insert(
            signIn.session, for: user.user.id, by: signIn.identity, signIn.providerSession, retry,
            isNewUser: user.isNew, requestID: signIn.requestID, in: db)
        try storeTokens(of: signIn, for: user.user.id, in: db)
    }

    package static func storeTokens(of signIn: SignInRecord, for user: UserID, in db: SQLSession) throws {
        guard let tokens = signIn.tokens else { return }
        try ProviderTokensTable.put(tokens, of: signIn.identity, user, at: signIn.session.createdAt, in: db)
    }

    /// The user of an identity that signs in, whom the sign-in may create or move; nil if it is refused. With the
    /// number of times that sessions of the user were ended. The session is to be added in the same transaction, with
    /// ``addSession(of:for:_:in:)``.
    package static func user(
        for signIn: SignInRecord, in db: SQLSession
    ) throws -> (SignedInUser, endings: Int64)? {
        let holder = try UsersTable.lockedHolder(of: signIn.identity, in: db)
        if case .user(var found, let endings) = holder {
            let isChanged = try UsersTable.update(&found, by: signIn, in: db)
            return (SignedInUser(user: found.user, isNew: false, isChanged: isChanged), endings)
        }
        if let moved = try AccountMove.move(for: signIn, in: db),
            case .user(var found, let endings) = try UsersTable.lockedHolder(of: signIn.identity, in: db),
            found.user.id == moved
        {
            let isChanged = try UsersTable.update(&found, by: signIn, wasMoved: true, in: db)
            return (SignedInUser(user: found.user, isNew: false, wasMoved: true, isChanged: isChanged), endings)
        }
        if case .formerUser(let owner) = holder {
            try AuditTable.insert(refusal(of: signIn, owner), in: db)
            return nil
        }
        guard case .welcome(let publicID) = signIn.newcomers else { return nil }
        let profile = signIn.profile ?? Profile()
        let user = try UsersTable.insert(
            signIn.identity, publicID: publicID, profile: profile, asserted: profile, signIn.verified,
            claims: signIn.claims?(publicID, nil), at: signIn.session.createdAt, in: db)
        return (SignedInUser(user: user, isNew: true), 0)
    }

    /// The user who signs in, and what the session's row keeps for a retry; in a shared store, stores it in a row of
    /// its own. Nil if the sign-in is refused.
    private static func signedIn(
        by signIn: SignInRecord, isShared: Bool, in db: SQLSession
    ) throws -> (SignedInUser, RecentSignIn?)? {
        guard let (user, endings) = try user(for: signIn, in: db) else { return nil }
        guard let record = signIn.idempotency else { return (user, nil) }
        if let known = record.endings, known != endings { return nil }
        var signedIn = user
        let given = GivenSession(id: signIn.session.id, user: user.user.id, endings: endings)
        signedIn.given = given
        let recent = RecentSignIn(key: record.key, session: given, endsAt: record.endsAt)
        guard isShared else { return (signedIn, recent) }
        return try RecentSignInsTable.put(recent, in: db) ? (signedIn, nil) : nil
    }

    private static func refusal(of signIn: SignInRecord, _ owner: UserID) -> AuditEvent {
        AuditEvent(
            at: signIn.session.createdAt, .movedIdentityRefused, user: owner, by: .user, requestID: signIn.requestID,
            details: AuditDetails { json in
                json.add("issuer", signIn.identity.issuer)
                json.add("identity", signIn.identity.fingerprint)
            })
    }
}

extension SignInRecord {
    /// What a write with ``SQLStore/user(for:in:)`` locks.
    package var locks: [WriteLock] {
        var locks = [WriteLock.holder(of: identity)]
        locks += portedFrom.map { .holder(of: $0.identity) }
        if let provenPhoneNumber { locks.append(.phoneNumber(provenPhoneNumber)) }
        return locks
    }

    /// Whether it changes no other user and uses nothing up, so that it can share its statements with others.
    fileprivate var isOrdinary: Bool { portedFrom.isEmpty && provenPhoneNumber == nil && tokenUse == nil }
}
