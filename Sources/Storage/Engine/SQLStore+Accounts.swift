public import StorageModel

extension SQLStore {
    /// The users that a search finds, at most `limit`, the oldest first. Searches by e-mail address, phone number and
    /// public id go through all users: they are for operators, who seldom ask.
    public func users(_ search: UserSearch, limit: Int) async throws(StorageError) -> [User] {
        try await reads.submit { db in try UsersTable.users(search, limit: limit, in: db) }
    }

    /// All that is on record of a user; nil if there is none.
    public func account(of user: UserID) async throws(StorageError) -> AccountRecord? {
        try await reads.submit { db in
            guard let found = try UsersTable.user(user, in: db) else { return nil }
            let identities = try IdentitiesTable.rows(of: user, in: db).map { row in
                AccountRecord.KeptIdentity(
                    identity: row.identity, createdAt: row.createdAt, arrivedBy: row.arrivedBy, movedBy: row.movedBy)
            }
            return AccountRecord(
                user: found, identities: identities, moves: try IdentityMovesTable.moves(of: user, in: db),
                sessionCount: try SessionsTable.count(of: user, in: db))
        }
    }
}

extension UsersTable {
    static func users(_ search: UserSearch, limit: Int, in db: SQLSession) throws -> [User] {
        var query = try CachedStatement(
            db, "SELECT \(columns) FROM users WHERE \(condition(search)) ORDER BY id LIMIT ?")
        switch search {
        case .number(let user): query.bind(user.number)
        case .publicID(let text), .phoneNumber(let text): query.bind(text)
        case .email(let text): query.bind(text.lowercasedASCII)
        case .identity(let identity):
            query.bind(identity.issuer)
            query.bind(identity.subject)
        }
        query.bind(Int64(limit))
        var users: [User] = []
        while try query.next() { users.append(try user(in: query)) }
        return users
    }

    private static func condition(_ search: UserSearch) -> String {
        switch search {
        case .number: "id = ?"
        case .publicID: "public_id = ?"
        case .email: "lower(email) = ?"
        case .phoneNumber: "phone_number = ?"
        case .identity: "id = (SELECT user_id FROM identities WHERE issuer = ? AND subject = ?)"
        }
    }
}

extension SessionsTable {
    static func count(of user: UserID, in db: SQLSession) throws -> Int {
        var query = try CachedStatement(db, "SELECT count(*) FROM sessions WHERE user_id = ?")
        query.bind(user.number)
        return try query.next() ? Int(query.number(0)) : 0
    }
}

extension String {
    /// As the databases' `lower` makes it, which leaves other letters than ASCII's alone.
    fileprivate var lowercasedASCII: String {
        String(decoding: utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
