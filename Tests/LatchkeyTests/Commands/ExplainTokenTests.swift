import CarrierSimulator
import Crypto
import Foundation
import Primitives
import TestSupport
import Testing

/// `latchkey explain-token` in its own process.
@Suite(.serialized) struct ExplainTokenTests {
    typealias Fault = CarrierSimulator.Fault

    struct Row: Sendable, CustomTestStringConvertible {
        let fault: Fault?
        /// The names of the checks that must fail; empty for a token that must be accepted.
        let fails: [String]
        var testDescription: String { fault?.name ?? "no fault" }

        init(_ fault: Fault?, _ fails: String...) {
            self.fault = fault
            self.fails = fails
        }
    }

    static let rows: [Row] = [
        Row(nil), Row(.idTokenAudienceArray), Row(.idTokenUnsolicitedClaims), Row(.idTokenRotatedKey),
        Row(.idTokenTwoParts, "format"), Row(.idTokenHuge, "format"), Row(.idTokenAlgNone, "format", "algorithm"),
        Row(.idTokenCritical, "critical_header"), Row(.idTokenHS256ByPublicKey, "algorithm"),
        Row(.idTokenRS512, "algorithm", "key", "at_hash"),
        Row(.idTokenUnknownKeyID, "key"), Row(.idTokenWeakKey, "key"),
        Row(.idTokenBadSignature, "signature"), Row(.idTokenStrangerKey, "signature"),
        Row(.idTokenDuplicateClaim, "claims"), Row(.idTokenOtherIssuer, "issuer"),
        Row(.idTokenLongSubject, "subject"), Row(.idTokenExtraAudience, "audience"),
        Row(.idTokenOtherAuthorizedParty, "authorized_party"), Row(.idTokenExpired, "expiry"),
        Row(.idTokenMissingExpiry, "expiry"), Row(.idTokenOld, "issued_at"), Row(.idTokenFuture, "issued_at"),
        Row(.idTokenNotYetValid, "not_before"), Row(.idTokenWrongNonce, "nonce"), Row(.idTokenWrongACR, "acr"),
        Row(.idTokenOldAuthentication, "auth_time"), Row(.idTokenWrongAccessTokenHash, "at_hash"),
        Row(.idTokenOtherContext, "context"),
    ]

    @Test("Each fault of an ID token fails its own checks and no others", arguments: rows)
    func faults(row: Row) async throws {
        try await AdminHarness.with { harness in
            // This carrier's ID tokens have at_hash.
            let mccmnc = "310260"
            harness.simulator.setFaults(row.fault.map { [$0] } ?? [], for: mccmnc)
            let tokens = try await harness.tokens(mccmnc: mccmnc)
            let tokenFile = try harness.write(tokens.idToken, as: "token")
            let accessTokenFile = try harness.write(tokens.accessToken, as: "access")
            let ending = try await harness.run([
                "explain-token", "--mccmnc", mccmnc, "--token-file", tokenFile,
                "--access-token-file", accessTokenFile,
                "--nonce", AdminHarness.nonce, "--acr-values", "a3", "--context", AdminHarness.context,
                "--max-age", "300",
            ])
            #expect(ending.status == (row.fails.isEmpty ? 0 : 1), "\(ending.output)")
            #expect(failed(ending.output) == row.fails, "\(ending.output)")
            for secret in [tokens.idToken, tokens.accessToken, AdminHarness.secret, AdminHarness.apiKey] {
                #expect(!ending.output.contains(secret))
            }
        }
    }

    @Test("What has no expected value is not compared, and the report says so")
    func notCompared() async throws {
        try await AdminHarness.with { harness in
            let token = try await harness.tokens(mccmnc: "310260").idToken
            let arguments = ["explain-token", "--mccmnc", "310260"]
            let names = ["nonce", "acr", "auth_time", "at_hash", "context"]
            let ending = try await harness.run(arguments, input: token)
            #expect(ending.status == 0)
            for name in names {
                #expect(ending.output.contains(try Regex("(?m)^  -   \(name) +not compared: ")), "\(ending.output)")
            }
            #expect(ending.output.contains("no expected value was given: \(names.joined(separator: ", "))."))
            let given = try await harness.run(
                arguments + ["--nonce", AdminHarness.nonce, "--acr-values", "a3"], input: token)
            for name in ["nonce", "acr"] {
                #expect(given.output.contains(try Regex("(?m)^pass  \(name)")), "\(given.output)")
            }

            let printed = try await harness.run(arguments + ["--format", "json", "--nonce", "other"], input: token)
            #expect(printed.status == 1)
            let report = try #require(try JSONValue(parsing: Array(printed.output.utf8)).object)
            #expect(report["outcome"] == "refused" && report["claims"] == nil)
            let checks = (report["checks"]?.array ?? []).compactMap(\.object)
            func verdict(_ name: String) -> JSONValue? { checks.first { $0["check"] == .string(name) }?["verdict"] }
            #expect(verdict("nonce") == "failed" && verdict("acr") == "not_compared" && verdict("issuer") == "passed")
            let shown = try await harness.run(arguments + ["--format", "json", "--show-claims"], input: token)
            #expect(try JSONValue(parsing: Array(shown.output.utf8)).object?["claims"]?.object?["sub"] != nil)
        }
    }

    /// The names of the checks on the lines marked FAIL.
    private func failed(_ output: String) -> [String] {
        output.split(separator: "\n").filter { $0.hasPrefix("FAIL") }.compactMap {
            $0.split(separator: " ").dropFirst().first.map(String.init)
        }
    }

    @Test("The token is read from standard input and sent nowhere, and --show-claims is required to print its claims")
    func privacy() async throws {
        try await AdminHarness.with { harness in
            let token = try await harness.tokens().idToken
            let arguments = ["explain-token", "--provider", "zenkey", "--mccmnc", SignInHarness.mccmnc]
            let ending = try await harness.run(arguments, input: token + "\n")
            #expect(ending.status == 0, "\(ending.output)")
            #expect(ending.output.contains("Accepted"))
            // A subject begins with the network's code.
            for personal in ["\(SignInHarness.mccmnc)-", AdminHarness.nonce, AdminHarness.context] {
                #expect(!ending.output.contains(personal))
            }
            let shown = try await harness.run(arguments + ["--show-claims"], input: token)
            for personal in ["\"\(SignInHarness.mccmnc)-", AdminHarness.nonce, AdminHarness.context] {
                #expect(shown.output.contains(personal))
            }
            let log = harness.simulator.log
            #expect(log.count(.discovery) == 2)
            #expect(log.count(.keys) == 2)
            #expect(log.count(.token) == 1)
            #expect(log.count(.userInfo) == 0)
            for entry in log.entries where entry.endpoint != .token {
                for parameter in entry.parameters { #expect(!token.contains(parameter.value) || parameter.value == "") }
                #expect(entry.authorization == nil)
            }
        }
    }

    @Test("An encrypted token is opened first; one that is not, where it must be, is refused before any check")
    func encrypted() async throws {
        let key = P256.Signing.PrivateKey()
        let encryption = CarrierSimulator.Client.ResponseEncryption(
            .ecdhES, .a256GCM, publicKeyPEM: key.publicKey.pemRepresentation)
        for isEncrypted in [true, false] {
            try await AdminHarness.with(register: { if isEncrypted { $0.idTokenEncryption = encryption } }) { harness in
                _ = try harness.write(key.pemRepresentation, as: "key.pem")
                let file = try harness.write(
                    """
                    providers:
                      acme:
                        kind: oidc
                        issuer: \(try #require(harness.simulator.issuer(of: "acme")))
                        clients:
                          - id: \(SignInHarness.clientID)
                            secret: \(AdminHarness.secret)
                            id_token_encrypted_response_alg: ECDH-ES
                            decryption_key_file: \(harness.directory.file("key.pem"))
                    """, as: "latchkey.yaml")
                let token = try await harness.tokens(of: "acme").idToken
                let arguments = ["explain-token", "--config", file, "--provider", "acme"]
                let ending = try await harness.run(arguments, input: token)
                #expect(ending.status == (isEncrypted ? 0 : 64), "\(ending.output)")
                #expect(ending.output.contains(isEncrypted ? "An encrypted ID token" : "must be encrypted"))
            }
        }
    }

    @Test("An OpenID provider's token is checked with that provider's keys, without --mccmnc")
    func provider() async throws {
        try await AdminHarness.with { harness in
            let issuer = try #require(harness.simulator.issuer(of: "acme"))
            let file = try harness.write(
                """
                providers:
                  acme:
                    kind: oidc
                    issuer: \(issuer)
                    clients: [{id: \(SignInHarness.clientID), secret: \(AdminHarness.secret)}]
                  meetings:
                    kind: oauth2
                    issuer: https://meetings.example
                    authorization_endpoint: \(issuer)/authorize
                    token_endpoint: \(issuer)/token
                    user_endpoint: \(issuer)/v2/users/me
                    subject: id
                    clients: [{id: \(SignInHarness.clientID), secret: \(AdminHarness.secret)}]
                """, as: "latchkey.yaml")
            let token = try await harness.tokens(of: "acme").idToken
            func run(_ arguments: String...) async throws -> LatchkeyProcess.Ending {
                try await harness.run(["explain-token", "--config", file] + arguments, input: token)
            }
            let ending = try await run("--provider", "acme")
            #expect(ending.status == 0, "\(ending.output)")
            #expect(ending.output.contains(issuer))
            let other = try await run("--mccmnc", SignInHarness.mccmnc)
            #expect(other.status == 1)
            #expect(failed(other.output).contains("signature") || failed(other.output).contains("key"))
            #expect(failed(other.output).contains("issuer"))
            for (arguments, says) in [
                (["--provider", "acme", "--mccmnc", SignInHarness.mccmnc], "leave it out"),
                (["--provider", "meetings"], "has no ID tokens"),
                (["--provider", "initech"], "one of: zenkey, acme"),
            ] {
                let wrong = try await harness.run(["explain-token", "--config", file] + arguments, input: token)
                #expect(wrong.status == 64, "\(arguments)")
                #expect(wrong.output.contains(says), "\(wrong.output)")
            }
            harness.simulator.rotateKeys("acme")
            let rotated = try await run("--provider", "acme")
            #expect(failed(rotated.output) == ["key"], "\(rotated.output)")
        }
    }

    typealias Defect = CarrierSimulator.LogoutDefect

    private static let logoutRows: [(defect: Defect?, fails: [String])] = [
        (nil, []), (.notJWT, ["format"]), (.algNone, ["format", "algorithm"]), (.hs256BySecret, ["algorithm"]),
        (.idTokenType, ["type"]), (.critical, ["critical_header"]), (.otherIssuer, ["issuer"]),
        (.missingIssuer, ["issuer"]), (.otherAudience, ["audience"]), (.extraAudience, ["audience"]),
        (.missingIssuedAt, ["issued_at"]), (.old, ["issued_at"]), (.future, ["issued_at"]), (.expired, ["expiry"]),
        (.notYetValid, ["not_before"]), (.missingID, ["jti"]), (.noEvent, ["event"]), (.otherEvent, ["event"]),
        (.eventNotObject, ["event"]), (.withNonce, ["nonce"]), (.noSubject, ["subject"]), (.emptySession, ["subject"]),
        (.badSignature, ["signature"]), (.strangerKey, ["signature"]),
    ]

    /// A configuration with the provider `acme`, and a provider without back-channel logout.
    private func logoutConfiguration(_ harness: AdminHarness) throws -> String {
        let issuer = try #require(harness.simulator.issuer(of: "acme"))
        let provider = """
            kind: oidc
                issuer: \(issuer)
                clients: [{id: \(SignInHarness.clientID), secret: \(AdminHarness.secret)}]
            """
        let text = "providers:\n  acme:\n    \(provider)\n  deaf:\n    backchannel_logout: off\n    \(provider)\n"
        return try harness.write(text, as: "latchkey.yaml")
    }

    @Test("Each defect of a logout token fails its own checks and no others")
    func logoutTokens() async throws {
        #expect(Set(Self.logoutRows.compactMap(\.defect)) == Set(Defect.allCases))
        try await AdminHarness.with { harness in
            let file = try logoutConfiguration(harness)
            // Longer than what the random id of a key may contain by chance.
            let session = "session-at-the-provider"
            for (defect, fails) in Self.logoutRows {
                let token = try await harness.simulator.logoutToken(
                    of: "acme", clientID: SignInHarness.clientID, user: "jane",
                    sessionID: defect == .noSubject ? nil : session,
                    defect: defect)
                // A defective logout token is recognised as one, unless it is not a JWT.
                let kind = defect == .notJWT ? ["--kind", "logout"] : []
                let ending = try await harness.run(
                    ["explain-token", "--config", file, "--provider", "acme"] + kind, input: token)
                #expect(ending.status == (fails.isEmpty ? 0 : 1), "\(String(describing: defect)): \(ending.output)")
                #expect(failed(ending.output) == fails, "\(ending.output)")
                #expect(ending.output.hasPrefix("A logout token from"))
                #expect(ending.output.contains("valid once") == fails.isEmpty)
                for secret in [token, session, "jane", AdminHarness.secret] {
                    #expect(!ending.output.contains(secret))
                }
            }
        }
    }

    @Test("Options that do not apply to a logout token are refused, and an ID token is not a logout token")
    func logoutUsage() async throws {
        try await AdminHarness.with { harness in
            let file = try logoutConfiguration(harness)
            let token = try await harness.simulator.logoutToken(
                of: "acme", clientID: SignInHarness.clientID, user: "jane")
            for (arguments, says) in [
                ([], "name its provider with --provider"), (["--mccmnc", SignInHarness.mccmnc], "name its provider"),
                (["--provider", "acme", "--nonce", "n"], "leave out --nonce"),
                (["--provider", "deaf"], "backchannel_logout is off"),
                (["--provider", "acme", "--client-id", "another"], "--client-id"),
            ] as [([String], String)] {
                let ending = try await harness.run(["explain-token", "--config", file] + arguments, input: token)
                #expect(ending.status == 64, "\(arguments): \(ending.output)")
                #expect(ending.output.contains(says), "\(ending.output)")
            }
            let idToken = try await harness.tokens(of: "acme").idToken
            let ending = try await harness.run(
                ["explain-token", "--config", file, "--provider", "acme", "--kind", "logout"], input: idToken)
            #expect(ending.status == 1)
            #expect(failed(ending.output).contains("event"), "\(ending.output)")
            let asID = try await harness.run(
                ["explain-token", "--config", file, "--provider", "acme", "--kind", "id"], input: token)
            #expect(asID.status == 1)
            #expect(failed(asID.output).contains("type"), "\(asID.output)")
        }
    }

    @Test("--at explains the token at another moment, and an expired token still passes the other checks")
    func otherMoment() async throws {
        try await AdminHarness.with { harness in
            let token = try await harness.tokens().idToken
            let now = Int(Date().timeIntervalSince1970)
            let arguments = ["explain-token", "--mccmnc", SignInHarness.mccmnc, "--at"]
            let later = try await harness.run(arguments + ["\(now + 86_400)"], input: token)
            #expect(later.status == 1)
            #expect(failed(later.output) == ["expiry", "issued_at"])
            #expect(
                later.output.split(separator: "\n").count { $0.hasPrefix("pass") || $0.contains("not compared: ") }
                    == 19)
            let time = ISO8601DateFormatter().string(from: Date())
            #expect(try await harness.run(arguments + [time], input: token).status == 0)
        }
    }

    @Test("Each kind of failure has its own exit status and a remedy")
    func failures() async throws {
        try await AdminHarness.with { harness in
            let token = try await harness.tokens().idToken
            let arguments = ["explain-token", "--mccmnc", SignInHarness.mccmnc]
            func status(
                _ arguments: [String], _ says: String, environment: [String: String] = [:], input: String = token
            ) async throws -> Int32 {
                let ending = try await harness.run(arguments, environment: environment, input: input)
                #expect(ending.output.contains(says), "\(ending.output)")
                #expect(!ending.output.contains(token))
                return ending.status
            }
            #expect(try await status(["explain-token"], "--mccmnc") == 64)
            #expect(try await status(["explain-token", "--mccmnc", "31"], "--mccmnc") == 64)
            #expect(try await status(arguments + ["--provider", "other"], "zenkey") == 64)
            #expect(try await status(arguments + ["--client-id", "other"], "zenkey.clients") == 64)
            #expect(try await status(arguments + ["--at", "yesterday"], "--at") == 64)
            let several = ["LATCHKEY_ZENKEY_CLIENTS": "a:x,b:y"]
            #expect(try await status(arguments, "--client-id: a, b", environment: several) == 64)
            #expect(try await status(arguments + ["--token-file", "/nowhere"], "/nowhere") == 66)
            #expect(try await status(arguments, "no token", input: " \n") == 66)
            let badLevel = ["LATCHKEY_LOG_LEVEL": "loud"]
            #expect(try await status(arguments, "log.level", environment: badLevel) == 78)
            harness.simulator.setFaults([.discovery500], for: SignInHarness.mccmnc)
            #expect(try await status(arguments, "metadata") == 69)
            harness.simulator.setFaults([.keys500], for: SignInHarness.mccmnc)
            #expect(try await status(arguments, "Undecided") == 69)
        }
    }
}
