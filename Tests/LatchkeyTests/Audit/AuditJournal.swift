import ArgumentParser
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import Logging
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import AuditSeals
@testable import PostgreSQL

/// An audit log with its sealer, as a server has it.
final class AuditJournal: Sendable {
    let directory: TemporaryDirectory
    let clock: ManualClock
    let configuration: Configuration
    let store: SQLStore
    let keys: SigningKeys
    let sealer: AuditSealer
    let log: CapturedLog
    /// So few that a test of several seals needs few events.
    private static let eventsOfSeal = 256
    /// Nil for SQLite.
    private let database: PostgresURL?

    var path: String { directory.file("latchkey.db") }

    init(
        in given: TemporaryDirectory? = nil, postgres: String? = nil,
        sealing maximumEvents: Int = AuditJournal.eventsOfSeal, change: (inout Configuration) -> Void = { _ in }
    ) async throws {
        let directory = try given ?? TemporaryDirectory()
        let (clock, log) = (ManualClock(), CapturedLog())
        var configuration = Configuration()
        configuration.database.url = DatabaseURL(path: directory.file("latchkey.db"))
        configuration.encryptionKeys = EncryptionKey.of(String(repeating: "07", count: 32))
        change(&configuration)
        let store = try Self.open(directory, postgres)
        let keys = Self.keys(configuration, store, clock, log)
        sealer = AuditSealer(
            store: store, keys: keys, retention: configuration.auditRetention, maximumEvents: maximumEvents,
            clock: clock.wallClock, logger: log.logger)
        (self.directory, self.clock, self.log) = (directory, clock, log)
        database = try postgres.map { try #require(PostgresURL(Secret($0))) }
        (self.configuration, self.store, self.keys) = (configuration, store, keys)
        // The log is empty, although the signing key's addition was recorded.
        guard try await store.signingKeys().isEmpty else { return }
        try await keys.maintain()
        let empty = "DELETE FROM audit_events"
        if let postgres {
            try PostgresCluster.shared().execute(empty, on: postgres)
        } else {
            try self.change(empty)
        }
    }

    /// Another instance on the same database.
    func another(encryptedWith encryptionKeys: [EncryptionKey]? = nil) -> (keys: SigningKeys, sealer: AuditSealer) {
        var configuration = configuration
        if let encryptionKeys { configuration.encryptionKeys = encryptionKeys }
        let keys = Self.keys(configuration, store, clock, log)
        let sealer = AuditSealer(
            store: store, keys: keys, retention: configuration.auditRetention, maximumEvents: Self.eventsOfSeal,
            clock: clock.wallClock, logger: log.logger)
        return (keys, sealer)
    }

    private static func open(_ directory: TemporaryDirectory, _ postgres: String?) throws -> SQLStore {
        if let postgres {
            return try PostgresConfiguration(url: Secret(postgres), poolSize: 4).open(observer: nil)
        }
        return try SQLStore(
            configuration: SQLiteConfiguration(path: directory.file("latchkey.db"), synchronous: .normal))
    }

    private static func keys(
        _ configuration: Configuration, _ store: SQLStore, _ clock: ManualClock, _ log: CapturedLog
    ) -> SigningKeys {
        var signIn = SignInConfiguration()
        signIn.signingKeys.encryptionKeys = configuration.encryptionKeys
        let useCases = UseCases(
            providers: Providers(), configuration: signIn, store: store, logger: log.logger, clock: clock.wallClock)
        return useCases.signingKeys
    }

    /// Adds events, a second apart, of users in turn.
    func add(_ count: Int, users: Int = 3, kind: String = "test.done") async throws {
        for number in 0..<count {
            clock.advance(bySeconds: 1)
            try await store.addAuditEvent(
                AuditEvent(
                    at: clock.now, AuditEvent.Kind(kind), user: UserID(Int64(number % users + 1)), by: .user,
                    requestID: number % 2 == 0 ? "request-\(number)" : nil,
                    details: AuditDetails { $0.add("number", number) }))
        }
    }

    /// Adds events as a version without seals did, all at once.
    func addPlain(_ count: Int) throws {
        try change(
            """
            INSERT INTO audit_events (time, kind, user_id, actor, request_id, details)
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            SELECT \(clock.now.secondsSinceEpoch) + i, 'test.' || (i % 7), i % 11, 'user', 'request-' || i,
                '{"number":' || i || '}' FROM n
            """)
    }

    /// Changes the database as an attacker does: without the triggers.
    func attack(_ sql: String) throws {
        try change("DROP TRIGGER IF EXISTS audit_events_stay_as_they_are")
        try change("DROP TRIGGER IF EXISTS audit_seals_stay_as_they_are")
        try change(sql)
    }

    func change(_ sql: String) throws { try DatabaseProbe(path: path).change(sql) }

    func number(_ sql: String) throws -> Int64 { try DatabaseProbe(path: path).number(sql) }

    /// The number and the digest of the newest seal, as an operator keeps them.
    func newest() async throws -> String {
        let seal = try #require(try await store.newestAuditSeal())
        return "\(seal.number):\(seal.digest)"
    }

    /// What `latchkey audit verify` finds and prints.
    func verify(
        expecting expected: String? = nil, vouchingFor keys: [String] = [],
        encryptedWith encryptionKeys: [EncryptionKey]? = nil
    ) async throws -> (lines: [String], failure: String?) {
        var configuration = configuration
        if let encryptionKeys { configuration.encryptionKeys = encryptionKeys }
        if let database { configuration.database.url = .postgres(database) }
        let proof = try AdminService.AuditProof.parse(
            (expected.map { ["--expect=\($0)"] } ?? []) + keys.map { "--key=\($0)" })
        let admin = try AdminService(configuration, features: .standard, clock: clock.wallClock)
        var lines: [String] = []
        var failure: String?
        do {
            let report = try await admin.perform { try await $0.verifyAudit(configuration, proof) }
            lines = report.text
            failure = report.failure?.description
        } catch {
            failure = "\(error)"
        }
        return (lines, failure)
    }
}
