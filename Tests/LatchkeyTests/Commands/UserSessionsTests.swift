import Administration
import ArgumentParser
import CarrierSimulator
import LatchkeyService
import Primitives
import TestSupport
import Testing

/// Operators list and end the sessions of a user, and read everything as JSON.
@Suite(.serialized) struct UserSessionsTests {
    private func objects(_ lines: [String]) throws -> [JSONObject] {
        try lines.map { try #require(try JSONValue(parsing: Array($0.utf8)).object, "\($0)") }
    }

    /// A user with two sessions.
    private func user(_ harness: SignInHarness) async throws -> (number: Int64, tokens: [String]) {
        var tokens: [String] = []
        for _ in 0..<2 {
            tokens.append(try #require(try await harness.app.signIn(try harness.authorizedResponse()).token))
        }
        return (try #require(try await harness.app.me(tokens[0]).json["user_id"]?.integer), tokens)
    }

    /// The statuses of the sessions on an instance that has not cached them.
    private func statuses(_ tokens: [String], _ harness: SignInHarness) async throws -> [Int] {
        var statuses: [Int] = []
        try await harness.alongside { (harness: SignInHarness) async throws in
            for token in tokens { statuses.append(try await harness.app.me(token).status) }
        }
        return statuses
    }

    @Test("Sessions are listed without tokens, as text and as JSON")
    func list() async throws {
        try await SignInHarness.with { harness in
            let (number, tokens) = try await user(harness)
            let lines = try await harness.runAdminCommand { try await $0.sessions(of: number) }
            #expect(lines.count == 2)
            for line in lines {
                #expect(
                    line.contains(
                        try Regex("^\\S+ client=\(SignInHarness.clientID) .*created=20.* last_seen=20.* expires=20")))
                for token in tokens { #expect(!line.contains(token)) }
            }
            let sessions = try objects(
                try await harness.runAdminCommand(as: \.json) { try await $0.sessions(of: number) })
            #expect(sessions.map { $0["id"]?.string ?? "" } == lines.map { String($0.prefix { $0 != " " }) })
            #expect(sessions.allSatisfy { $0["client_id"] == .string(SignInHarness.clientID) })
            await #expect(throws: AdministratorError.self) {
                try await harness.runAdminCommand { try await $0.sessions(of: 99) }
            }
        }
    }

    @Test("One session or all end, after a dry run without effect, and the audit log has who did it and why")
    func end() async throws {
        try await SignInHarness.with { harness in
            let (number, tokens) = try await user(harness)
            let tried = try await harness.runAdminCommand {
                try await $0.endSessions(of: number, only: nil, reason: nil, applies: false)
            }
            #expect(tried.first == "user \(number): 2 sessions would end." && tried.last?.contains("--apply") == true)
            #expect(try await statuses(tokens, harness) == [200, 200])

            let ids = try objects(try await harness.runAdminCommand(as: \.json) { try await $0.sessions(of: number) })
                .compactMap { $0["id"]?.string }
            let one = try await harness.runAdminCommand {
                try await $0.endSessions(of: number, only: ids.last, reason: "lost phone", applies: true)
            }
            #expect(one == ["user \(number): 1 session ended."])
            #expect(try await statuses(tokens, harness).sorted() == [200, 401])
            for applies in [false, true] {
                await #expect(throws: AdministratorError.self) {
                    try await harness.runAdminCommand {
                        try await $0.endSessions(of: number, only: ids.last, reason: nil, applies: applies)
                    }
                }
            }
            let all = try objects(
                try await harness.runAdminCommand(as: \.json) {
                    try await $0.endSessions(of: number, only: nil, reason: "lost phone", applies: true)
                })
            #expect(all.first?["sessions_ended"] == 1 && all.first?["applied"] == true)
            #expect(try await statuses(tokens, harness) == [401, 401])

            let events = try await harness.runAdminCommand {
                try await $0.audit(try .parse([]))
            }.filter { $0.contains("lost phone") }
            #expect(events.count == 2 && events.allSatisfy { $0.contains("by=operator:") })
            #expect(events[0].contains("session.revoked") && events[1].contains("session.all_revoked"))
        }
    }

    @Test("A user is found and shown as JSON, with personal data only on request")
    func show() async throws {
        try await SignInHarness.with { harness in
            let (number, _) = try await user(harness)
            let selection = try AdminService.UserSelection.parse(["--id", "\(number)"])
            let found = try objects(
                try await harness.runAdminCommand(as: \.json) { try await $0.find(selection) })
            #expect(found.map { $0["user_id"] } == [.integer(number)])
            for personal in [false, true] {
                let lines = try await harness.runAdminCommand(as: \.json) {
                    try await $0.show(number, personal: personal)
                }
                let shown = try #require(try objects(lines).first)
                #expect(shown["sessions"] == 2 && shown["moves"] == [])
                let identity = try #require(shown["identities"]?.array?.first?.object)
                #expect(identity["fingerprint"]?.string?.count == 64)
                #expect((identity["subject"] != nil) == personal && (shown["profile"] != nil) == personal)
            }
            let erased = try objects(
                try await harness.runAdminCommand(as: \.json) {
                    try await $0.erase(number, reason: nil, applies: false)
                })
            #expect(erased.first?["applied"] == false && erased.first?["sessions_ended"] == 2)
        }
    }
}
