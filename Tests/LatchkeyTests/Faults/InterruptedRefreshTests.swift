import CarrierSimulator
import Crypto
import Foundation
import Primitives
import TestSupport
import Testing

/// Instances that are killed around a refresh, of a provider's tokens and of Latchkey's own.
@Suite(.serialized) struct InterruptedRefreshTests {
    enum Database: String, CaseIterable, CustomTestStringConvertible {
        case sqlite = "SQLite"
        case postgres = "PostgreSQL"

        var testDescription: String { rawValue }
    }

    /// An instance of the built server, with the simulator's provider `meetings`.
    private struct Instances {
        let harness: AdminHarness
        let environment: [String: String]
        let arguments: [String]

        init(_ harness: AdminHarness, _ database: Database) throws {
            self.harness = harness
            let base = try #require(harness.simulator.issuer(of: "meetings"))
            let file = try harness.write(
                """
                providers:
                  meetings:
                    kind: oauth2
                    issuer: https://meetings.example
                    authorization_endpoint: \(base)/authorize
                    token_endpoint: \(base)/token
                    user_endpoint: \(base)/v2/users/me
                    subject: id
                    store_tokens: true
                    resources: {zak: {url: "\(base)/v2/users/me/token?type=zak"}}
                    clients:
                      - id: \(SignInHarness.clientID)
                        secret: \(AdminHarness.secret)
                        redirect_uris: ["\(SignInHarness.redirectURI)"]
                """, as: "latchkey.yaml")
            arguments = ["serve", "--config", file]
            var environment = harness.environment
            environment["LATCHKEY_ENCRYPTION_KEYS"] = String(repeating: "1f", count: 32)
            // A lease of 7 seconds.
            environment["LATCHKEY_OUTBOUND_TIMEOUTS_TOKEN"] = "2s"
            if database == .postgres {
                environment["LATCHKEY_DATABASE_URL"] = try PostgresCluster.shared().makeSchema()
            }
            self.environment = environment
        }

        func start() async throws -> (process: LatchkeyProcess, app: App) {
            let process = try LatchkeyProcess(arguments, environment: environment)
            return (process, App(port: try await process.port(after: "listening"), apiKey: AdminHarness.apiKey))
        }

        /// Signs in at `meetings`; returns the session token.
        func signIn(at app: App) async throws -> String {
            let verifier = RandomSource.system.token()
            let code = try harness.simulator.issueCode(
                mccmnc: "meetings", clientID: SignInHarness.clientID, redirectURI: SignInHarness.redirectURI,
                codeChallenge: Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 }), scope: "user:read",
                user: "jane")
            let answer = try await app.post(
                "/auth/meetings/sign-in",
                [
                    "client_id": SignInHarness.clientID, "code": code, "redirect_uri": SignInHarness.redirectURI,
                    "code_verifier": verifier,
                ])
            return try #require(answer.token, "\(answer.response.text)")
        }

        /// The refresh tokens that were sent to the provider.
        var sent: [String] {
            harness.simulator.log.entries.filter { $0.endpoint == .token }.compactMap { $0["refresh_token"] }
        }
    }

    private static let path = "/auth/meetings/resources/zak"

    /// Each row waits for the end of a lease. The short form has each database once, and each kind of provider.
    private static let kills: [(Database, acceptsRepetitions: Bool)] =
        AllRows.areRun
        ? Database.allCases.flatMap { [($0, true), ($0, false)] } : [(.sqlite, true), (.postgres, false)]

    /// Has an instance refresh tokens, for a caller that goes, until the provider has replaced the refresh token. The
    /// provider's answer waits for the test.
    private func beginRefresh(_ instances: Instances, _ app: App, _ token: String) async throws {
        let simulator = instances.harness.simulator
        simulator.expireAccessTokens(at: "meetings")
        let issued = simulator.issuedTokens(at: "meetings").count
        simulator.setFaults([.refreshLate], for: "meetings")
        let client = try await RawClient(port: app.port, limit: .seconds(60))
        try await client.send(
            "GET \(Self.path) HTTP/1.1\r\nHost: 127.0.0.1:\(app.port)\r\nX-API-KEY: \(AdminHarness.apiKey)\r\n"
                + "Authorization: Bearer \(token)\r\n\r\n")
        try await until { simulator.issuedTokens(at: "meetings").count > issued }
        await client.close()
        simulator.setFaults([], for: "meetings")
    }

    @Test(
        "After a kill between the provider's answer and its storage the next process repeats the request once",
        arguments: kills)
    func killed(database: Database, acceptsRepetitions: Bool) async throws {
        let gate = Gate()
        try await AdminHarness.with(pause: { _ in await gate.pass() }) { harness in
            defer { gate.open() }
            let instances = try Instances(harness, database)
            if acceptsRepetitions { harness.simulator.update("meetings") { $0.refreshTokenGrace = 60 } }
            let (first, app) = try await instances.start()
            let token = try await instances.signIn(at: app)
            #expect(try await app.asUser("GET", Self.path, token).status == 200)
            try await beginRefresh(instances, app, token)
            first.send(SIGKILL)
            _ = await first.ending()
            gate.open()
            let (second, later) = try await instances.start()
            var answer = try await later.asUser("GET", Self.path, token)
            #expect(instances.sent.count == 2 && Set(instances.sent).count == 1)
            if acceptsRepetitions {
                #expect(answer.status == 200, "\(answer.response.text)")
                harness.simulator.expireAccessTokens(at: "meetings")
                #expect(try await later.asUser("GET", Self.path, token).status == 200)
                #expect(Set(instances.sent).count == 2)
            } else {
                #expect(answer.error == "grant_revoked")
                let description = answer.json["error_description"]?.string ?? ""
                #expect(description.contains("response to an earlier refresh was lost"), "\(description)")
                answer = try await later.asUser("GET", Self.path, token)
                #expect(answer.error == "grant_missing")
                #expect(instances.sent.count == 2)
                // The user signs in again.
                _ = try await instances.signIn(at: later)
                #expect(try await later.asUser("GET", Self.path, token).status == 200)
            }
            #expect(try await later.me(token).status == 200)
            second.send(SIGTERM)
            #expect(await second.ending().status == 0)
        }
    }

    @Test("A process that is asked to end stores the answer of a refresh first", arguments: Database.allCases)
    func ended(database: Database) async throws {
        let gate = Gate()
        try await AdminHarness.with(pause: { _ in await gate.pass() }) { harness in
            defer { gate.open() }
            let instances = try Instances(harness, database)
            let (first, app) = try await instances.start()
            let token = try await instances.signIn(at: app)
            try await beginRefresh(instances, app, token)
            first.send(SIGTERM)
            _ = try await first.wait { $0.contains("stopping") ? true : nil }
            gate.open()
            #expect(await first.ending().status == 0)
            let (second, later) = try await instances.start()
            #expect(try await later.asUser("GET", Self.path, token).status == 200)
            #expect(instances.sent.count == 1)
            harness.simulator.expireAccessTokens(at: "meetings")
            #expect(try await later.asUser("GET", Self.path, token).status == 200)
            #expect(Set(instances.sent).count == 2)
            second.send(SIGTERM)
            #expect(await second.ending().status == 0)
        }
    }

    @Test(
        "A client that lost the answer of a refresh gets the same tokens from any instance, also after a kill",
        arguments: Database.allCases)
    func ownRefresh(database: Database) async throws {
        try await AdminHarness.with { harness in
            let instances = try Instances(harness, database)
            let (first, app) = try await instances.start()
            let former = try await app.signIn(harness.authorizedResponse())
            let refreshToken = try #require(former.refreshToken)
            let (token, successor) = try await {
                let answer = try await app.refresh(refreshToken)
                return (try #require(answer.token), try #require(answer.refreshToken))
            }()
            var others: [(process: LatchkeyProcess, app: App)] = []
            // SQLite's file has one server at a time.
            if database == .postgres { others.append(try await instances.start()) }
            if let other = others.first {
                let again = try await other.app.refresh(refreshToken)
                #expect(again.token == token && again.refreshToken == successor)
            }
            first.send(SIGKILL)
            _ = await first.ending()
            others.append(try await instances.start())
            for other in others {
                let again = try await other.app.refresh(refreshToken)
                #expect(again.status == 200, "\(again.response.text)")
                #expect(again.token == token && again.refreshToken == successor)
                #expect(try await other.app.me(token).status == 200)
            }
            #expect(try await others[0].app.refresh(successor).status == 200)
            for other in others { other.process.send(SIGTERM) }
            for other in others { #expect(await other.process.ending().status == 0) }
        }
    }
}
