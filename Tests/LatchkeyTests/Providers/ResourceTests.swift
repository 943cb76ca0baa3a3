import CarrierSimulator
import Crypto
import Foundation
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// What providers have for their users, fetched with stored tokens, over real sockets.
@Suite(.serialized) struct ResourceTests {
    @Test("A signed-in user's resource is the provider's JSON and nothing else of its answer")
    func fetched() async throws {
        try await ResourceStage.with { stage in
            for user in ["jane", "ravi"] {
                let answer = try await stage.fetch(try await stage.signIn(user: user))
                #expect(answer.status == 200, "\(answer.response.text)")
                #expect(answer.response.text == #"{"token":"zak-of-\#(user)"}"#)
                #expect(answer.response["cache-control"] == "no-store")
                #expect(answer.response["content-type"] == "application/json; charset=utf-8")
            }
            #expect(stage.refreshes == 0)
            #expect(stage.log.last(.resource, "meetings")?["type"] == "zak")
        }
    }

    @Test("Whoever may not have it gets nothing, and nothing is asked of the provider")
    func refused() async throws {
        try await ResourceStage.with { stage in
            let token = try await stage.signIn()
            let own = "/auth/meetings/resources/"
            #expect(try await stage.fetch(nil).status == 401)
            #expect(try await stage.fetch("no-such-token").status == 401)
            #expect(try await stage.fetch(token, at: App(port: stage.app.port, apiKey: nil)).error == "invalid_api_key")
            for path in [own + "zakk", own + "ZAK", "/auth/initech/resources/zak", "/auth/acme/resources/zak"] {
                let answer = try await stage.fetch(token, path)
                #expect(answer.status == 404, "\(path)")
                #expect(answer.error == "not_found")
            }
            #expect(try await stage.app.send("POST", own + "zak").status == 405)
            // Signed in elsewhere: nothing of this provider is stored.
            let other = try #require(try await stage.app.signIn(try stage.stage.authorizedResponse()).token)
            let missing = try await stage.fetch(other)
            #expect(missing.status == 409)
            #expect(missing.error == "grant_missing")
            #expect(stage.log.count(.resource) == 0)
        }
    }

    @Test("A way to sign in that is linked brings its tokens, too, and takes them away again")
    func linked() async throws {
        try await ResourceStage.with { stage in
            let token = try #require(try await stage.stage.session())
            let signedIn = ["Authorization: Bearer \(token)", "Content-Type: application/json"]
            let verifier = RandomSource.system.token()
            func link() async throws -> App.Answer {
                let code = try stage.simulator.issueCode(
                    mccmnc: "meetings", clientID: Stage.clientID, redirectURI: Stage.redirectURI,
                    codeChallenge: Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 }),
                    scope: "user:read", user: "ravi")
                return try await stage.app.send(
                    "POST", "/users/me/identities", headers: signedIn,
                    body: App.json([
                        "provider": "meetings", "client_id": Stage.clientID, "code": code,
                        "redirect_uri": Stage.redirectURI, "code_verifier": verifier,
                    ]))
            }
            let answer = try await link()
            #expect(answer.status == 201, "\(answer.response.text)")
            #expect(try await stage.fetch(token).response.text == #"{"token":"zak-of-ravi"}"#)
            // Linked once more, as after a grant that was revoked: other tokens, in the same row.
            #expect(try await link().status == 200)
            #expect(try await stage.fetch(token).status == 200)
            #expect(try stage.rowCount() == 1)
            let id = try #require(App.Members(of: answer.response.body)["id"]?.string)
            #expect(try await stage.app.send("DELETE", "/users/me/identities/" + id, headers: signedIn).status == 200)
            #expect(try await stage.fetch(token).error == "grant_missing")
            #expect(try stage.rowCount() == 0)
        }
    }

    @Test("Tokens are not stored without store_tokens")
    func notStored() async throws {
        try await ResourceStage.with({ $0.storesTokens = false }) { stage in
            let answer = try await stage.fetch(try await stage.signIn())
            #expect(answer.error == "grant_missing")
            #expect(try stage.rowCount() == 0)
        }
    }

    @Test("An access token that has ended, or is about to, is refreshed first; what comes is kept")
    func expiry() async throws {
        let clock = ManualClock()
        try await ResourceStage.with(clock: clock.wallClock) { stage in
            let token = try await stage.signIn()
            for (seconds, refreshes) in [(Int64(569), 0), (1, 1), (1, 1), (568, 1), (1, 2)] {
                clock.advance(bySeconds: seconds)
                #expect(try await stage.fetch(token).status == 200)
                #expect(stage.refreshes == refreshes)
            }
            #expect(try stage.rowCount() == 1)
        }
    }

    @Test(
        "One that the provider ended early is refreshed once it is refused; the next refresh token is kept, and is good"
    )
    func rotation() async throws {
        try await ResourceStage.with { stage in
            let token = try await stage.signIn()
            for round in 1...4 {
                stage.simulator.expireAccessTokens(at: "meetings")
                #expect(try await stage.fetch(token).status == 200)
                #expect(stage.refreshes == round)
            }
            // A refresh token that comes twice would have ended the grant.
            let shown = stage.log.entries.compactMap { $0["refresh_token"] }
            #expect(Set(shown).count == 4)
            #expect(stage.log.entries.filter { $0["refresh_token"] != nil }.allSatisfy { $0.authorization != nil })
        }
    }

    @Test("A refresh token that the provider does not replace stays good")
    func withoutRotation() async throws {
        try await ResourceStage.with { stage in
            stage.simulator.update("meetings") { $0.rotatesRefreshTokens = false }
            let token = try await stage.signIn()
            for _ in 1...2 {
                stage.simulator.expireAccessTokens(at: "meetings")
                #expect(try await stage.fetch(token).status == 200)
            }
            #expect(Set(stage.log.entries.compactMap { $0["refresh_token"] }).count == 1)
        }
    }

    @Test("Many at once, at two servers, cause one refresh, and all are served")
    func concurrent() async throws {
        try await ResourceStage.with { stage in
            let token = try await stage.signIn()
            try await stage.stage.withCopy { other, _ in
                #expect(try await stage.fetch(token, at: other).status == 200)
                // All together fewer than one account may ask for in a minute.
                for round in 1...3 {
                    stage.simulator.expireAccessTokens(at: "meetings")
                    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                        for number in 0..<16 {
                            let app = number % 2 == 0 ? stage.app : other
                            group.addTask { try await stage.fetch(token, at: app).status }
                        }
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                    #expect(statuses == Array(repeating: 200, count: 16))
                    #expect(stage.refreshes == round)
                }
            }
        }
    }

    @Test("A grant that is over is told as such, its tokens are deleted, and a sign-in brings others")
    func revoked() async throws {
        try await ResourceStage.with { stage in
            let token = try await stage.signIn()
            stage.simulator.revokeGrants(of: "jane", at: "meetings")
            let answer = try await stage.fetch(token)
            #expect(answer.status == 403)
            #expect(answer.error == "grant_revoked")
            #expect(
                answer.json["error_description"]?.string?.contains("Sign the user in with the provider again") == true)
            #expect(answer.json["error_type"]?.string == "requestDenied")
            #expect(try stage.rowCount() == 0)
            #expect(try await stage.fetch(token).error == "grant_missing")
            #expect(try await stage.app.me(token).status == 200, "the session is none of the provider's business")
            _ = try await stage.signIn()
            #expect(try await stage.fetch(token).status == 200)
        }
    }

    @Test(
        "Without a refresh token, what has ended is over; an earlier refresh token stays where a later sign-in brings none"
    )
    func withoutRefreshToken() async throws {
        try await ResourceStage.with { stage in
            stage.simulator.update("meetings") { $0.tampering.objects[.token] = [{ $0["refresh_token"] = nil }] }
            let ravi = try await stage.signIn(user: "ravi")
            #expect(try await stage.fetch(ravi).status == 200)
            stage.simulator.update("meetings") { $0.tampering.objects[.token] = nil }
            let jane = try await stage.signIn()
            stage.simulator.update("meetings") { $0.tampering.objects[.token] = [{ $0["refresh_token"] = nil }] }
            _ = try await stage.signIn()
            stage.simulator.expireAccessTokens(at: "meetings")
            #expect(try await stage.fetch(ravi).error == "grant_revoked")
            #expect(try await stage.fetch(jane).status == 200)
            #expect(try stage.rowCount() == 1)
        }
    }

    struct Failure: Sendable, CustomTestStringConvertible {
        let fault: CarrierSimulator.Fault
        let status: Int
        let error: String
        /// Whether the access token has ended before.
        var isExpired = false
        var testDescription: String { fault.rawValue }
    }

    @Test(
        "What fails at the provider is told, costs no tokens, and is over when the provider is well",
        arguments: [
            Failure(fault: .resource401, status: 502, error: "carrier_error"),
            Failure(fault: .resource500, status: 502, error: "carrier_error"),
            Failure(fault: .resourceSlow, status: 504, error: "carrier_timeout"),
            Failure(fault: .resourceNotJSON, status: 502, error: "carrier_error"),
            Failure(fault: .resourceScalar, status: 502, error: "carrier_error"),
            Failure(fault: .resourceRedirect, status: 502, error: "carrier_error"),
            Failure(fault: .resourceHuge, status: 502, error: "carrier_error"),
            Failure(fault: .token500, status: 502, error: "carrier_error", isExpired: true),
            Failure(fault: .tokenInvalidClient, status: 502, error: "carrier_error", isExpired: true),
            Failure(fault: .tokenTemporarilyUnavailable, status: 502, error: "carrier_error", isExpired: true),
            Failure(fault: .tokenSlow, status: 504, error: "carrier_timeout", isExpired: true),
        ])
    func failures(row: Failure) async throws {
        try await ResourceStage.with(configure: { configuration in
            configuration.outbound.limits.userInfoTimeout = .seconds(1)
            configuration.outbound.limits.tokenTimeout = .seconds(1)
        }) { stage in
            let token = try await stage.signIn()
            if row.isExpired { stage.simulator.expireAccessTokens(at: "meetings") }
            stage.simulator.setFaults([row.fault], for: "meetings")
            stage.simulator.update("meetings") { $0.delay = .seconds(3) }
            let answer = try await stage.fetch(token)
            #expect(answer.status == row.status, "\(answer.response.text)")
            #expect(answer.error == row.error)
            #expect(answer.json["correlation_id"]?.string != nil)
            #expect(try stage.rowCount() == 1)
            #expect(stage.log.canaryHits() == 0)
            stage.simulator.setFaults([], for: "meetings")
            #expect(try await stage.fetch(token).status == 200)
        }
    }

    @Test("A resource is asked for again no more than once, and the refresh before it too")
    func twiceAtMost() async throws {
        try await ResourceStage.with { stage in
            let token = try await stage.signIn()
            stage.simulator.setFaults([.resource401], for: "meetings")
            _ = try await stage.fetch(token)
            #expect(stage.log.count(.resource) == 2)
            #expect(stage.refreshes == 1)
        }
    }

    @Test("No token of the provider's stands in the database's files, nor in answers")
    func encrypted() async throws {
        try await ResourceStage.with { stage in
            let token = try await stage.signIn()
            stage.simulator.expireAccessTokens(at: "meetings")
            let answer = try await stage.fetch(token)
            let bytes = Data(stage.files())
            // What is looked for could be found: identities stand there as they are.
            #expect(bytes.range(of: Data("https://meetings.example".utf8)) != nil)
            let issued = stage.simulator.issuedTokens(at: "meetings")
            #expect(issued.count == 4)
            for secret in issued {
                #expect(bytes.range(of: Data(secret.utf8)) == nil)
                #expect(!answer.response.text.contains(secret))
            }
        }
    }

    @Test(
        "A row that is not as it was written is not used",
        arguments: [
            "UPDATE provider_tokens SET content = (SELECT content FROM provider_tokens ORDER BY serial DESC LIMIT 1)",
            "UPDATE provider_tokens SET user_id = (SELECT max(user_id) + min(user_id) FROM provider_tokens) - user_id",
            "UPDATE provider_tokens SET client_id = 'ccid-2' WHERE serial = 1; UPDATE sessions SET client_id = 'ccid-2'",
            "UPDATE provider_tokens SET content = substr(content, 2)",
            "UPDATE provider_tokens SET content = x''", "UPDATE provider_tokens SET key_id = '0011223344556677'",
        ])
    func swapped(sql: String) async throws {
        try await ResourceStage.with({ provider in
            provider.clients.append(provider.clients[0])
            if let id = ClientID(Stage.otherClientID) { provider.clients[1].id = id }
        }) { stage in
            let jane = try await stage.signIn()
            _ = try await stage.signIn(user: "ravi")
            try stage.database.change(sql)
            try await stage.stage.withCopy { app, _ in
                let answer = try await stage.fetch(jane, at: app)
                #expect(answer.status == 500, "\(answer.response.text)")
                #expect(answer.error == "server_error")
                #expect(answer.json["error_description"]?.string?.contains("vault.encryption_keys") == true)
            }
            #expect(stage.log.count(.resource) == 0)
            #expect(try stage.rowCount() == 2, "the operator may have a remedy")
        }
    }

    @Test("Under another key nothing can be read; a new sign-in can; with the old key behind it, all can")
    func keys() async throws {
        try await ResourceStage.with { stage in
            let jane = try await stage.signIn()
            let ravi = try await stage.signIn(user: "ravi")
            let other = String(repeating: "2e", count: 32)
            var configuration = stage.stage.configuration
            configuration.vaultKeys = EncryptionKey.of(other)
            try await Stage.withServer(configuration) { app in
                #expect(try await stage.fetch(jane, at: app).status == 500)
                _ = try await stage.signInAnswer(at: app)
                #expect(try await stage.fetch(jane, at: app).status == 200)
                #expect(try await stage.fetch(ravi, at: app).status == 500)
            }
            configuration.vaultKeys = EncryptionKey.of(other, ResourceStage.key)
            try await Stage.withServer(configuration) { app in
                for token in [jane, ravi] {
                    let status = try await stage.fetch(token, at: app).status
                    #expect(status == 200)
                }
            }
        }
    }

    @Test("A client's tokens are for its own sessions, and a user has one row for each client")
    func clients() async throws {
        try await ResourceStage.with({ provider in
            provider.clients.append(provider.clients[0])
            if let id = ClientID(Stage.otherClientID) { provider.clients[1].id = id }
        }) { stage in
            let first = try await stage.signIn()
            _ = try await stage.signIn()
            #expect(try stage.rowCount() == 1)
            let second = try await stage.signIn(clientID: Stage.otherClientID)
            #expect(try stage.rowCount() == 2)
            try stage.database.change("DELETE FROM provider_tokens WHERE client_id = '\(Stage.clientID)'")
            #expect(try await stage.fetch(first).error == "grant_missing")
            #expect(try await stage.fetch(second).status == 200)
        }
    }

    @Test(
        "What a provider gave while the store did not take it is stored with the next request, and not asked for again")
    func unsaved() async throws {
        try await ResourceStage.with { stage in
            let token = try await stage.signIn()
            stage.simulator.expireAccessTokens(at: "meetings")
            try stage.database.change(
                "CREATE TRIGGER broken BEFORE UPDATE OF content ON provider_tokens BEGIN SELECT RAISE(ABORT, 'broken'); END"
            )
            let answer = try await stage.fetch(token)
            #expect(answer.status == 503, "\(answer.response.text)")
            #expect(stage.refreshes == 1)
            #expect(stage.log.count(.resource) == 1, "not used before it is stored")
            try stage.database.change("DROP TRIGGER broken")
            #expect(try await stage.fetch(token).status == 200)
            #expect(stage.refreshes == 1)
            stage.simulator.expireAccessTokens(at: "meetings")
            #expect(try await stage.fetch(token).status == 200)
        }
    }

    @Test("A refresh whose caller has gone is finished, and what came of it is stored")
    func abandoned() async throws {
        let gate = Gate()
        try await ResourceStage.with(pause: { _ in await gate.pass() }) { stage in
            let token = try await stage.signIn()
            stage.simulator.expireAccessTokens(at: "meetings")
            stage.simulator.setFaults([.tokenSlow], for: "meetings")
            let client = try await RawClient(port: stage.app.port, limit: .seconds(60))
            try await client.send(
                "GET /auth/meetings/resources/zak HTTP/1.1\r\nHost: 127.0.0.1:\(stage.app.port)\r\n"
                    + "X-API-KEY: test-key\r\nAuthorization: Bearer \(token)\r\n\r\n")
            await gate.untilWaiting()
            await client.close()
            gate.open()
            #expect(try await stage.fetch(token).status == 200)
            #expect(stage.refreshes == 1)
        }
    }

    @Test(
        "A sign-in that brings no refresh token and crosses a refresh leaves the new one on record, not the spent one")
    func crossed() async throws {
        let gate = Gate()
        try await ResourceStage.with(pause: { _ in await gate.pass() }) { stage in
            let token = try await stage.signIn()
            stage.simulator.expireAccessTokens(at: "meetings")
            stage.simulator.setFaults([.tokenSlow], for: "meetings")
            async let refreshed = stage.fetch(token).status
            await gate.untilWaiting()
            stage.simulator.setFaults([], for: "meetings")
            stage.simulator.update("meetings") { $0.tampering.objects[.token] = [{ $0["refresh_token"] = nil }] }
            _ = try await stage.signIn()
            stage.simulator.update("meetings") { $0.tampering.objects[.token] = nil }
            gate.open()
            #expect(try await refreshed == 200)
            stage.simulator.expireAccessTokens(at: "meetings")
            #expect(try await stage.fetch(token).status == 200)
            #expect(stage.refreshes == 2)
        }
    }

    @Test("A row that another process has claimed is waited for, until its claim has run out")
    func claimedElsewhere() async throws {
        try await ResourceStage.with { stage in
            let token = try await stage.signIn()
            stage.simulator.expireAccessTokens(at: "meetings")
            // Whoever claimed it has died.
            try stage.database.change(
                "UPDATE provider_tokens SET version = version + 1, claimed_until = unixepoch() + 2")
            #expect(try await stage.fetch(token).status == 200)
            #expect(stage.refreshes == 1)
            #expect(try stage.database.number("SELECT version FROM provider_tokens") > 3)
        }
    }
}
