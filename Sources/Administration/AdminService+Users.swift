import ArgumentParser
import FoundationEssentials
package import LatchkeyService
import Primitives
import Storage
import StorageModel

extension AdminService {
    /// The search for a user: one of these options, or issuer and subject together.
    package struct UserSelection: ParsableArguments {
        @Option(name: .customLong("id"), help: "The user's number.")
        var number: Int64?

        // It may begin with a hyphen, as a subject may.
        @Option(parsing: .unconditional, help: "The public id, which the API returns as zenkey_sub.")
        var publicID: String?

        @Option(help: "The e-mail address, in upper or lower case.")
        var email: String?

        @Option(help: "The phone number as stored.")
        var phone: String?

        @Option(help: "The issuer of an identity; with --subject.")
        var issuer: String?

        @Option(parsing: .unconditional, help: "The subject of an identity; with --issuer.")
        var subject: String?

        package init() {}

        fileprivate func search() throws(AdministratorError) -> UserSearch {
            var searches: [UserSearch] = []
            if let number { searches.append(.number(UserID(number))) }
            if let publicID { searches.append(.publicID(publicID)) }
            if let email { searches.append(.email(email)) }
            if let phone { searches.append(.phoneNumber(phone)) }
            if let issuer, let subject { searches.append(.identity(Identity(issuer: issuer, subject: subject))) }
            guard searches.count == 1, let search = searches.first, (issuer == nil) == (subject == nil) else {
                throw AdministratorError(
                    "give one of --id, --public-id, --email and --phone, or --issuer and --subject")
            }
            return search
        }
    }

    /// The most users that ``find(_:)`` returns.
    private static let maximumFound = 20

    /// The matching users, one line each, without personal data.
    /// - Throws: ``AdministratorError`` for an incomplete search, or if there is no such user.
    package func find(_ selection: UserSelection) async throws -> CommandReport {
        let search = try selection.search()
        let users = try await store.users(search, limit: Self.maximumFound + 1)
        guard !users.isEmpty else { throw AdministratorError("there is no such user") }
        return CommandReport(text: users.map(\.textLine), json: users.map { JSONObjectWriter.text($0.write) })
            .cut(at: Self.maximumFound)
    }

    /// An account: identities, moves, sessions.
    /// - Parameter personal: Adds the profile, and shows subjects instead of fingerprints.
    package func show(_ user: Int64, personal: Bool) async throws -> CommandReport {
        let record = try await account(of: user)
        var lines = [
            "user \(user)", "public_id \(record.user.publicID)", "created \(UTCTime.text(record.user.createdAt))",
            "sessions \(record.sessionCount)",
        ]
        if personal {
            let profile = record.user.profile
            lines += profile.present.compactMap { attribute in
                profile[attribute].map { "\(attribute.rawValue) \($0.debugDescription)" }
            }
        }
        lines += (record.user.assertions?.named ?? []).map { name, verification in
            "\(name) verified since \(UTCTime.text(verification.time)) by \(verification.issuer)"
        }
        lines += record.identities.map { $0.line(personal: personal) }
        lines += record.moves.map { move in
            let undone = move.undoneAt.map { ", undone \(UTCTime.text($0))" } ?? ""
            return "move \(move.number) \(UTCTime.text(move.movedAt))\(undone)"
        }
        return CommandReport(text: lines) { record.write(to: &$0, personal: personal) }
    }

    /// Undoes the move of an account, or reports what that would do.
    /// - Parameters:
    ///   - number: The user's move; nil for the last that was not undone.
    ///   - reason: For the audit log, at most 280 characters.
    package func undoMigration(
        of user: Int64, move number: Int64?, reason: String?, applies: Bool
    ) async throws -> CommandReport {
        try check(reason)
        let record = try await account(of: user)
        guard let number = number ?? record.moves.last(where: { $0.undoneAt == nil })?.number else {
            throw AdministratorError("user \(user) has no migration to undo")
        }
        let (now, id) = (clock.now(), UserID(user))
        let undone = try await store.undoMove(
            number, of: id, at: now, by: .operating(Self.operatorName), reason: reason, applies: applies
        ).get()
        let lines = [
            "move \(number) of \(UTCTime.text(undone.move.movedAt)) \(applies ? "was" : "would be") undone:",
            "  user \(user) signs in with \(undone.former.name) again,",
            "  and no longer with \(undone.present.name);", "  sessions ended: \(record.sessionCount).",
        ]
        return report(lines, applies: applies) { json in
            json.add("user_id", user)
            json.add("move", number)
            json.add("identity", object: undone.former.write)
            json.add("former_identity", object: undone.present.write)
            json.add("sessions_ended", record.sessionCount)
        }
    }

    func account(of user: Int64) async throws -> AccountRecord {
        guard let record = try await store.account(of: UserID(user)) else {
            throw AdministratorError("there is no user \(user)")
        }
        return record
    }
}

extension Identity {
    /// Without the subject.
    var name: String { "\(fingerprint.prefix(16))… of \(issuer)" }

    /// Without the subject.
    func write(to json: inout JSONObjectWriter) {
        json.add("issuer", issuer)
        json.add("fingerprint", fingerprint)
    }
}

extension User {
    fileprivate var textLine: String {
        "user \(id.number) public_id=\(publicID) created=\(UTCTime.text(createdAt))"
    }

    fileprivate func write(to json: inout JSONObjectWriter) {
        json.add("user_id", id.number)
        json.add("public_id", publicID)
        json.add("created_at", UTCTime.text(createdAt))
    }
}

extension AccountRecord {
    fileprivate func write(to json: inout JSONObjectWriter, personal: Bool) {
        user.write(to: &json)
        json.add("sessions", sessionCount)
        if personal {
            json.add("profile") { json in
                for attribute in user.profile.present {
                    if let value = user.profile[attribute] { json.add(named: attribute.rawValue, value) }
                }
            }
        }
        json.add("verified") { json in
            for (name, verification) in user.assertions?.named ?? [] {
                json.add(named: name) { json in
                    json.add("since", UTCTime.text(verification.time))
                    json.add("issuer", verification.issuer)
                }
            }
        }
        json.add("identities", objects: identities) { kept, json in
            kept.identity.write(to: &json)
            if personal { json.add("subject", kept.identity.subject) }
            json.add("since", UTCTime.text(kept.createdAt))
            if let move = kept.arrivedBy { json.add("arrived_by_move", move) }
            if let move = kept.movedBy { json.add("left_by_move", move) }
        }
        json.add("moves", objects: moves) { move, json in
            json.add("move", move.number)
            json.add("moved_at", UTCTime.text(move.movedAt))
            json.add("undone_at", ifPresent: move.undoneAt.map(UTCTime.text))
        }
    }
}

extension IdentitiesTable.Row {
    fileprivate func line(personal: Bool) -> String {
        let name = personal ? "\(identity.subject) of \(identity.issuer)" : identity.name
        let arrival = arrivedBy.map { ", came by move \($0)" } ?? ""
        let departure = movedBy.map { ", left by move \($0)" } ?? ""
        return "identity \(name) since \(UTCTime.text(createdAt))\(arrival)\(departure)"
    }
}

extension ProviderAssertions {
    /// Which values are verified, without the values.
    fileprivate var named: [(name: String, verification: Verification)] {
        [("email", email), ("phone_number", phoneNumber)].compactMap { name, verification in
            verification.map { (name, $0) }
        }
    }
}

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
