import Administration
import ArgumentParser
import CarrierSimulator
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import Primitives
import SignIn
import TestSupport
import Testing

/// Operators find, show and repair users while a server runs on the same database.
@Suite(.serialized) struct UsersCommandTests {
    private func user(_ harness: SignInHarness, _ mccmnc: String) async throws -> (token: String, number: Int64) {
        let fields = try harness.authorizedResponse(mccmnc: mccmnc, scope: "openid email phone")
        let token = try #require(
            try await harness.app.signIn(fields.merging(["scope": "openid email phone"]) { $1 }).token)
        return (token, try #require(try await harness.app.me(token).json["user_id"]?.integer))
    }

    @Test("A user is found by any unique attribute, and shown with personal data only on request")
    func findAndShow() async throws {
        try await SignInHarness.with { harness in
            let (token, number) = try await user(harness, "310410")
            let publicID = try #require(try await harness.app.me(token).json["zenkey_sub"]?.string)
            let selections = [
                ["--id", "\(number)"], ["--public-id", publicID], ["--email", "Jane.Doe@Example.com"],
                ["--phone", "+12025550123"],
            ]
            for selection in try selections.map({ try AdminService.UserSelection.parse($0) }) {
                let lines = try await harness.runAdminCommand { try await $0.find(selection) }
                #expect(lines.count == 1)
                #expect(lines.first?.hasPrefix("user \(number) public_id=\(publicID) created=20") == true)
            }
            let shown = try await harness.runAdminCommand { try await $0.show(number, personal: false) }.joined(
                separator: "\n")
            #expect(shown.contains("sessions 1"))
            #expect(shown.contains("/carriers/310410"))
            for name in ["email", "phone_number"] {
                #expect(shown.contains(try Regex("(?m)^\(name) verified since 20.* by http.*/carriers/310410$")))
            }
            for personal in ["Jane", "jane", "+1202", "310410-"] { #expect(!shown.contains(personal), "\(personal)") }
            let all = try await harness.runAdminCommand { try await $0.show(number, personal: true) }.joined(
                separator: "\n")
            for personal in ["jane.doe@example.com", "+12025550123", "310410-"] {
                #expect(all.contains(personal), "\(personal)")
            }
            let subject = try #require(all.split(separator: " ").first { $0.hasPrefix("310410-") })
            let issuer = (harness.simulator.baseURL ?? "") + "/carriers/310410"
            let byIdentity = try AdminService.UserSelection.parse(["--issuer", issuer, "--subject", String(subject)])
            #expect(try await harness.runAdminCommand { try await $0.find(byIdentity) }.count == 1)
        }
    }

    @Test("A public id and a subject may begin with a hyphen")
    func hyphens() throws {
        for arguments in [["--public-id", "-a"], ["--issuer", "https://a.example", "--subject", "--b"]] {
            #expect(throws: Never.self) { try AdminService.UserSelection.parse(arguments) }
        }
    }

    @Test("An unknown user and an incomplete or ambiguous selection are errors")
    func notFound() async throws {
        try await SignInHarness.with { harness in
            let selections = [
                [], ["--id", "7"], ["--issuer", "https://a.example"], ["--email", "a@example.com", "--phone", "1"],
            ]
            for selection in try selections.map({ try AdminService.UserSelection.parse($0) }) {
                await #expect(throws: AdministratorError.self) {
                    try await harness.runAdminCommand { try await $0.find(selection) }
                }
            }
            await #expect(throws: AdministratorError.self) {
                try await harness.runAdminCommand { try await $0.show(7, personal: false) }
            }
            await #expect(throws: AdministratorError.self) {
                try await harness.runAdminCommand {
                    try await $0.undoMigration(of: 7, move: nil, reason: nil, applies: true)
                }
            }
        }
    }

    @Test("A wrong move is undone once, after a dry run without effect")
    func undoMigration() async throws {
        try await SignInHarness.with { harness in
            let former = try await user(harness, "310010")
            harness.simulator.port(user: "jane", from: "310010", to: "310410")
            let moved = try await user(harness, "310410")
            #expect(moved.number == former.number)

            let tried = try await harness.runAdminCommand {
                try await $0.undoMigration(of: former.number, move: nil, reason: nil, applies: false)
            }
            #expect(tried.last?.contains("--apply") == true)
            #expect(tried.joined().contains("would be undone"))
            #expect(tried.joined().contains("sessions ended: 2"))
            #expect(try await harness.app.signIn(try harness.authorizedResponse(mccmnc: "310010")).status == 401)

            let done = try await harness.runAdminCommand {
                try await $0.undoMigration(of: former.number, move: 1, reason: "not Jane", applies: true)
            }
            #expect(done.joined().contains("was undone"))
            // On an instance that has not cached the sessions.
            try await harness.alongside { (harness: SignInHarness) async throws in
                for token in [former.token, moved.token] {
                    let answer = try await harness.app.me(token)
                    #expect(answer.status == 401)
                }
            }
            // The port token is still presented and moves no account: its owner is now another user.
            let back = try await user(harness, "310010")
            let other = try await user(harness, "310410")
            #expect(back.number == former.number)
            #expect(other.number != former.number)

            await #expect(throws: AdministratorError.self) {
                try await harness.runAdminCommand {
                    try await $0.undoMigration(of: former.number, move: 1, reason: nil, applies: true)
                }
            }
            let selection = try AdminService.AuditSelection.parse(["--kind", "identity.move_undone"])
            let events = try await harness.runAdminCommand { try await $0.audit(selection) }
            #expect(events.count == 1)
            #expect(events.first?.contains("by=operator:") == true)
            #expect(events.first?.contains("not Jane") == true)
            #expect(events.first?.contains("310010-") == false)
        }
    }

    private func newIssuer(_ harness: SignInHarness) -> String {
        (harness.simulator.baseURL ?? "") + "/carriers/310410"
    }

    /// A user's subject at a network.
    private func subject(_ harness: SignInHarness, _ number: Int64, _ mccmnc: String) async throws -> String {
        let shown = try await harness.runAdminCommand { try await $0.show(number, personal: true) }.joined(
            separator: " ")
        return String(try #require(shown.split(separator: " ").first { $0.hasPrefix(mccmnc + "-") }))
    }

    @Test("A user cannot be relinked to another user's identity; a merge moves it, after a dry run without effect")
    func relinkAndMerge() async throws {
        try await SignInHarness.with { harness in
            let first = try await user(harness, "310010")
            let second = try await user(harness, "310410")
            let subject = try await subject(harness, second.number, "310410")
            // Another user's identity is refused.
            await #expect(throws: AdministratorError.self) {
                try await harness.runAdminCommand {
                    try await $0.relink(
                        first.number, toIssuer: newIssuer(harness), subject: subject, reason: nil, applies: true)
                }
            }
            for applies in [false, true] {
                let lines = try await harness.runAdminCommand {
                    try await $0.merge(second.number, into: first.number, reason: "one Jane", applies: applies)
                }
                #expect(lines.joined().contains("sessions ended: 1"))
                #expect(lines.joined().contains("--apply") == !applies)
                try await harness.alongside { (harness: SignInHarness) async throws in
                    #expect(try await harness.app.me(second.token).status == (applies ? 401 : 200))
                    #expect(try await harness.app.me(first.token).status == 200)
                }
            }
            #expect(try await user(harness, "310410").number == first.number)
            #expect(try await user(harness, "310010").number == first.number)
            await #expect(throws: AdministratorError.self) {
                try await harness.runAdminCommand {
                    try await $0.merge(second.number, into: first.number, reason: nil, applies: true)
                }
            }
        }
    }

    @Test("Relinking replaces the identity and ends all sessions; the former identity then becomes a new user")
    func relink() async throws {
        try await SignInHarness.with { harness in
            let jane = try await user(harness, "310010")
            let stranger = try await user(harness, "310410")
            let subject = try await subject(harness, stranger.number, "310410")
            _ = try await harness.runAdminCommand { try await $0.erase(stranger.number, reason: nil, applies: true) }
            for applies in [false, true] {
                let lines = try await harness.runAdminCommand {
                    try await $0.relink(
                        jane.number, toIssuer: newIssuer(harness), subject: subject, reason: "new phone",
                        applies: applies)
                }
                #expect(lines.joined().contains("--apply") == !applies)
                #expect(!lines.joined().contains(subject))
                try await harness.alongside { (harness: SignInHarness) async throws in
                    #expect(try await harness.app.me(jane.token).status == (applies ? 401 : 200))
                }
            }
            #expect(try await user(harness, "310410").number == jane.number)
            #expect(try await user(harness, "310010").number > stranger.number)
            let selection = try AdminService.AuditSelection.parse(["--kind", "identity.relinked"])
            let events = try await harness.runAdminCommand { try await $0.audit(selection) }
            #expect(events.count == 1)
            #expect(events.first?.contains("by=operator:") == true)
            #expect(events.first?.contains("new phone") == true)
            #expect(events.first?.contains(subject) == false)
        }
    }

    @Test("An operator's erasure of a user is recorded, after a dry run without effect")
    func erase() async throws {
        try await SignInHarness.with { harness in
            let jane = try await user(harness, "310010")
            for applies in [false, true] {
                _ = try await harness.runAdminCommand {
                    try await $0.erase(jane.number, reason: "asked to", applies: applies)
                }
                try await harness.alongside { (harness: SignInHarness) async throws in
                    #expect(try await harness.app.me(jane.token).status == (applies ? 401 : 200))
                }
            }
            await #expect(throws: AdministratorError.self) {
                try await harness.runAdminCommand { try await $0.erase(jane.number, reason: nil, applies: true) }
            }
            let selection = try AdminService.AuditSelection.parse(["--kind", "user.erased"])
            let events = try await harness.runAdminCommand { try await $0.audit(selection) }
            #expect(events.count == 1)
            #expect(events.first?.contains("asked to") == true)
        }
    }

    @Test(
        "An erasure by an administrator revokes stored tokens at their provider, and happens if that fails",
        arguments: [
            ("/revoke", "acme: the user's tokens are revoked"), ("/nowhere", "acme: not revoked: "),
            (nil, "acme: not revoked, because the provider has no revocation endpoint"),
        ] as [(String?, String)])
    func erasureRevokes(path: String?, told: String) async throws {
        try await ProviderWalk.with(configure: {
            $0.providers[0].rules.storesTokens = true
            $0.encryptionKeys = [EncryptionKey([UInt8](repeating: 7, count: 32))].compactMap(\.self)
        }) { walk in
            let harness = walk.harness
            let issuer = try #require(harness.simulator.issuer(of: "acme"))
            harness.simulator.update("acme") {
                $0.tampering.objects[.discovery, default: []].append {
                    $0["revocation_endpoint"] = path.map { .string(issuer + $0) }
                }
            }
            let browser = Browser()
            try await walk.signIn(browser, at: "acme")
            let number = try #require(try await walk.userID(browser))
            func erase(applies: Bool) async throws -> [String] {
                try await harness.runAdminCommand { admin in
                    try await admin.erase(number, reason: nil, applies: applies) {
                        await admin.erasing(number, harness.configuration, .standard)
                    }
                }
            }
            let planned = try await erase(applies: false)
            #expect(!planned.joined().contains("acme"), "\(planned)")
            #expect(harness.simulator.log.count(.revocation, "acme") == 0)
            let lines = try await erase(applies: true)
            #expect(lines.joined().contains(told), "\(lines)")
            #expect(harness.simulator.log.count(.revocation, "acme") == (path == "/revoke" ? 1 : 0))
            await #expect(throws: AdministratorError.self) { try await erase(applies: true) }
        }
    }

    @Test("An invalid identity, a long reason, and a merge of a user into itself are refused")
    func badRepairs() async throws {
        try await SignInHarness.with { harness in
            let jane = try await user(harness, "310010")
            let issuer = newIssuer(harness)
            let identities: [(issuer: String, subject: String, replacing: String?)] = [
                ("carrier", "s", nil), (issuer, "", nil), (issuer, "a b", nil), (issuer, "s", "abc"),
                (issuer, "s", "00000000"),
            ]
            for (issuer, subject, replacing) in identities {
                await #expect(throws: AdministratorError.self) {
                    try await harness.runAdminCommand {
                        try await $0.relink(
                            jane.number, toIssuer: issuer, subject: subject, replacing: replacing, reason: nil,
                            applies: true)
                    }
                }
            }
            let long = String(repeating: "r", count: 281)
            await #expect(throws: AdministratorError.self) {
                try await harness.runAdminCommand { try await $0.erase(jane.number, reason: long, applies: true) }
            }
            await #expect(throws: AdministratorError.self) {
                try await harness.runAdminCommand {
                    try await $0.merge(jane.number, into: jane.number, reason: nil, applies: true)
                }
            }
            #expect(try await harness.app.me(jane.token).status == 200)
        }
    }

    @Test("Every users command exits with status 1 without a database")
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
