import CarrierSimulator
import Foundation
import LatchkeyService
import TestSupport
import Testing

/// `latchkey doctor`, run as a process of its own.
@Suite(.serialized) struct DoctorTests {
    typealias Fault = CarrierSimulator.Fault

    struct Row: Sendable, CustomTestStringConvertible {
        let fault: Fault?
        /// The area of the one problem there must be; nil for none.
        let area: String?
        /// What the output must say.
        let says: String
        var testDescription: String { fault?.rawValue ?? "no fault" }

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
    ]

    @Test("Each fault of a carrier is found where it is, with what to do", arguments: rows)
    func faults(row: Row) async throws {
        try await AdminHarness.with { stage in
            stage.simulator.setFaults(row.fault.map { [$0] } ?? [], for: SignInHarness.mccmnc)
            let ending = try await stage.run(["doctor", "--mccmnc", SignInHarness.mccmnc])
            #expect(ending.status == (row.area == nil ? 0 : 1), "\(ending.output)")
            let problems = ending.output.split(separator: "\n").filter { $0.hasPrefix("problem") }
            #expect(problems.map { $0.split(separator: " ")[1] } == [row.area].compactMap { $0.map { $0[...] } })
            #expect(ending.output.contains(row.says), "\(ending.output)")
            #expect(!ending.output.contains(AdminHarness.secret))
            #expect(!ending.output.contains(AdminHarness.apiKey))
            // Nothing was made, and nobody signed in.
            #expect(!FileManager.default.fileExists(atPath: stage.directory.file("latchkey.db")))
            #expect(stage.simulator.log.count(.token) == 0)
        }
    }

    @Test("For programs there is one JSON object, with the same end")
    func json() async throws {
        try await AdminHarness.with { stage in
            stage.simulator.setFaults([.keysEmpty], for: SignInHarness.mccmnc)
            let ending = try await stage.run(["doctor", "--mccmnc", SignInHarness.mccmnc, "--format", "json"])
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

    @Test("Without a network it says what it did not look at, and still whether discovery answers")
    func noNetwork() async throws {
        try await AdminHarness.with { stage in
            let ending = try await stage.run(["doctor"])
            #expect(ending.status == 0)
            #expect(ending.output.contains("--mccmnc 310010"))
            let down = try await stage.run(
                ["doctor"], environment: ["LATCHKEY_ZENKEY_DISCOVERY_URL": "http://127.0.0.1:9/x"])
            #expect(down.status == 1)
            #expect(down.output.contains("firewall"))
        }
    }

    @Test("A client that discovery does not know is a problem, each network and client is asked about")
    func clients() async throws {
        try await AdminHarness.with { stage in
            let ending = try await stage.run(
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

    @Test("A way to authenticate that the carrier does not list is a problem")
    func authentication() async throws {
        try await AdminHarness.with { stage in
            let file = try stage.write(
                """
                zenkey:
                  clients:
                    - id: \(SignInHarness.clientID)
                      secret: \(AdminHarness.secret)
                      token_endpoint_auth_method: client_secret_post
                """, as: "latchkey.yaml")
            stage.simulator.update(SignInHarness.mccmnc) { $0.authenticationMethods = ["client_secret_basic"] }
            let ending = try await stage.run(["doctor", "--mccmnc", SignInHarness.mccmnc, "--config", file])
            #expect(ending.status == 1)
            #expect(ending.output.contains("does not list client_secret_post"), "\(ending.output)")
        }
    }

    @Test("A database is looked at beside a running server, and one that cannot be used is a problem")
    func database() async throws {
        try await AdminHarness.with { stage in
            let arguments = ["doctor", "--mccmnc", SignInHarness.mccmnc]
            let server = try LatchkeyProcess(["serve"], environment: stage.environment, directory: stage.directory.path)
            _ = try await server.port(after: "listening")
            let beside = try await stage.run(arguments)
            #expect(beside.status == 0, "\(beside.output)")
            #expect(beside.output.contains("its tables are up to date"))
            #expect(beside.output.contains("MiB free"))
            server.send(SIGTERM)
            #expect(await server.ending().status == 0)

            let text = try stage.write(String(repeating: "no database ", count: 100), as: "text.db")
            for path in [text, stage.directory.file("no/such/folder.db"), stage.directory.path] {
                let ending = try await stage.run(arguments, environment: ["LATCHKEY_DATABASE_URL": "sqlite:///\(path)"])
                #expect(ending.status == 1)
                #expect(ending.output.contains("problem database"), "\(ending.output)")
            }
        }
    }

    @Test("What is doubtful in the configuration is a warning, and does not count as a problem")
    func warnings() async throws {
        try await AdminHarness.with { stage in
            let file = try stage.write(
                """
                public_url: http://127.0.0.1:8080
                zenkey:
                  clients:
                    - id: \(SignInHarness.clientID)
                      secret: \(AdminHarness.secret)
                      redirect_uris: [shop:/back, "http://127.0.0.1/cb", "https://app.example/cb", com.example:/cb]
                """, as: "latchkey.yaml")
            var environment = stage.environment
            environment["LATCHKEY_ZENKEY_CLIENTS"] = nil
            let process = try LatchkeyProcess(
                ["doctor", "--mccmnc", SignInHarness.mccmnc, "--config", file], environment: environment,
                directory: stage.directory.path)
            let ending = await process.ending()
            #expect(ending.status == 0, "\(ending.output)")
            let warnings = ending.output.split(separator: "\n").filter { $0.hasPrefix("warning") }
            #expect(warnings.filter { $0.contains("redirect_uris") }.count == 2, "\(ending.output)")
            #expect(warnings.contains { $0.contains("public_url") })
            #expect(warnings.contains { $0.contains("allow_loopback_http") })
            #expect(!ending.output.contains(AdminHarness.secret))
        }
    }

    @Test("A bad configuration ends it with 78, in the format asked for; wrong options with 64")
    func badConfiguration() async throws {
        try await AdminHarness.with { stage in
            let bad = ["LATCHKEY_LOG_LEVEL": "loud", "LATCHKEY_ZENKEY_CLIENTS": "no-secret-here-hunter2"]
            let text = try await stage.run(["doctor"], environment: bad)
            #expect(text.status == 78)
            #expect(text.output.contains("log.level"))
            let json = try await stage.run(["doctor", "--format", "json"], environment: bad)
            #expect(json.status == 78)
            let report = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
            #expect(report["problems"] as? Int == 2)
            #expect(!(text.output + json.output).contains("hunter2"))
            #expect(try await stage.run(["doctor", "--mccmnc", "31"]).status == 64)
            #expect(try await stage.run(["doctor", "--format", "xml"]).status == 64)
        }
    }
}
