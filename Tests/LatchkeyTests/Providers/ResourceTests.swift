import CarrierSimulator
import Crypto
import Foundation
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// Resources of providers, fetched with stored tokens, over real sockets.
@Suite(.serialized) struct ResourceTests {
    @Test("A user's resource is the provider's JSON and nothing else of its response")
    func fetched() async throws {
        try await ResourceHarness.with { harness in
            for user in ["jane", "ravi"] {
                let answer = try await harness.fetch(try await harness.signIn(user: user))
                #expect(answer.status == 200, "\(answer.response.text)")
                #expect(answer.response.text == #"{"token":"zak-of-\#(user)"}"#)
                #expect(answer.response["cache-control"] == "no-store")
                #expect(answer.response["content-type"] == "application/json; charset=utf-8")
            }
            #expect(harness.refreshes == 0)
            #expect(harness.log.last(.resource, "meetings")?["type"] == "zak")
        }
    }

    @Test("An unauthorized request is refused without a request to the provider")
    func refused() async throws {
        try await ResourceHarness.with { harness in
            let token = try await harness.signIn()
            let own = "/auth/meetings/resources/"
            #expect(try await harness.fetch(nil).status == 401)
            #expect(try await harness.fetch("no-such-token").status == 401)
            #expect(
                try await harness.fetch(token, at: App(port: harness.app.port, apiKey: nil)).error == "invalid_api_key")
            for path in [own + "zakk", own + "ZAK", "/auth/initech/resources/zak", "/auth/acme/resources/zak"] {
                let answer = try await harness.fetch(token, path)
                #expect(answer.status == 404, "\(path)")
                #expect(answer.error == "not_found")
            }
            #expect(try await harness.app.send("POST", own + "zak").status == 405)
            // Signed in at another provider: no token of this provider is stored.
            let other = try #require(try await harness.app.signIn(try harness.base.authorizedResponse()).token)
            let missing = try await harness.fetch(other)
            #expect(missing.status == 409)
            #expect(missing.error == "grant_missing")
            #expect(harness.log.count(.resource) == 0)
        }
    }

    @Test("A linked identity stores its tokens, and unlinking deletes them")
    func linked() async throws {
        try await ResourceHarness.with { harness in
            let token = try #require(try await harness.base.session())
            let signedIn = ["Authorization: Bearer \(token)", "Content-Type: application/json"]
            let verifier = RandomSource.system.token()
            func link() async throws -> App.Answer {
                let code = try harness.simulator.issueCode(
                    mccmnc: "meetings", clientID: SignInHarness.clientID, redirectURI: SignInHarness.redirectURI,
                    codeChallenge: Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 }),
                    scope: "user:read", user: "ravi")
                return try await harness.app.send(
                    "POST", "/users/me/identities", headers: signedIn,
                    body: App.json([
                        "provider": "meetings", "client_id": SignInHarness.clientID, "code": code,
                        "redirect_uri": SignInHarness.redirectURI, "code_verifier": verifier,
                    ]))
            }
            let answer = try await link()
            #expect(answer.status == 201, "\(answer.response.text)")
            #expect(try await harness.fetch(token).response.text == #"{"token":"zak-of-ravi"}"#)
            // Linked again, as after a revoked grant: new tokens in the same row.
            #expect(try await link().status == 200)
            #expect(try await harness.fetch(token).status == 200)
            #expect(try harness.rowCount() == 1)
            let id = try #require(App.Members(of: answer.response.body)["id"]?.string)
            #expect(try await harness.app.send("DELETE", "/users/me/identities/" + id, headers: signedIn).status == 200)
            #expect(try await harness.fetch(token).error == "grant_missing")
            #expect(try harness.rowCount() == 0)
        }
    }

    @Test("Tokens are not stored without store_tokens")
    func notStored() async throws {
        try await ResourceHarness.with({ $0.rules.storesTokens = false }) { harness in
            let answer = try await harness.fetch(try await harness.signIn())
            #expect(answer.error == "grant_missing")
            #expect(try harness.rowCount() == 0)
        }
    }

    @Test("An expired or expiring access token is refreshed first, and the new tokens are stored")
    func expiry() async throws {
        let clock = ManualClock()
        try await ResourceHarness.with(clock: clock.wallClock) { harness in
            let token = try await harness.signIn()
            for (seconds, refreshes) in [(Int64(569), 0), (1, 1), (1, 1), (568, 1), (1, 2)] {
                clock.advance(bySeconds: seconds)
                #expect(try await harness.fetch(token).status == 200)
                #expect(harness.refreshes == refreshes)
            }
            #expect(try harness.rowCount() == 1)
        }
    }

    @Test(
        "An access token that the provider refuses is refreshed, and the next refresh token is stored and valid"
    )
    func rotation() async throws {
        try await ResourceHarness.with { harness in
            let token = try await harness.signIn()
            for round in 1...4 {
                harness.simulator.expireAccessTokens(at: "meetings")
                #expect(try await harness.fetch(token).status == 200)
                #expect(harness.refreshes == round)
            }
            // A reused refresh token would have revoked the grant.
            let shown = harness.log.entries.compactMap { $0["refresh_token"] }
            #expect(Set(shown).count == 4)
            #expect(harness.log.entries.filter { $0["refresh_token"] != nil }.allSatisfy { $0.authorization != nil })
        }
    }

    @Test("A refresh token that the provider does not rotate stays valid")
    func withoutRotation() async throws {
        try await ResourceHarness.with { harness in
            harness.simulator.update("meetings") { $0.rotatesRefreshTokens = false }
            let token = try await harness.signIn()
            for _ in 1...2 {
                harness.simulator.expireAccessTokens(at: "meetings")
                #expect(try await harness.fetch(token).status == 200)
            }
            #expect(Set(harness.log.entries.compactMap { $0["refresh_token"] }).count == 1)
        }
    }

    @Test("Concurrent requests at two instances cause one refresh, and all succeed")
    func concurrent() async throws {
        try await ResourceHarness.with { harness in
            let token = try await harness.signIn()
            try await harness.base.withInstance { other, _ in
                #expect(try await harness.fetch(token, at: other).status == 200)
                // In total fewer than the limit of one account per minute.
                for round in 1...3 {
                    harness.simulator.expireAccessTokens(at: "meetings")
                    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                        for number in 0..<16 {
                            let app = number % 2 == 0 ? harness.app : other
                            group.addTask { try await harness.fetch(token, at: app).status }
                        }
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                    #expect(statuses == Array(repeating: 200, count: 16))
                    #expect(harness.refreshes == round)
                }
            }
        }
    }

    @Test("A revoked grant is reported, its tokens are deleted, and a new sign-in stores others")
    func revoked() async throws {
        try await ResourceHarness.with { harness in
            let token = try await harness.signIn()
            harness.simulator.revokeGrants(of: "jane", at: "meetings")
            let answer = try await harness.fetch(token)
            #expect(answer.status == 403)
            #expect(answer.error == "grant_revoked")
            #expect(
                answer.json["error_description"]?.string?.contains("Sign the user in with the provider again") == true)
            #expect(answer.json["error_type"]?.string == "requestDenied")
            #expect(try harness.rowCount() == 0)
            #expect(try await harness.fetch(token).error == "grant_missing")
            #expect(try await harness.app.me(token).status == 200, "the session is none of the provider's business")
            _ = try await harness.signIn()
            #expect(try await harness.fetch(token).status == 200)
        }
    }

    @Test(
        "Without a refresh token an expired token ends; a later sign-in without one keeps the earlier one"
    )
    func withoutRefreshToken() async throws {
        try await ResourceHarness.with { harness in
            harness.simulator.update("meetings") { $0.tampering.objects[.token] = [{ $0["refresh_token"] = nil }] }
            let ravi = try await harness.signIn(user: "ravi")
            #expect(try await harness.fetch(ravi).status == 200)
            harness.simulator.update("meetings") { $0.tampering.objects[.token] = nil }
            let jane = try await harness.signIn()
            harness.simulator.update("meetings") { $0.tampering.objects[.token] = [{ $0["refresh_token"] = nil }] }
            _ = try await harness.signIn()
            harness.simulator.expireAccessTokens(at: "meetings")
            #expect(try await harness.fetch(ravi).error == "grant_revoked")
            #expect(try await harness.fetch(jane).status == 200)
            #expect(try harness.rowCount() == 1)
        }
    }

    struct Failure: Sendable, CustomTestStringConvertible {
        let fault: CarrierSimulator.Fault
        let status: Int
        let error: String
        /// Whether the access token has expired before.
        var isExpired = false
        var testDescription: String { fault.name }
    }

    @Test(
        "A provider's failure is reported, keeps the tokens, and ends when the provider recovers",
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
        try await ResourceHarness.with(configure: { if row.status == 504 { $0.outbound.limits = .short } }) { harness in
            let token = try await harness.signIn()
            if row.isExpired { harness.simulator.expireAccessTokens(at: "meetings") }
            harness.simulator.setFaults([row.fault], for: "meetings")
            let answer = try await harness.fetch(token)
            #expect(answer.status == row.status, "\(answer.response.text)")
            #expect(answer.error == row.error)
            #expect(answer.json["correlation_id"]?.string != nil)
            #expect(try harness.rowCount() == 1)
            #expect(harness.log.count(.canary) == 0)
            harness.simulator.setFaults([], for: "meetings")
            #expect(try await harness.fetch(token).status == 200)
        }
    }

    @Test("A resource request and its refresh are retried at most once")
    func twiceAtMost() async throws {
        try await ResourceHarness.with { harness in
            let token = try await harness.signIn()
            harness.simulator.setFaults([.resource401], for: "meetings")
            _ = try await harness.fetch(token)
            #expect(harness.log.count(.resource) == 2)
            #expect(harness.refreshes == 1)
        }
    }

    @Test("No provider token is in the database files or in responses")
    func encrypted() async throws {
        try await ResourceHarness.with { harness in
            let token = try await harness.signIn()
            harness.simulator.expireAccessTokens(at: "meetings")
            let answer = try await harness.fetch(token)
            let bytes = Data(harness.files())
            // The search works: identities are stored in plain text.
            #expect(bytes.range(of: Data("https://meetings.example".utf8)) != nil)
            let issued = harness.simulator.issuedTokens(at: "meetings")
            #expect(issued.count == 4)
            for secret in issued {
                #expect(bytes.range(of: Data(secret.utf8)) == nil)
                #expect(!answer.response.text.contains(secret))
            }
        }
    }

    @Test(
        "A modified row is not used",
        arguments: [
            "UPDATE provider_tokens SET content = (SELECT content FROM provider_tokens ORDER BY serial DESC LIMIT 1)",
            "UPDATE provider_tokens SET user_id = (SELECT max(user_id) + min(user_id) FROM provider_tokens) - user_id",
            "UPDATE provider_tokens SET client_id = 'ccid-2' WHERE serial = 1; "
                + "UPDATE sessions SET client_id = 'ccid-2'",
            "UPDATE provider_tokens SET content = substr(content, 2)",
            "UPDATE provider_tokens SET content = x''", "UPDATE provider_tokens SET key_id = '0011223344556677'",
        ])
    func swapped(sql: String) async throws {
        try await ResourceHarness.with({ provider in
            provider.clients.append(provider.clients[0])
            if let id = ClientID(SignInHarness.otherClientID) { provider.clients[1].id = id }
        }) { harness in
            let jane = try await harness.signIn()
            _ = try await harness.signIn(user: "ravi")
            try harness.database.change(sql)
            try await harness.base.withInstance { app, _ in
                let answer = try await harness.fetch(jane, at: app)
                #expect(answer.status == 500, "\(answer.response.text)")
                #expect(answer.error == "server_error")
                #expect(answer.json["error_description"]?.string?.contains("check encryption_keys") == true)
            }
            #expect(harness.log.count(.resource) == 0)
            #expect(try harness.rowCount() == 2, "the operator may have a remedy")
        }
    }

    @Test("Another key reads only new rows; with the old key behind it, it reads all")
    func keys() async throws {
        try await ResourceHarness.with { harness in
            let jane = try await harness.signIn()
            let ravi = try await harness.signIn(user: "ravi")
            let other = String(repeating: "2e", count: 32)
            var configuration = harness.base.configuration
            configuration.encryptionKeys = EncryptionKey.of(other)
            try await SignInHarness.withServer(configuration) { app in
                #expect(try await harness.fetch(jane, at: app).status == 500)
                _ = try await harness.signInAnswer(at: app)
                #expect(try await harness.fetch(jane, at: app).status == 200)
                #expect(try await harness.fetch(ravi, at: app).status == 500)
            }
            configuration.encryptionKeys = EncryptionKey.of(other, ResourceHarness.key)
            try await SignInHarness.withServer(configuration) { app in
                for token in [jane, ravi] {
                    let status = try await harness.fetch(token, at: app).status
                    #expect(status == 200)
                }
            }
        }
    }

    @Test("A client's tokens serve only its own sessions, and a user has one row for each client")
    func clients() async throws {
        try await ResourceHarness.with({ provider in
            provider.clients.append(provider.clients[0])
            if let id = ClientID(SignInHarness.otherClientID) { provider.clients[1].id = id }
        }) { harness in
            let first = try await harness.signIn()
            _ = try await harness.signIn()
            #expect(try harness.rowCount() == 1)
            let second = try await harness.signIn(clientID: SignInHarness.otherClientID)
            #expect(try harness.rowCount() == 2)
            try harness.database.change("DELETE FROM provider_tokens WHERE client_id = '\(SignInHarness.clientID)'")
            #expect(try await harness.fetch(first).error == "grant_missing")
            #expect(try await harness.fetch(second).status == 200)
        }
    }

    @Test(
        "Tokens that could not be stored are stored as soon as the store works, without another refresh")
    func unsaved() async throws {
        try await ResourceHarness.with { harness in
            let token = try await harness.signIn()
            harness.simulator.expireAccessTokens(at: "meetings")
            try harness.database.change(
                "CREATE TRIGGER broken BEFORE UPDATE OF content ON provider_tokens "
                    + "BEGIN SELECT RAISE(ABORT, 'broken'); END"
            )
            let answer = try await harness.fetch(token)
            #expect(answer.status == 503, "\(answer.response.text)")
            #expect(harness.refreshes == 1)
            #expect(harness.log.count(.resource) == 1, "not used before it is stored")
            let version = try harness.database.number("SELECT version FROM provider_tokens")
            try harness.database.change("DROP TRIGGER broken")
            // Without a request: another instance must not send the refresh token again.
            try await until { try harness.database.number("SELECT version FROM provider_tokens") > version }
            #expect(try await harness.fetch(token).status == 200)
            #expect(harness.refreshes == 1)
            harness.simulator.expireAccessTokens(at: "meetings")
            #expect(try await harness.fetch(token).status == 200)
        }
    }

    @Test("A refresh whose caller disconnected completes, and its tokens are stored")
    func abandoned() async throws {
        let gate = Gate()
        try await ResourceHarness.with(pause: { _ in await gate.pass() }) { harness in
            let token = try await harness.signIn()
            harness.simulator.expireAccessTokens(at: "meetings")
            harness.simulator.setFaults([.tokenSlow], for: "meetings")
            let client = try await RawClient(port: harness.app.port, limit: .seconds(60))
            try await client.send(
                "GET /auth/meetings/resources/zak HTTP/1.1\r\nHost: 127.0.0.1:\(harness.app.port)\r\n"
                    + "X-API-KEY: test-key\r\nAuthorization: Bearer \(token)\r\n\r\n")
            await gate.untilWaiting()
            await client.close()
            gate.open()
            #expect(try await harness.fetch(token).status == 200)
            #expect(harness.refreshes == 1)
        }
    }

    @Test(
        "A sign-in without a refresh token during a refresh keeps the new refresh token, not the spent one")
    func crossed() async throws {
        let gate = Gate()
        try await ResourceHarness.with(pause: { _ in await gate.pass() }) { harness in
            let token = try await harness.signIn()
            harness.simulator.expireAccessTokens(at: "meetings")
            harness.simulator.setFaults([.tokenSlow], for: "meetings")
            async let refreshed = harness.fetch(token).status
            defer { gate.open() }
            await gate.untilWaiting()
            harness.simulator.setFaults([], for: "meetings")
            harness.simulator.update("meetings") { $0.tampering.objects[.token] = [{ $0["refresh_token"] = nil }] }
            _ = try await harness.signIn()
            harness.simulator.update("meetings") { $0.tampering.objects[.token] = nil }
            gate.open()
            #expect(try await refreshed == 200)
            harness.simulator.expireAccessTokens(at: "meetings")
            #expect(try await harness.fetch(token).status == 200)
            #expect(harness.refreshes == 2)
        }
    }
}
