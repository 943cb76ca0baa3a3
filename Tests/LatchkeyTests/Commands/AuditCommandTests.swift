import ArgumentParser
import Foundation
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

/// The audit log as operators read it.
@Suite struct AuditCommandTests {
    private let directory: TemporaryDirectory
    private let clock = ManualClock()
    private var configuration = Configuration()

    init() throws {
        directory = try TemporaryDirectory()
        configuration.database.url = DatabaseURL(path: directory.file("latchkey.db"))
    }

    /// Three events: a day ago, an hour ago and now.
    private func fill() async throws {
        let store = try SQLStore(configuration: SQLiteConfiguration(path: directory.file("latchkey.db")))
        for (ago, kind, user) in [(86_400, "user.made", 1), (3_600, "user.made", 2), (0, "user.erased", 1)] {
            try await store.addAuditEvent(
                AuditEvent(
                    at: clock.now.advanced(bySeconds: Int64(-ago)), AuditEvent.Kind(kind), user: UserID(Int64(user)),
                    by: .user, requestID: "r-\(ago)", details: AuditDetails { $0.add("note", "a \"b\"") }))
        }
        try await store.close()
    }

    private func lines(
        _ options: String..., as lines: KeyPath<CommandReport, [String]> = \.text
    ) async throws -> [String] {
        let admin = try AdminService(configuration, features: .none, clock: clock.wallClock)
        let selection = try AdminService.AuditSelection.parse(options)
        return try await admin.perform { try await $0.audit(selection) }[keyPath: lines]
    }

    @Test("Events are printed oldest first, as text and as JSON")
    func printed() async throws {
        try await fill()
        #expect(
            try await lines() == [
                #"2027-01-14T08:00:00Z #1 user.made user=1 by=user request=r-86400 {"note":"a \"b\""}"#,
                #"2027-01-15T07:00:00Z #2 user.made user=2 by=user request=r-3600 {"note":"a \"b\""}"#,
                #"2027-01-15T08:00:00Z #3 user.erased user=1 by=user request=r-0 {"note":"a \"b\""}"#,
            ])
        let line =
            #"{"serial":3,"time":"2027-01-15T08:00:00Z","kind":"user.erased","user_id":1,"actor":"user","#
            + #""request_id":"r-0","details":{"note":"a \"b\""}}"#
        #expect(try await lines("--limit", "1", as: \.json) == [line])
    }

    @Test("A kind that is neither known nor recorded is an error that lists the kinds; a known one may have no event")
    func kinds() async throws {
        try await fill()
        #expect(try await lines("--kind", "identity.moved").isEmpty)
        #expect(try await lines("--kind", "user.made").count == 2, "of another version")
        let error = try await #require(throws: AdministratorError.self) { try await lines("--kind", "nosuch") }
        #expect(error.description.hasPrefix("there is no kind of event “nosuch”; the kinds are api_key.created, "))
        // Also if nothing matches for another reason.
        await #expect(throws: AdministratorError.self) {
            try await lines("--kind", "nosuch", "--user", "99")
        }
    }

    @Test("The list of kinds has those of the sources")
    func listedKinds() throws {
        var names: Set<String> = []
        let folder = Repository.path("Sources")
        for path in try #require(FileManager.default.enumerator(atPath: folder)) {
            guard let path = path as? String, path.hasSuffix(".swift") else { continue }
            let text = try String(contentsOfFile: folder + "/" + path, encoding: .utf8)
            for match in text.matches(of: /AuditEvent\.Kind\("([a-z_.]+)"\)/) { names.insert(String(match.1)) }
        }
        #expect(AdminService.auditKinds == names.sorted())
    }

    @Test("A selection excludes events that do not match it")
    func selected() async throws {
        try await fill()
        #expect(try await lines("--user", "1").count == 2)
        #expect(try await lines("--kind", "user.made").count == 2)
        #expect(try await lines("--since", "2h").count == 2)
        #expect(try await lines("--until", "2h").count == 1)
        #expect(try await lines("--since", "2027-01-15T08:00:00Z").count == 1)
        #expect(try await lines("--until", "2027-01-15").count == 1)
    }

    @Test("A missing database, an invalid time and an invalid limit are refused")
    func refused() async throws {
        let failure = await #expect(throws: AdministratorError.self) { try await lines() }
        #expect(failure?.description.contains("LATCHKEY_DATABASE_URL") == true)
        #expect(!FileManager.default.fileExists(atPath: directory.file("latchkey.db")))
        try await fill()
        for time in ["yesterday", "7", "-7d", "99999999999d", "d", "7w"] {
            await #expect(throws: AdministratorError.self, "\(time)") { try await lines("--since=\(time)") }
        }
        await #expect(throws: AdministratorError.self) { try await lines("--limit", "0") }
    }

    @Test("latchkey audit needs only the database of the configuration")
    func command() async throws {
        try await fill()
        let environment = ["LATCHKEY_DATABASE_URL": "sqlite:///\(directory.file("latchkey.db"))"]
        let process = try LatchkeyProcess(
            ["audit", "--user", "1", "--kind", "user.erased"], environment: environment, directory: directory.path)
        let ending = await process.ending()
        #expect(ending.status == 0)
        #expect(ending.output.hasPrefix("2027-01-15T08:00:00Z #3 user.erased user=1 by=user"))
        let rows: [([String], String)] = [
            ([], "No event matches.\n"), (["--format", "json"], ""), (["--json"], ""),
            // The option's former spelling.
            (["--json", "--user", "1", "--limit", "1"], "{\"serial\":3,"), (["--format", "json", "--user", "1"], "{"),
        ]
        for (arguments, says) in rows {
            let nobody = arguments.contains("--user") ? [] : ["--user", "99"]
            let ending = await
                (try LatchkeyProcess(
                    ["audit"] + nobody + arguments, environment: environment, directory: directory.path)).ending()
            #expect(ending.status == 0)
            #expect(nobody.isEmpty ? ending.output.hasPrefix(says) : ending.output == says, "\(arguments)")
        }
        let missing = ["LATCHKEY_DATABASE_URL": "sqlite:///\(directory.file("no.db"))"]
        let other = await (try LatchkeyProcess(["audit"], environment: missing, directory: directory.path)).ending()
        #expect(other.status == 1)
        #expect(other.output.contains("no database"))
    }
}
