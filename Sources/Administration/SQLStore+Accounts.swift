import Primitives
import Storage
import StorageModel

/// An administrator's search for users.
enum UserSearch: Sendable, Hashable {
    case number(UserID)
    case publicID(String)
    /// Ignores the case of ASCII letters.
    case email(String)
    case phoneNumber(String)
    /// Also an identity that an account was moved from.
    case identity(Identity)
}

/// All that is stored of an account, for an administrator.
struct AccountRecord: Sendable, Hashable {
    let user: User
    /// In the order they were added, with those that the account was moved from.
    let identities: [IdentitiesTable.Row]
    /// The first one first.
    let moves: [IdentityMove]
    /// The number of the account's sessions.
    let sessionCount: Int
}

extension SQLStore {
    /// The users that a search finds, at most `limit`, the oldest first. A search by e-mail address, phone number or
    /// public id reads all users: administrators need it rarely.
    func users(_ search: UserSearch, limit: Int) async throws(StorageError) -> [User] {
        try await reads.submit { db in
            func users<each Value: SQLValue>(_ condition: String, _ values: repeat each Value) throws -> [User] {
                try db.all(
                    "SELECT \(UsersTable.columns) FROM users WHERE \(condition) ORDER BY id LIMIT ?",
                    repeat each values, Int64(limit)
                ) { try UsersTable.user(in: $0) }
            }
            return switch search {
            case .number(let user): try users("id = ?", user)
            case .publicID(let text): try users("public_id = ?", text)
            case .email(let text): try users("lower(email) = ?", text.lowercasedASCII)
            case .phoneNumber(let text): try users("phone_number = ?", text)
            case .identity(let identity):
                try users("id = (SELECT user_id FROM identities WHERE issuer = ? AND subject = ?)", identity)
            }
        }
    }

    /// All that is stored of a user; nil if there is none.
    func account(of user: UserID) async throws(StorageError) -> AccountRecord? {
        try await reads.submit { db in
            guard let found = try UsersTable.user(user, in: db) else { return nil }
            return AccountRecord(
                user: found, identities: try IdentitiesTable.rows(of: user, in: db),
                moves: try IdentityMovesTable.moves(of: user, in: db),
                sessionCount: Int(try db.number("SELECT count(*) FROM sessions WHERE user_id = ?", user)))
        }
    }
}
