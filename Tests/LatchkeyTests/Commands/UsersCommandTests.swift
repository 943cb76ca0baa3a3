import CarrierSimulator
import LatchkeyConfiguration
import LatchkeyService
import Primitives
import TestSupport
import Testing

/// What operators find, see and mend while a server runs on the same database.
@Suite(.serialized) struct UsersCommandTests {
    private func runAdminCommand(
        _ stage: SignInHarness, _ command: (AdminService) async throws -> [String]
    ) async throws -> [String] {
        let admin = try AdminService(stage.configuration)
        let result: Result<[String], any Error>
        do { result = .success(try await command(admin)) } catch { result = .failure(error) }
        await admin.close()
        return try result.get()
    }

    private func user(_ stage: SignInHarness, _ mccmnc: String) async throws -> (token: String, number: Int64) {
        let fields = try stage.authorizedResponse(mccmnc: mccmnc, scope: "openid email phone")
        let token = try #require(
            try await stage.app.signIn(fields.merging(["scope": "openid email phone"]) { $1 }).token)
        return (token, try #require(try await stage.app.me(token).json["user_id"]?.integer))
    }

    @Test("A user is found by what is unlike others', and shown without personal data unless it is asked for")
    func findAndShow() async throws {
        try await SignInHarness.with { stage in
            let (token, number) = try await user(stage, "310010")
            let publicID = try #require(try await stage.app.me(token).json["zenkey_sub"]?.string)
            let selections: [AdminService.UserSelection] = [
                selection { $0.number = number }, selection { $0.publicID = publicID },
                selection { $0.email = "Jane.Doe@Example.com" }, selection { $0.phone = "+12025550123" },
            ]
            for selection in selections {
                let lines = try await runAdminCommand(stage) { try await $0.find(selection) }
                #expect(lines.count == 1)
                #expect(lines.first?.hasPrefix("user \(number) public_id=\(publicID) created=20") == true)
            }
            let shown = try await runAdminCommand(stage) { try await $0.show(number, personal: false) }.joined(
                separator: "\n")
            #expect(shown.contains("sessions 1"))
            #expect(shown.contains("/carriers/310010"))
            for personal in ["Jane", "jane", "+1202", "310010-"] { #expect(!shown.contains(personal), "\(personal)") }
            let all = try await runAdminCommand(stage) { try await $0.show(number, personal: true) }.joined(
                separator: "\n")
            for personal in ["jane.doe@example.com", "+12025550123", "310010-"] {
                #expect(all.contains(personal), "\(personal)")
            }
            let subject = try #require(all.split(separator: " ").first { $0.hasPrefix("310010-") })
            let byIdentity = selection {
                $0.issuer = (stage.simulator.baseURL ?? "") + "/carriers/310010"
                $0.subject = String(subject)
            }
            #expect(try await runAdminCommand(stage) { try await $0.find(byIdentity) }.count == 1)
        }
    }

    private func selection(
        _ change: (inout AdminService.UserSelection) -> Void
    ) -> AdminService.UserSelection {
        var selection = AdminService.UserSelection()
        change(&selection)
        return selection
    }

    @Test("Who is not there, or not said clearly, is not found")
    func notFound() async throws {
        try await SignInHarness.with { stage in
            let selections: [AdminService.UserSelection] = [
                selection { _ in }, selection { $0.number = 7 }, selection { $0.issuer = "https://a.example" },
                selection {
                    $0.email = "a@example.com"
                    $0.phone = "1"
                },
            ]
            for selection in selections {
                await #expect(throws: OperatorFailure.self) {
                    try await runAdminCommand(stage) { try await $0.find(selection) }
                }
            }
            await #expect(throws: OperatorFailure.self) {
                try await runAdminCommand(stage) { try await $0.show(7, personal: false) }
            }
            await #expect(throws: OperatorFailure.self) {
                try await runAdminCommand(stage) {
                    try await $0.undoMigration(of: 7, move: nil, reason: nil, applies: true)
                }
            }
        }
    }

    @Test("A wrong move is undone: tried first without effect, then for good, and once only")
    func undoMigration() async throws {
        try await SignInHarness.with { stage in
            let former = try await user(stage, "310010")
            stage.simulator.port(user: "jane", from: "310010", to: "310410")
            let moved = try await user(stage, "310410")
            #expect(moved.number == former.number)

            let tried = try await runAdminCommand(stage) {
                try await $0.undoMigration(of: former.number, move: nil, reason: nil, applies: false)
            }
            #expect(tried.last?.contains("--apply") == true)
            #expect(tried.joined().contains("would be undone"))
            #expect(tried.joined().contains("sessions ended: 2"))
            #expect(try await stage.app.signIn(try stage.authorizedResponse(mccmnc: "310010")).status == 401)

            let done = try await runAdminCommand(stage) {
                try await $0.undoMigration(of: former.number, move: 1, reason: "not Jane", applies: true)
            }
            #expect(done.joined().contains("was undone"))
            // On a server that has none of the sessions at hand.
            try await stage.alongside { (stage: SignInHarness) async throws in
                for token in [former.token, moved.token] {
                    let answer = try await stage.app.me(token)
                    #expect(answer.status == 401)
                }
            }
            // The port token is still shown, and moves nothing any more: whoever shows it is somebody else.
            let back = try await user(stage, "310010")
            let other = try await user(stage, "310410")
            #expect(back.number == former.number)
            #expect(other.number != former.number)

            await #expect(throws: OperatorFailure.self) {
                try await runAdminCommand(stage) {
                    try await $0.undoMigration(of: former.number, move: 1, reason: nil, applies: true)
                }
            }
            var selection = AdminService.AuditSelection()
            selection.kind = "identity.move_undone"
            let events = try await runAdminCommand(stage) { [selection] in try await $0.audit(selection, as: .text) }
            #expect(events.count == 1)
            #expect(events.first?.contains("by=operator:") == true)
            #expect(events.first?.contains("not Jane") == true)
            #expect(events.first?.contains("310010-") == false)
        }
    }

    private func newIdentity(_ stage: SignInHarness, _ subject: String) -> AdminService.NewIdentity {
        AdminService.NewIdentity(issuer: (stage.simulator.baseURL ?? "") + "/carriers/310410", subject: subject)
    }

    /// The subject a user has at a network.
    private func subject(_ stage: SignInHarness, _ number: Int64, _ mccmnc: String) async throws -> String {
        let shown = try await runAdminCommand(stage) { try await $0.show(number, personal: true) }.joined(
            separator: " ")
        return String(try #require(shown.split(separator: " ").first { $0.hasPrefix(mccmnc + "-") }))
    }

    @Test("A user is given another identity, and an account is put into another: tried without effect, then for good")
    func relinkAndMerge() async throws {
        try await SignInHarness.with { stage in
            let first = try await user(stage, "310010")
            let second = try await user(stage, "310410")
            let subject = try await subject(stage, second.number, "310410")
            // What is somebody's is not to be had.
            await #expect(throws: OperatorFailure.self) {
                try await runAdminCommand(stage) {
                    try await $0.relink(first.number, to: newIdentity(stage, subject), reason: nil, applies: true)
                }
            }
            for applies in [false, true] {
                let lines = try await runAdminCommand(stage) {
                    try await $0.merge(second.number, into: first.number, reason: "one Jane", applies: applies)
                }
                #expect(lines.joined().contains("sessions ended: 1"))
                #expect(lines.joined().contains("--apply") == !applies)
                try await stage.alongside { (stage: SignInHarness) async throws in
                    #expect(try await stage.app.me(second.token).status == (applies ? 401 : 200))
                    #expect(try await stage.app.me(first.token).status == 200)
                }
            }
            #expect(try await user(stage, "310410").number == first.number)
            #expect(try await user(stage, "310010").number == first.number)
            await #expect(throws: OperatorFailure.self) {
                try await runAdminCommand(stage) {
                    try await $0.merge(second.number, into: first.number, reason: nil, applies: true)
                }
            }
        }
    }

    @Test("Another identity takes the place of the only one; all sessions end, and the former one is a stranger's")
    func relink() async throws {
        try await SignInHarness.with { stage in
            let jane = try await user(stage, "310010")
            let stranger = try await user(stage, "310410")
            let subject = try await subject(stage, stranger.number, "310410")
            _ = try await runAdminCommand(stage) { try await $0.erase(stranger.number, reason: nil, applies: true) }
            for applies in [false, true] {
                let lines = try await runAdminCommand(stage) {
                    try await $0.relink(
                        jane.number, to: newIdentity(stage, subject), reason: "new phone", applies: applies)
                }
                #expect(lines.joined().contains("--apply") == !applies)
                #expect(!lines.joined().contains(subject))
                try await stage.alongside { (stage: SignInHarness) async throws in
                    #expect(try await stage.app.me(jane.token).status == (applies ? 401 : 200))
                }
            }
            #expect(try await user(stage, "310410").number == jane.number)
            #expect(try await user(stage, "310010").number > stranger.number)
            var selection = AdminService.AuditSelection()
            selection.kind = "identity.relinked"
            let events = try await runAdminCommand(stage) { [selection] in try await $0.audit(selection, as: .text) }
            #expect(events.count == 1)
            #expect(events.first?.contains("by=operator:") == true)
            #expect(events.first?.contains("new phone") == true)
            #expect(events.first?.contains(subject) == false)
        }
    }

    @Test("A user is erased for the record, after a dry run")
    func erase() async throws {
        try await SignInHarness.with { stage in
            let jane = try await user(stage, "310010")
            for applies in [false, true] {
                _ = try await runAdminCommand(stage) {
                    try await $0.erase(jane.number, reason: "asked to", applies: applies)
                }
                try await stage.alongside { (stage: SignInHarness) async throws in
                    #expect(try await stage.app.me(jane.token).status == (applies ? 401 : 200))
                }
            }
            await #expect(throws: OperatorFailure.self) {
                try await runAdminCommand(stage) { try await $0.erase(jane.number, reason: nil, applies: true) }
            }
            var selection = AdminService.AuditSelection()
            selection.kind = "user.erased"
            let events = try await runAdminCommand(stage) { [selection] in try await $0.audit(selection, as: .text) }
            #expect(events.count == 1)
            #expect(events.first?.contains("asked to") == true)
        }
    }

    @Test("What is no identity, no reason and no two users is refused")
    func badRepairs() async throws {
        try await SignInHarness.with { stage in
            let jane = try await user(stage, "310010")
            var short = newIdentity(stage, "s")
            short.replacing = "abc"
            var unknown = newIdentity(stage, "s")
            unknown.replacing = "00000000"
            let identities = [
                AdminService.NewIdentity(issuer: "carrier", subject: "s"), newIdentity(stage, ""),
                newIdentity(stage, "a b"), short, unknown,
            ]
            for identity in identities {
                await #expect(throws: OperatorFailure.self) {
                    try await runAdminCommand(stage) {
                        try await $0.relink(jane.number, to: identity, reason: nil, applies: true)
                    }
                }
            }
            let long = String(repeating: "r", count: 281)
            await #expect(throws: OperatorFailure.self) {
                try await runAdminCommand(stage) { try await $0.erase(jane.number, reason: long, applies: true) }
            }
            await #expect(throws: OperatorFailure.self) {
                try await runAdminCommand(stage) {
                    try await $0.merge(jane.number, into: jane.number, reason: nil, applies: true)
                }
            }
            #expect(try await stage.app.me(jane.token).status == 200)
        }
    }

    @Test("The commands are there, and a failure ends with 1")
    func commands() async throws {
        let directory = try TemporaryDirectory()
        let environment = ["LATCHKEY_DATABASE_URL": "sqlite:///\(directory.file("no.db"))"]
        for arguments in [
            ["find", "--id", "1"], ["show", "1"], ["undo-migration", "1"],
            ["relink", "1", "--issuer", "https://a.example", "--subject", "s"], ["merge", "1", "--into", "2"],
            ["erase", "1"],
        ] {
            let process = try LatchkeyProcess(
                ["users"] + arguments, environment: environment, directory: directory.path)
            let ending = await process.ending()
            #expect(ending.status == 1)
            #expect(ending.output.contains("no database"))
        }
    }
}
