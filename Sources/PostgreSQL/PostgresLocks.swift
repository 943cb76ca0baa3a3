import Storage
import StorageModel

extension PostgresConnection {
    /// Takes locks until the transaction ends, with the next statement that has a result: those of rules in one order,
    /// then those of users in the order of their numbers. So transactions do not wait for each other's locks.
    func lock(_ locks: [WriteLock]) throws {
        var rules: Set<Int64> = []
        var (users, identities, numbers): ([UserID], [Identity], [String]) = ([], [], [])
        for lock in locks {
            switch lock {
            case .rule(let name): rules.insert(Self.key(of: name))
            case .user(let user): users.append(user)
            case .holder(let issuer, let subject): identities.append(Identity(issuer: issuer, subject: subject))
            case .phoneNumber(let number):
                rules.insert(Self.key(of: "phone number \(number)"))
                numbers.append(number)
            }
        }
        let db = SQLSession.postgres(self)
        if !rules.isEmpty {
            // With the number of a table, because a database may have the tables of several services.
            var statement = try CachedStatement(
                db, "SELECT pg_advisory_xact_lock(key # 'users'::regclass::oid::bigint) FROM unnest((SELECT ?)) AS key")
            statement.bindRows(rules.sorted()) { $1.bind($0) }
            try statement.perform()
        }
        var sources: [String] = []
        if !users.isEmpty { sources.append("SELECT unnest((SELECT ?))") }
        if !identities.isEmpty {
            sources.append(
                """
                SELECT user_id FROM unnest((SELECT ?), ?) AS named (issuer, subject), \
                LATERAL (SELECT user_id FROM identities \
                WHERE identities.issuer = named.issuer AND identities.subject = named.subject OFFSET 0) AS found
                """)
        }
        if !numbers.isEmpty {
            sources.append(
                """
                SELECT id FROM unnest((SELECT ?)) AS number, \
                LATERAL (SELECT id FROM users WHERE \(ReassignedNumber.isVerified("= number")) OFFSET 0) AS found
                """)
        }
        guard !sources.isEmpty else { return }
        // Each row by itself, so that the plan uses the index, whatever the table had when it was made. Arrays are read
        // in subqueries: with their lengths, PostgreSQL would plan each time.
        var statement = try CachedStatement(
            db,
            """
            SELECT 1 FROM (\(sources.joined(separator: " UNION ")) ORDER BY 1) AS wanted (id), \
            LATERAL (SELECT 1 FROM users WHERE users.id = wanted.id FOR NO KEY UPDATE) AS locked
            """)
        if !users.isEmpty { statement.bindRows(users) { $0.bind(to: &$1) } }
        if !identities.isEmpty { statement.bindRows(identities) { $0.bind(to: &$1) } }
        if !numbers.isEmpty { statement.bindRows(numbers) { $1.bind($0) } }
        try statement.perform()
    }

    /// The key of a rule's lock, by the bytes of its name.
    private static func key(of rule: String) -> Int64 {
        Int64(bitPattern: TokenHash(sha256Of: rule).number.littleEndian)
    }
}
