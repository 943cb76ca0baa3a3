import Primitives
import StorageModel

/// The table `identities` as its users see it: without those that an account was moved away from, which sign nobody in.
extension IdentitiesTable {
    /// What a user can sign in with, the oldest first. Gives an id to those that have none yet.
    static func identities(of user: UserID, in db: SQLSession) throws -> [LinkedIdentity] {
        var naming = try CachedStatement(db, db.isPostgres ? giveIDsOnPostgres : giveIDs)
        naming.bind(user.number)
        try naming.run()
        var query = try CachedStatement(db, selectIdentities)
        query.bind(user.number)
        var identities: [LinkedIdentity] = []
        while try query.next() {
            identities.append(
                LinkedIdentity(
                    id: try query.requiredText(0), issuer: try query.requiredText(1),
                    createdAt: Timestamp(secondsSinceEpoch: query.number(2))))
        }
        return identities
    }

    static func identity(id: String, of user: UserID, in db: SQLSession) throws -> Identity? {
        var query = try CachedStatement(db, selectIdentity)
        query.bind(user.number)
        query.bind(id)
        guard try query.next() else { return nil }
        return Identity(issuer: try query.requiredText(0), subject: try query.requiredText(1))
    }

    /// One of a user's, as the user sees it; nil if it is not the user's.
    static func linked(_ identity: Identity, of user: UserID, in db: SQLSession) throws -> LinkedIdentity? {
        var naming = try CachedStatement(db, db.isPostgres ? giveIDsOnPostgres : giveIDs)
        naming.bind(user.number)
        try naming.run()
        var query = try CachedStatement(db, selectLinked)
        query.bind(user.number)
        query.bind(identity.issuer)
        query.bind(identity.subject)
        guard try query.next() else { return nil }
        return LinkedIdentity(
            id: try query.requiredText(0), issuer: identity.issuer,
            createdAt: Timestamp(secondsSinceEpoch: query.number(1)))
    }

    /// How many a user can sign in with.
    static func count(of user: UserID, in db: SQLSession) throws -> Int64 {
        var query = try CachedStatement(db, countIdentities)
        query.bind(user.number)
        return try query.next() ? query.number(0) : 0
    }

    /// Those that a user's account was moved away from until it came to an identity: whoever had them is who has it now.
    static func ported(into identity: Identity, of user: UserID, in db: SQLSession) throws -> [Identity] {
        let rows = try rows(of: user, in: db)
        var found: [Identity] = []
        var move = try row(identity, in: db)?.arrivedBy
        while let number = move, found.count < rows.count, let row = rows.first(where: { $0.movedBy == number }) {
            found.append(row.identity)
            move = row.arrivedBy
        }
        return found
    }

    private static let live = "user_id = ? AND moved_by IS NULL"
    // The ids are no secrets: they are looked for among the user's own only.
    private static let giveIDs =
        "UPDATE identities SET id = lower(hex(randomblob(16))) WHERE \(live) AND id IS NULL"
    private static let giveIDsOnPostgres =
        "UPDATE identities SET id = replace(gen_random_uuid()::text, '-', '') WHERE \(live) AND id IS NULL"
    private static let selectIdentities =
        "SELECT id, issuer, created_at FROM identities WHERE \(live) ORDER BY created_at, id"
    private static let selectIdentity = "SELECT issuer, subject FROM identities WHERE \(live) AND id = ?"
    private static let selectLinked =
        "SELECT id, created_at FROM identities WHERE \(live) AND issuer = ? AND subject = ?"
    private static let countIdentities = "SELECT count(*) FROM identities WHERE \(live)"
}
