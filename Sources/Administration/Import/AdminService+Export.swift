package import LatchkeyService
import Primitives
package import Storage
package import StorageModel

/// An identity that signs a user in: a line of `latchkey users export-all`, which `latchkey users import` reads.
package struct ExportedUser: Sendable, Hashable {
    package let user: User
    /// Nil if none signs the user in.
    package let identity: Identity?

    /// The JSON object; nil without an identity. A value is verified by the word of this identity's issuer.
    package var json: String? {
        guard let identity else { return nil }
        return JSONObjectWriter.text { json in
            json.add("issuer", identity.issuer)
            json.add("subject", identity.subject)
            for attribute in user.profile.present {
                if let value = user.profile[attribute] { json.add(named: attribute.rawValue, value) }
            }
            if user.assertions?.email?.issuer == identity.issuer { json.add("email_verified", true) }
            if user.assertions?.phoneNumber?.issuer == identity.issuer { json.add("phone_number_verified", true) }
            json.add("created_at", UTCTime.text(user.createdAt))
        }
    }
}

extension SQLStore {
    /// The users after a number, in the order of their numbers, each with all identities.
    /// - Parameter limit: The most users.
    package func exportUsers(after user: UserID, limit: Int) async throws(StorageError) -> [ExportedUser] {
        try await reads.submit { db in
            try db.all(
                """
                SELECT \(UsersTable.columns), identities.issuer, identities.subject \
                FROM (SELECT id FROM users WHERE id > ? ORDER BY id LIMIT ?) AS page \
                JOIN users ON users.id = page.id \
                LEFT JOIN identities ON identities.user_id = users.id AND identities.moved_by IS NULL \
                ORDER BY users.id, identities.created_at, identities.issuer, identities.subject
                """, user, Int64(limit)
            ) { row in
                let issuer = UsersTable.columnCount
                return ExportedUser(
                    user: try UsersTable.user(in: row),
                    identity: row.isNull(issuer) ? nil : try row.identity(from: issuer))
            }
        }
    }
}

extension AdminService {
    /// Writes all identities with the profiles of their users, and an audit event before.
    /// - Parameter write: Receives some lines at a time, each with its line feed.
    /// - Returns: How many lines there were.
    package func exportUsers(
        reason: String?, pageSize: Int = 1000, _ write: (String) throws -> Void
    ) async throws -> Int {
        try check(reason)
        let event = event(.usersExported) { $0.add("reason", ifPresent: reason) }
        try await store.writes.submit { db in try AuditTable.insert(event, in: db) }
        var (count, last) = (0, UserID(0))
        while true {
            let page = try await store.exportUsers(after: last, limit: pageSize)
            guard let end = page.last else { return count }
            last = end.user.id
            let lines = page.compactMap(\.json)
            count += lines.count
            try write(lines.map { $0 + "\n" }.joined())
        }
    }
}

extension AuditEvent.Kind {
    static let usersExported = AuditEvent.Kind("users.exported")
}
