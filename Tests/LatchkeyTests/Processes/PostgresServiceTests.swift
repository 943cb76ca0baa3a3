import CarrierSimulator
import Foundation
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import Primitives
import TestSupport
import Testing

/// Several instances on one PostgreSQL database.
@Suite struct PostgresServiceTests {
    private let url: String

    init() throws {
        url = try PostgresCluster.shared().makeSchema()
    }

    /// How the calls of an instance reach the server.
    enum Way: String, CaseIterable, Sendable {
        case direct, pooler
        /// There is no direct connection, so that nothing is announced.
        case poolerAlone
    }

    /// The URLs of the database and of its pooler, which is with the caller.
    private func urls(_ way: Way) throws -> (database: String, pooler: PgBouncer?) {
        guard way != .direct else { return (url, nil) }
        let pooler = try PgBouncer(before: .shared(), schema: url, connections: 2)
        return (way == .pooler ? url : pooler.url, pooler)
    }

    @Test(
        "A session of one instance is valid on the others, and ends on all when a third instance revokes it",
        arguments: Way.allCases)
    func copies(way: Way) async throws {
        try await AdminHarness.with { harness in
            let (database, pooler) = try urls(way)
            defer { withExtendedLifetime(pooler) {} }
            var environment = harness.environment.merging(["LATCHKEY_DATABASE_URL": database]) { $1 }
            environment["LATCHKEY_DATABASE_POOLER_URL"] = pooler?.url
            // All start at once on an empty database: one of them creates the tables.
            let processes = try (0..<3).map { _ in try LatchkeyProcess(["serve"], environment: environment) }
            var apps: [App] = []
            for process in processes {
                apps.append(App(port: try await process.port(after: "listening"), apiKey: AdminHarness.apiKey))
            }
            let fields = try harness.authorizedResponse()
            let signedIn = try await apps[0].signIn(fields)
            let token = try #require(signedIn.token)
            let user = try await apps[0].me(token).json["user_id"]?.integer
            for app in apps { #expect(try await app.me(token).status == 200) }
            for app in apps {
                let again = try #require(try await app.signIn(fields).token)
                #expect(try await app.me(again).json["user_id"]?.integer == user)
            }
            #expect(harness.simulator.log.tokenPosts() == 1)
            let refreshed = try await apps[1].refresh(try #require(signedIn.refreshToken))
            let newer = try #require(refreshed.token)
            for app in apps { #expect(try await app.me(newer).status == 200) }
            #expect(try await apps[2].signOut(newer).status == 200)
            for app in apps { try await until { try await app.me(newer).status == 401 } }
            for app in apps {
                #expect(try await app.me(token).status == 401)
                #expect(try await app.signIn(fields).error == "invalid_grant")
            }
            #expect(harness.simulator.log.tokenPosts() == 1)
            let last = try #require(try await apps[0].signIn(harness.authorizedResponse()).token)
            #expect(try await apps[1].asUser("DELETE", "/users/me", last).status == 200)
            for app in apps { try await until { try await app.me(last).status == 401 } }
            for process in processes { process.send(SIGTERM) }
            for process in processes {
                let ending = await process.ending()
                #expect(ending.status == 0)
                #expect(!ending.output.contains("s3cret%2F"))
            }
        }
    }

    @Test(
        "A session that another instance ends is invalid at once, although it is cached",
        arguments: [Way.direct, .pooler])
    func announced(way: Way) async throws {
        let clock = ManualClock(secondsSinceEpoch: Int64(Date().timeIntervalSince1970))
        let pooler = try urls(way).pooler
        defer { withExtendedLifetime(pooler) {} }
        var database = Configuration.Database()
        database.url = try DatabaseURL(Secret(url))
        database.poolerURL = try pooler.map { try DatabaseURL(Secret($0.url)) }
        try await SignInHarness.with(clock: clock.wallClock, configure: { [database] in $0.database = database }) {
            harness in
            try await harness.withInstance(clock: clock.wallClock) { copy, _ in
                // The clock does not advance, so that cached sessions never expire.
                let token = try #require(try await harness.app.signIn(harness.authorizedResponse()).token)
                #expect(try await copy.me(token).status == 200)
                #expect(try await harness.app.signOut(token).status == 200)
                try await until { try await copy.me(token).status == 401 }
                let other = try #require(try await copy.signIn(harness.authorizedResponse()).token)
                #expect(try await harness.app.me(other).status == 200)
                let edit = ["name": "Jane Doe"]
                #expect(try await copy.asUser("PATCH", "/users/me", other, edit).status == 200)
                try await until { try await harness.app.me(other).json["name"]?.string == "Jane Doe" }
            }
        }
    }

    @Test("Operators' commands work on PostgreSQL and never print the password")
    func commands() async throws {
        try await AdminHarness.with { harness in
            let change = ["LATCHKEY_DATABASE_URL_FILE": try harness.write(url + "\n", as: "url")]
            func run(_ arguments: String...) async throws -> LatchkeyProcess.Ending {
                var environment = harness.environment.merging(change) { $1 }
                environment["LATCHKEY_DATABASE_URL"] = nil
                let process = try LatchkeyProcess(
                    arguments, environment: environment, directory: harness.directory.path)
                let ending = await process.ending()
                #expect(!ending.output.contains("s3cret%2F"), "\(arguments)")
                return ending
            }
            let before = try await run("doctor", "--mccmnc", SignInHarness.mccmnc)
            #expect(before.output.contains("does not exist yet"), "\(before.output)")
            #expect(try await run("check-config").status == 0)
            let made = try await run("api-key", "create", "web")
            #expect(made.status == 0, "\(made.output)")
            #expect(try await run("api-key", "list").output.contains("web"))
            #expect(try await run("audit").output.contains("api_key.created"))
            #expect(try await run("users", "show", "7").output.contains("there is no user 7"))
            let after = try await run("doctor", "--mccmnc", SignInHarness.mccmnc)
            #expect(after.output.contains("its tables are up to date"), "\(after.output)")
        }
    }

    @Test("A build without PostgreSQL refuses its URL, and says so without the password")
    func leftOut() throws {
        var configuration = Configuration()
        configuration.database.url = .postgres(try #require(PostgresURL(Secret(url))))
        let start = #expect(throws: LatchkeyStartError.self) {
            try LatchkeyService(configuration: configuration, features: .none)
        }
        let command = #expect(throws: LatchkeyStartError.self) {
            try AdminService(configuration, features: .none)
        }
        for reason in [start?.description, command?.description] {
            #expect(reason?.contains("needs the feature PostgreSQL, which this build of the program") == true)
            #expect(reason?.contains("s3cret") == false)
        }
    }

    @Test("An unreachable PostgreSQL server is reported without the password")
    func unreachable() async throws {
        try await AdminHarness.with { harness in
            let gone = "postgres://me:s3cret%2F@127.0.0.1:1/latchkey"
            for arguments in [["serve"], ["doctor"], ["users", "find", "--email", "a@example.com"]] {
                let ending = try await harness.run(arguments, environment: ["LATCHKEY_DATABASE_URL": gone])
                #expect(ending.status != 0)
                #expect(ending.output.contains("cannot be reached"), "\(ending.output)")
                #expect(!ending.output.contains("s3cret"), "\(ending.output)")
            }
        }
    }
}
