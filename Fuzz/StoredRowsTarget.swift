import Dispatch
import Foundation
import Primitives
import StorageModel

@testable import Administration
@testable import Backchannel
@testable import ProviderLogout
@testable import ProviderResources
@testable import Registration
@testable import Storage

#if canImport(Glibc)
    import Glibc
#endif

/// The bytes as rows of a damaged database, one after the other: the number of a table, then the value of each of its
/// columns. A value is 0 for NULL, 1 for a usual value, by which rows are looked up, or anything else for a value of
/// its own: 8 bytes of a number, or a byte of length and as many bytes.
enum StoredRowsTarget {
    private static let now = Timestamp(secondsSinceEpoch: 1000)
    private static let number: Int64 = 1
    private static let text = "a"
    private static let bytes = [UInt8](repeating: 7, count: 32)

    private struct Place: Sendable {
        let store: SQLStore
        let tables: [TableShape]
        /// Writes what SQLite's own checks allow, foreign keys aside.
        let raw: SQLiteConnection
    }

    /// In a folder of its own in memory, which the process leaves behind if it crashes.
    private static let place: Place = {
        var template = Array("/dev/shm/latchkey-fuzz-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { fatalError("there is no folder for a database") }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        do {
            let store = try SQLStore(
                configuration: SQLiteConfiguration(path: path + "/latchkey.db", synchronous: .normal))
            let raw = try SQLiteConnection(
                path + "/latchkey.db", enforcesForeignKeys: false, settings: ["PRAGMA synchronous = OFF"])
            return Place(store: store, tables: try TableShape.all(), raw: raw)
        } catch {
            fatalError("the database cannot be made: \(error)")
        }
    }()

    /// Makes the database, which may take longer than an input.
    static func prepare() { _ = place }

    static func read(_ input: [UInt8]) {
        guard write(input) else { return }
        let isRead = DispatchSemaphore(value: 0)
        Task {
            await readAll(place.store)
            isRead.signal()
        }
        isRead.wait()
    }

    /// Makes the rows the only ones; false if SQLite refuses them.
    private static func write(_ input: [UInt8]) -> Bool {
        var rest = input[...]
        let db = place.raw
        do {
            try db.execute("BEGIN IMMEDIATE")
            for table in place.tables { try db.execute("DELETE FROM \(table.name)") }
            while let first = rest.popFirst() {
                let table = place.tables[Int(first) % place.tables.count]
                let marks = table.columns.map { _ in "?" }.joined(separator: ", ")
                var statement = try CachedStatement(
                    db.session, "INSERT OR REPLACE INTO \(table.name) (\(table.columnNames)) VALUES (\(marks))")
                for column in table.columns { value(&rest, of: column.kind).bind(to: &statement) }
                try statement.run()
            }
            try db.execute("COMMIT")
            return true
        } catch {
            if db.isInTransaction { try? db.execute("ROLLBACK") }
            return false
        }
    }

    private static func value(_ rest: inout ArraySlice<UInt8>, of kind: TableShape.Kind) -> any SQLValue {
        guard let first = rest.popFirst(), first != 0 else { return Int64?.none }
        guard first != 1 else {
            switch kind {
            case .integer: return number
            case .text: return text
            case .blob: return bytes
            }
        }
        if kind == .integer {
            let digits = rest.prefix(8)
            rest = rest.dropFirst(8)
            return digits.reduce(Int64(0)) { $0 << 8 | Int64($1) }
        }
        let content = Array(rest.dropFirst().prefix(Int(rest.first ?? 0)))
        rest = rest.dropFirst(1 + content.count)
        return kind == .blob ? content : String(decoding: content, as: UTF8.self)
    }

    /// A read of a damaged row gives a value or an error.
    private static func attempt(_ read: () async throws(StorageError) -> Void) async {
        do throws(StorageError) {
            try await read()
        } catch {
            demand(error.code == .corrupt, "a damaged row is reported as such")
            demand(!error.reason.isEmpty, "a damaged row has a reason")
        }
    }

    private static func readAll(_ store: SQLStore) async {
        guard let hash = TokenHash(bytes) else { return }
        let (user, identity) = (UserID(number), Identity(issuer: text, subject: text))
        await attempt { () throws(StorageError) in
            guard let found = try await store.session(hash, at: now) else { return }
            demand(found.session.userID == found.user.id, "a session is of its user")
            demand(found.session.expiresAt > now, "a session that has ended is not found")
        }
        await attempt { () throws(StorageError) in
            _ = try await store.refreshToken(RefreshTokenHashes(token: hash, family: hash), at: now)
        }
        await attempt { () throws(StorageError) in
            let searches: [UserSearch] = [.number(user), .publicID(text), .email(text), .identity(identity)]
            for search in searches { _ = try await store.users(search, limit: 10) }
        }
        await attempt { () throws(StorageError) in _ = try await store.account(of: user) }
        await attempt { () throws(StorageError) in _ = try await store.identities(of: user) }
        await attempt { () throws(StorageError) in _ = try await store.statuses(of: [identity]) }
        await attempt { () throws(StorageError) in _ = try await store.sessions(of: user, at: now, limit: 10) }
        await attempt { () throws(StorageError) in _ = try await store.idToken(ofSession: text, of: user) }
        await attempt { () throws(StorageError) in
            _ = try await store.undoMove(
                number, of: user, at: now, by: .operating("admin"), reason: nil, applies: false)
        }
        await attempt { () throws(StorageError) in _ = try await store.pendingRegistration(hash, at: now) }
        await attempt { () throws(StorageError) in _ = try await store.backchannelAuthentication(handle: hash, at: now)
        }
        await attempt { () throws(StorageError) in
            _ = try await store.providerTokens(of: user, provider: text, clientID: text)
        }
        await attempt { () throws(StorageError) in _ = try await store.recentSignIn(bytes, at: now) }
        await attempt { () throws(StorageError) in _ = try await store.recentSignIns(at: now, limit: 10) }
        await attempt { () throws(StorageError) in _ = try await store.apiKeysWithRevoked(limit: 10) }
        await attempt { () throws(StorageError) in _ = try await store.auditEvents(AuditQuery(user: user)) }
        await attempt { () throws(StorageError) in _ = try await store.signingKeys() }
        await attempt { () throws(StorageError) in _ = try await store.knownIssuer(of: text, text) }
        await attempt { () throws(StorageError) in
            _ = try await store.claims(notUnder: text, after: UserID(0), limit: 10)
        }
        await attempt { () throws(StorageError) in
            _ = try await store.takeOneTimeRecord(hash, purpose: text, at: now)
        }
        await attempt { () throws(StorageError) in
            _ = try await store.writes.submit { db in
                try db.first("SELECT redeemed_at IS NOT NULL FROM receipts WHERE receipt_hash = ?", hash) {
                    $0.number(0)
                }
            }
        }
    }
}
