import CarrierSimulator
import Foundation
import LatchkeyService
import Storage
import TestSupport
import Testing

/// `latchkey doctor` in its own process.
@Suite(.serialized) struct DoctorTests {
    typealias Fault = CarrierSimulator.Fault

    struct Row: Sendable, CustomTestStringConvertible {
        let fault: Fault?
        /// The area of the only expected problem; nil for none.
        let area: String?
        /// A text that the output must contain.
        let says: String
        var testDescription: String { fault?.name ?? "no fault" }

        init(_ fault: Fault?, _ area: String?, _ says: String) {
            self.fault = fault
            self.area = area
            self.says = says
        }
    }

    static let rows: [Row] = [
        Row(nil, nil, "RS256, RSA, 2048 bits"), Row(.discoveryBareGrantType, nil, "0 problems"),
        Row(.discovery500, "discovery", "HTTP status 500"), Row(.discoverySlow, "discovery", "outbound.timeouts"),
        Row(.discoveryNotJSON, "discovery", "zenkey.discovery_url"),
        Row(.discoveryRedirect, "discovery", "HTTP status 302"),
        Row(.discoveryErrorRedirectURI, "discovery", "check the mccmnc"),
        Row(.discoveryErrorDescription, "discovery", "temporarily_unavailable"),
        Row(.discoveryMissingFields, "metadata", "token_endpoint"),
        Row(.discoveryOtherIssuer, "metadata", "zenkey.trusted_issuers"),
        Row(.discoveryRelativeURLs, "metadata", "token_endpoint"), Row(.keys500, "keys", "HTTP status 500"),
        Row(.keysSlow, "keys", "outbound.timeouts"), Row(.keysNotJSON, "keys", "cannot be read"),
        Row(.keysRedirect, "keys", "HTTP status 302"), Row(.keysEmpty, "keys", "empty"),
        Row(.keysHuge, "keys", "too large"), Row(.keysJunkEntries, nil, "usable"), Row(.keysSharedKeyID, nil, "usable"),
        Row(.idTokenWeakKey, "keys", "RSA of 1024 bits"),
        Row(.parRequired, nil, "authorization requests are pushed, as the provider demands"),
        Row(.requestObjectRequired, "metadata", "give the client a private_key_file"),
    ]

    @Test("A carrier's fault is a problem in its area with a remedy, and a harmless one is no problem", arguments: rows)
    func faults(row: Row) async throws {
        try await AdminHarness.with { harness in
            harness.simulator.setFaults(row.fault.map { [$0] } ?? [], for: SignInHarness.mccmnc)
            let ending = try await harness.run(["doctor", "--mccmnc", SignInHarness.mccmnc])
            #expect(ending.status == (row.area == nil ? 0 : 1), "\(ending.output)")
            let problems = ending.output.split(separator: "\n").filter { $0.hasPrefix("problem") }
            #expect(problems.map { $0.split(separator: " ")[1] } == [row.area].compactMap { $0.map { $0[...] } })
            #expect(ending.output.contains(row.says), "\(ending.output)")
            #expect(!ending.output.contains(AdminHarness.secret))
            #expect(!ending.output.contains(AdminHarness.apiKey))
            // The doctor creates no database and makes no token request.
            #expect(!FileManager.default.fileExists(atPath: harness.directory.file("latchkey.db")))
            #expect(harness.simulator.log.count(.token) == 0)
        }
    }

    @Test("With --format json the report is one JSON object, with the same exit status")
    func json() async throws {
        try await AdminHarness.with { harness in
            harness.simulator.setFaults([.keysEmpty], for: SignInHarness.mccmnc)
            let ending = try await harness.run(["doctor", "--mccmnc", SignInHarness.mccmnc, "--format", "json"])
            #expect(ending.status == 1)
            let report = try #require(
                try JSONSerialization.jsonObject(with: Data(ending.output.utf8)) as? [String: Any])
            #expect(report["problems"] as? Int == 1)
            let findings = try #require(report["findings"] as? [[String: Any]])
            #expect(
                Set(findings.compactMap { $0["area"] as? String }).isSuperset(of: ["database", "clock", "api_keys"]))
            for finding in findings {
                #expect((finding["fix"] as? String == nil) == (finding["severity"] as? String == "ok"))
            }
        }
    }

    @Test("Without --mccmnc it suggests the option, and still reports an unreachable discovery service")
    func noNetwork() async throws {
        try await AdminHarness.with { harness in
            let ending = try await harness.run(["doctor"])
            #expect(ending.status == 0)
            #expect(ending.output.contains("--mccmnc 310010"))
            let down = try await harness.run(
                ["doctor"], environment: ["LATCHKEY_ZENKEY_DISCOVERY_URL": "http://127.0.0.1:9/x"])
            #expect(down.status == 1)
            #expect(down.output.contains("firewall"))
        }
    }

    @Test("An unknown client or network is a problem, and each network and client is checked")
    func clients() async throws {
        try await AdminHarness.with { harness in
            let ending = try await harness.run(
                ["doctor", "--mccmnc", "310010", "--mccmnc", "310260", "--mccmnc", "999999"],
                environment: ["LATCHKEY_ZENKEY_CLIENTS": "\(SignInHarness.clientID):\(AdminHarness.secret),unknown:x"])
            #expect(ending.status == 1)
            let problems = ending.output.split(separator: "\n").filter { $0.hasPrefix("problem") }
            #expect(problems.count == 2)
            #expect(problems.contains { $0.contains("client unknown") })
            #expect(problems.contains { $0.contains("999999") })
            #expect(ending.output.contains("carriers/310260"))
        }
    }

    @Test("An authentication method that the carrier does not list is a problem")
    func authentication() async throws {
        try await AdminHarness.with { harness in
            let file = try harness.write(
                """
                zenkey:
                  clients:
                    - id: \(SignInHarness.clientID)
                      secret: \(AdminHarness.secret)
                      token_endpoint_auth_method: client_secret_post
                """, as: "latchkey.yaml")
            harness.simulator.update(SignInHarness.mccmnc) { $0.authenticationMethods = ["client_secret_basic"] }
            let ending = try await harness.run(["doctor", "--mccmnc", SignInHarness.mccmnc, "--config", file])
            #expect(ending.status == 1)
            #expect(ending.output.contains("does not list client_secret_post"), "\(ending.output)")
        }
    }

    @Test("A database can be examined beside a running server, and an unusable one is a problem")
    func database() async throws {
        try await AdminHarness.with { harness in
            let arguments = ["doctor", "--mccmnc", SignInHarness.mccmnc]
            let server = try LatchkeyProcess(
                ["serve"], environment: harness.environment, directory: harness.directory.path)
            _ = try await server.port(after: "listening")
            let beside = try await harness.run(arguments)
            #expect(beside.status == 0, "\(beside.output)")
            #expect(beside.output.contains("its tables are up to date"))
            #expect(beside.output.contains("MiB free"))
            let library = SQLiteLibrary.current
            #expect(beside.output.contains("SQLite \(library.version)") == library.hasWALResetFault)
            server.send(SIGTERM)
            #expect(await server.ending().status == 0)
            #expect(!beside.output.contains("have no user"))
            let probe = try DatabaseProbe(path: harness.directory.file("latchkey.db")).connect()
            try probe.execute(
                """
                PRAGMA foreign_keys = OFF;
                INSERT INTO identities (issuer, subject, user_id, created_at) VALUES ('https://a.example', 'a', 9, 1)
                """)
            probe.close()
            let orphaned = try await harness.run(arguments)
            #expect(orphaned.status == 1 && orphaned.output.contains("1 identities have no user"), "\(orphaned.output)")
            let removal =
                "DELETE FROM identities WHERE NOT EXISTS (SELECT 1 FROM users WHERE users.id = identities.user_id)"
            #expect(orphaned.output.contains(removal), "\(orphaned.output)")
            try DatabaseProbe(path: harness.directory.file("latchkey.db")).change(removal)
            #expect(!(try await harness.run(arguments)).output.contains("have no user"))

            let text = try harness.write(String(repeating: "no database ", count: 100), as: "text.db")
            for path in [text, harness.directory.file("no/such/folder.db"), harness.directory.path] {
                let ending = try await harness.run(
                    arguments, environment: ["LATCHKEY_DATABASE_URL": "sqlite:///\(path)"])
                #expect(ending.status == 1)
                #expect(ending.output.contains("problem database"), "\(ending.output)")
            }
        }
    }

    @Test("Doubtful settings are warnings and do not count as problems")
    func warnings() async throws {
        try await AdminHarness.with { harness in
            let file = try harness.write(
                """
                public_url: http://127.0.0.1:8080
                zenkey:
                  clients:
                    - id: \(SignInHarness.clientID)
                      secret: \(AdminHarness.secret)
                      redirect_uris: [shop:/back, "http://127.0.0.1/cb", "https://app.example/cb", com.example:/cb]
                providers:
                  acme:
                    kind: oidc
                    issuer: \(try #require(harness.simulator.issuer(of: "acme")))
                    clients:
                      - id: \(SignInHarness.clientID)
                        secret: \(AdminHarness.secret)
                        redirect_uris: ["https://app.example/cb"]
                    pkce: off
                    nonce: off
                    accept_state_alone: true
                """, as: "latchkey.yaml")
            var environment = harness.environment
            environment["LATCHKEY_ZENKEY_CLIENTS"] = nil
            let process = try LatchkeyProcess(
                ["doctor", "--mccmnc", SignInHarness.mccmnc, "--config", file], environment: environment,
                directory: harness.directory.path)
            let ending = await process.ending()
            #expect(ending.status == 0, "\(ending.output)")
            let warnings = ending.output.split(separator: "\n").filter { $0.hasPrefix("warning") }
            #expect(warnings.filter { $0.contains("redirect_uris") }.count == 2, "\(ending.output)")
            #expect(warnings.contains { $0.contains("public_url") })
            #expect(warnings.contains { $0.contains("state alone ties a sign-in to its browser") })
            #expect(warnings.contains { $0.contains("allow_loopback_http") })
            #expect(!ending.output.contains(AdminHarness.secret))
        }
    }

    @Test("A provider without metadata is told")
    func withoutMetadata() async throws {
        try await AdminHarness.with { harness in
            let issuer = try #require(harness.simulator.issuer(of: "acme"))
            let file = try harness.write(
                """
                providers:
                  acme:
                    kind: oidc
                    issuer: \(issuer)
                    metadata_url: \(issuer)/none
                    authorization_endpoint: \(issuer)/authorize
                    token_endpoint: \(issuer)/token
                    jwks_uri: \(issuer)/jwks
                    clients:
                      - id: \(SignInHarness.clientID)
                        secret: \(AdminHarness.secret)
                        redirect_uris: ["https://app.example/cb"]
                """, as: "latchkey.yaml")
            let ending = try await harness.run(
                ["doctor", "--mccmnc", SignInHarness.mccmnc, "--config", file], environment: [:])
            #expect(ending.output.contains("it has no metadata (HTTP status 404)"), "\(ending.output)")
        }
    }

    @Test("A bad configuration exits with status 78 in the requested format, and wrong options with 64")
    func badConfiguration() async throws {
        try await AdminHarness.with { harness in
            let bad = ["LATCHKEY_LOG_LEVEL": "loud", "LATCHKEY_ZENKEY_CLIENTS": "no-secret-here-hunter2"]
            let text = try await harness.run(["doctor"], environment: bad)
            #expect(text.status == 78)
            #expect(text.output.contains("log.level"))
            let json = try await harness.run(["doctor", "--format", "json"], environment: bad)
            #expect(json.status == 78)
            let report = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
            #expect(report["problems"] as? Int == 2)
            #expect(!(text.output + json.output).contains("hunter2"))
            #expect(try await harness.run(["doctor", "--mccmnc", "31"]).status == 64)
            #expect(try await harness.run(["doctor", "--format", "xml"]).status == 64)
        }
    }
}
