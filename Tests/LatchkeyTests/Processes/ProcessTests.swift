import CarrierSimulator
import Crypto
import Foundation
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import Primitives
import Storage
import TestSupport
import Testing

/// The built program: its output, its exit status, and its data after a kill.
@Suite(.serialized) struct ProcessTests {
    private func environment(_ simulator: CarrierSimulator, database: String) -> [String: String] {
        [
            "LATCHKEY_HTTP_PORT": "0", "LATCHKEY_DATABASE_URL": "sqlite:///\(database)",
            "LATCHKEY_API_KEYS": "test-key", "LATCHKEY_ALLOW_LOOPBACK_HTTP": "true",
            "LATCHKEY_ZENKEY_CLIENTS": "\(SignInHarness.clientID):s3cret",
            "LATCHKEY_ZENKEY_TRUSTED_ISSUERS": "127.0.0.1",
            "LATCHKEY_ZENKEY_DISCOVERY_URL": simulator.discoveryURL ?? "", "LATCHKEY_LOG_LEVEL": "verbose",
        ]
    }

    private func withSimulator(_ body: (CarrierSimulator, TemporaryDirectory) async throws -> Void) async throws {
        let simulator = CarrierSimulator(
            clients: [
                .init(id: SignInHarness.clientID, secret: Secret("s3cret"), redirectURIs: [SignInHarness.redirectURI])
            ])
        let running = try simulator.start()
        let directory = try TemporaryDirectory()
        do { try await body(simulator, directory) } catch {
            await running.shutdown()
            throw error
        }
        await running.shutdown()
    }

    private func fields(_ simulator: CarrierSimulator) throws -> [String: String] {
        let verifier = RandomSource.system.token()
        let challenge = Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 })
        let code = try simulator.issueCode(
            mccmnc: SignInHarness.mccmnc, clientID: SignInHarness.clientID, redirectURI: SignInHarness.redirectURI,
            codeChallenge: challenge)
        return [
            "client_id": SignInHarness.clientID, "code": code, "mccmnc": SignInHarness.mccmnc,
            "redirect_uri": SignInHarness.redirectURI,
            "code_verifier": verifier,
        ]
    }

    @Test(
        "Another process of the same user cannot read the server's memory, unless the operator allows it",
        arguments: [false, true])
    func memoryDumps(isAllowed: Bool) async throws {
        try await withSimulator { simulator, directory in
            var environment = environment(simulator, database: directory.path + "/latchkey.db")
            if isAllowed { environment["LATCHKEY_DEBUG_MEMORY_DUMPS"] = "true" }
            // Root may read all memory, unless it lacks this capability.
            let launcher = getuid() == 0 ? ["setpriv", "--bounding-set", "-sys_ptrace"] : []
            let process = try LatchkeyProcess(["serve"], under: launcher, environment: environment)
            _ = try await process.port(after: "listening")
            // What may read this link may read the memory (ptrace(2)).
            let reader = Process()
            reader.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            reader.arguments = launcher + ["readlink", "/proc/\(process.identifier)/exe"]
            reader.standardOutput = FileHandle.nullDevice
            reader.standardError = FileHandle.nullDevice
            try reader.run()
            reader.waitUntilExit()
            #expect((reader.terminationStatus == 0) == isAllowed)
            process.send(SIGTERM)
            #expect(await process.ending().status == 0)
        }
    }

    @Test("The log says what each port serves, and its JSON has numbers as numbers")
    func listeningLines() async throws {
        try await withSimulator { simulator, directory in
            var environment = environment(simulator, database: directory.path + "/latchkey.db")
            environment.merge([
                "LATCHKEY_METRICS_PORT": "0", "LATCHKEY_LOG_FORMAT": "json", "LATCHKEY_LOG_LEVEL": "verbose",
                "LATCHKEY_TLS_CERTIFICATE_FILE": directory.file("chain.pem"),
                "LATCHKEY_TLS_PRIVATE_KEY_FILE": directory.file("key.pem"), "LATCHKEY_TLS_PORT": "0",
                "LATCHKEY_TLS_REDIRECT_PORT": "0", "LATCHKEY_PUBLIC_URL": "https://login.example.com",
            ]) { $1 }
            try directory.write(TLSTexts.chain, as: "chain.pem")
            try directory.write(TLSTexts.key, as: "key.pem")
            let process = try LatchkeyProcess(["serve"], environment: environment)
            let app = App(port: try await process.port(after: #""serves":"api""#))
            _ = try await app.send("GET", "/healthz")
            process.send(SIGTERM)
            let ending = await process.ending()
            #expect(ending.status == 0)
            let lines = ending.output.split(separator: "\n").compactMap {
                try? JSONValue(parsing: Array($0.utf8)).object
            }
            let listening = lines.filter { $0["message"] == "listening" }
            let served = listening.map { line in
                "\(line["serves"]?.string ?? "") \(line["url"]?.string?.prefix { $0 != ":" } ?? "")"
            }
            #expect(served == ["api http", "api https", "redirects http", "metrics http"], "\(ending.output)")
            let request = try #require(lines.first { $0["message"] == "request" }, "\(ending.output)")
            #expect(request["status"] == 200 && request["ms"]?.double != nil)
        }
    }

    @Test("Acknowledged sessions survive a kill under load")
    func killed() async throws {
        try await withSimulator { simulator, directory in
            let environment = environment(simulator, database: directory.path + "/latchkey.db")
            let process = try LatchkeyProcess(["serve"], environment: environment)
            let app = App(port: try await process.port(after: "listening"))
            let codes = try (0..<600).map { _ in try fields(simulator) }

            // Eight apps sign in at full speed; the process is killed after 60 responses.
            let acknowledged = await withTaskGroup(of: [String].self) { group in
                let answers = CallCounter()
                for worker in 0..<8 {
                    group.addTask {
                        var tokens: [String] = []
                        for index in stride(from: worker, to: codes.count, by: 8) {
                            guard let answer = try? await app.signIn(codes[index]), answer.status == 200,
                                let token = answer.token
                            else { break }
                            tokens.append(token)
                            if answers.increment() == 60 { process.send(SIGKILL) }
                        }
                        return tokens
                    }
                }
                return await group.reduce(into: []) { $0 += $1 }
            }
            #expect(await process.ending().status == SIGKILL)
            #expect(acknowledged.count >= 60)
            #expect(acknowledged.count < codes.count)

            let again = try LatchkeyProcess(["serve"], environment: environment)
            let reborn = App(port: try await again.port(after: "listening"))
            var lost = 0
            for token in acknowledged where try await reborn.me(token).status != 200 { lost += 1 }
            #expect(lost == 0)
            again.send(SIGTERM)
            #expect(await again.ending().status == 0)
        }
    }

    @Test("After a kill a repeated sign-in gets the same user without a request to the carrier, until a sign-out")
    func killedAfterSignIn() async throws {
        try await withSimulator { simulator, directory in
            let environment = environment(simulator, database: directory.path + "/latchkey.db")
            let requests = try (0..<2).map { _ in try fields(simulator) }
            let process = try LatchkeyProcess(["serve"], environment: environment)
            let app = App(port: try await process.port(after: "listening"))
            var tokens: [String] = []
            for request in requests { tokens.append(try #require(try await app.signIn(request).token)) }
            let user = try await app.me(tokens[0]).json["user_id"]?.integer
            process.send(SIGKILL)
            #expect(await process.ending().status == SIGKILL)

            let again = try LatchkeyProcess(["serve"], environment: environment)
            let reborn = App(port: try await again.port(after: "listening"))
            let repeated = try await reborn.signIn(requests[0])
            #expect(repeated.status == 200)
            #expect(repeated.json["new_user"]?.bool == true)
            #expect(try await reborn.me(try #require(repeated.token)).json["user_id"]?.integer == user)
            #expect(try await reborn.me(tokens[0]).json["user_id"]?.integer == user)
            // After a sign-out no sign-in of the user can be repeated.
            #expect(try await reborn.signOut(tokens[0]).status == 200)
            for request in requests { #expect(try await reborn.signIn(request).error == "invalid_grant") }
            #expect(simulator.log.tokenPosts() == 2)
            again.send(SIGTERM)
            #expect(await again.ending().status == 0)
        }
    }

    @Test("A refresh survives a kill, and its repetition gets the same tokens")
    func killedAfterRefresh() async throws {
        try await withSimulator { simulator, directory in
            let environment = environment(simulator, database: directory.path + "/latchkey.db")
            let process = try LatchkeyProcess(["serve"], environment: environment)
            let app = App(port: try await process.port(after: "listening"))
            let old = try #require(try await app.signIn(try fields(simulator)).refreshToken)
            let new = try await app.refresh(old)
            process.send(SIGKILL)
            #expect(await process.ending().status == SIGKILL)

            let again = try LatchkeyProcess(["serve"], environment: environment)
            let reborn = App(port: try await again.port(after: "listening"))
            #expect(try await reborn.me(try #require(new.token)).status == 200)
            let repeated = try await reborn.refresh(old)
            #expect(repeated.status == 200)
            #expect(repeated.token == new.token)
            #expect(repeated.refreshToken == new.refreshToken)
            #expect(try await reborn.refresh(try #require(new.refreshToken)).status == 200)
            again.send(SIGTERM)
            #expect(await again.ending().status == 0)
        }
    }

    @Test("SIGTERM and SIGINT end the process with status 0", arguments: [SIGTERM, SIGINT])
    func terminated(signal: Int32) async throws {
        try await withSimulator { simulator, directory in
            var environment = environment(simulator, database: directory.path + "/latchkey.db")
            // As Kubernetes sets it beside a service of the name latchkey-metrics.
            environment["LATCHKEY_METRICS_PORT"] = "tcp://10.0.0.1:9000"
            let process = try LatchkeyProcess(["serve"], environment: environment)
            let app = App(port: try await process.port(after: "listening"))
            #expect(try await app.send("GET", "/healthz").status == 200)
            #expect(try await app.send("GET", "/readyz").status == 200)
            process.send(signal)
            #expect(await process.ending().status == 0)
        }
    }

    @Test("A locked database is not ready, and that is known long before the wait for the lock ends")
    func lockedDatabase() async throws {
        try await withSimulator { simulator, directory in
            let database = directory.path + "/latchkey.db"
            let process = try LatchkeyProcess(["serve"], environment: environment(simulator, database: database))
            let app = App(port: try await process.port(after: "listening"))
            try await DatabaseProbe(path: database).whileLocked {
                // The server waits five seconds for the lock. A busy machine may let one request take as long.
                var shortest = Duration.seconds(60)
                for _ in 0..<5 where shortest >= .seconds(4) {
                    let asked = ContinuousClock.now
                    #expect(try await app.send("GET", "/readyz").status == 503)
                    shortest = min(shortest, ContinuousClock.now - asked)
                }
                #expect(shortest < .seconds(4))
                let health = try await app.send("GET", "/healthz").status
                #expect(health == 200)
            }
            try await until { try await app.send("GET", "/readyz").status == 200 }
            process.send(SIGTERM)
            #expect(await process.ending().status == 0)
        }
    }

    @Test("A server that cannot listen exits with status 1 and a remedy")
    func cannotListen() async throws {
        try await withSimulator { simulator, directory in
            var environment = environment(simulator, database: directory.path + "/latchkey.db")
            let process = try LatchkeyProcess(["serve"], environment: environment, directory: directory.path)
            environment["LATCHKEY_HTTP_PORT"] = "\(try await process.port(after: "listening"))"
            let second = await (try LatchkeyProcess(["serve"], environment: environment)).ending()
            #expect(second.status == 1)
            #expect(second.output.contains("Stop the other server, or choose another port with http.port"))
            process.send(SIGTERM)
            #expect(await process.ending().status == 0)

            // TEST-NET-3 (RFC 5737): no machine has this address.
            environment["LATCHKEY_HTTP_HOST"] = "203.0.113.1"
            let elsewhere = await (try LatchkeyProcess(["serve"], environment: environment)).ending()
            #expect(elsewhere.status == 1)
            #expect(elsewhere.output.contains("Choose another address with http.host and http.port"))
            #expect(!elsewhere.output.contains("Stop the other server"))
        }
    }

    @Test("A command beside a running server leaves the write-ahead log to it")
    func logOfServer() async throws {
        try await withSimulator { simulator, directory in
            let environment = environment(simulator, database: directory.path + "/latchkey.db")
            let process = try LatchkeyProcess(["serve"], environment: environment)
            let app = App(port: try await process.port(after: "listening"))
            for _ in 0..<10 { #expect(try await app.signIn(try fields(simulator)).status == 200) }
            let size = { FileAttributes(directory.path + "/latchkey.db-wal")?.size ?? 0 }
            let before = size()
            let command = try LatchkeyProcess(["api-key", "create", "web"], environment: environment)
            #expect(await command.ending().status == 0)
            #expect(size() > before)
            #expect(try await app.signIn(try fields(simulator)).status == 200)
            process.send(SIGTERM)
            let ending = await process.ending()
            #expect(ending.status == 0)
            // An SQLite that is damaged by two processes that do the same is named at the start.
            let library = SQLiteLibrary.current
            #expect(ending.output.contains("sqlite=\(library.version)") == library.hasWALResetFault)
        }
    }

    @Test("The log never contains a code, verifier, token, secret, key or subject")
    func secrecy() async throws {
        try await withSimulator { simulator, directory in
            let process = try LatchkeyProcess(
                ["serve"], environment: environment(simulator, database: directory.path + "/latchkey.db"))
            let app = App(port: try await process.port(after: "listening"))
            var secrets = ["s3cret", "test-key"]
            let faults: [CarrierSimulator.Fault?] = [nil, .idTokenWrongNonce, .token500, .tokenInvalidGrant]
            for fault in faults {
                simulator.setFaults(fault.map { [$0] } ?? [], for: SignInHarness.mccmnc)
                let fields = try fields(simulator)
                secrets += [fields["code"], fields["code_verifier"]].compactMap { $0 }
                let answer = try await app.signIn(fields)
                if let token = answer.token {
                    let refreshed = try await app.refresh(answer.refreshToken ?? "")
                    secrets += [token, answer.refreshToken, refreshed.token, refreshed.refreshToken].compactMap { $0 }
                    _ = try await app.me(token)
                    let query = "/users/me?token=\(token)"
                    _ = try await app.send("GET", query, headers: ["Authorization: Bearer \(token)"])
                    _ = try await app.signOut(token)
                }
                _ = try await app.send(
                    "POST", "/auth/zenkey-signin", headers: ["Content-Type: application/json"],
                    body: "{\"code\":\"\(secrets[2])\",")
            }
            process.send(SIGTERM)
            let log = await process.ending().output
            #expect(log.contains("correlation_id="))
            for secret in secrets { #expect(!log.contains(secret)) }
            #expect(!log.contains("\(SignInHarness.mccmnc)-"), "a subject begins with the network's code")
        }
    }

    @Test("A bad configuration exits with status 78, lists every problem, and shows no secret")
    func badConfiguration() async throws {
        let process = try LatchkeyProcess(
            ["serve"],
            environment: [
                "LATCHKEY_HTTP_PORT": "70000", "LATCHKEY_ZENKEY_CLIENTS": "no-secret-here-hunter2",
                "LATCHKEY_ZENKEY_DISCOVERY_URL": "http://carrier.example/", "LATCHKEY_LOG_LEVEL": "loud",
            ])
        let ending = await process.ending()
        #expect(ending.status == 78)
        for key in ["http.port", "zenkey.clients", "zenkey.discovery_url", "log.level", "api_keys"] {
            #expect(ending.output.contains(key), "\(key)")
        }
        #expect(!ending.output.contains("hunter2"))
    }

    @Test("A port in use and a database that cannot be opened are reported with status 1")
    func cannotStart() async throws {
        try await withSimulator { simulator, directory in
            var environment = environment(simulator, database: directory.path + "/latchkey.db")
            environment["LATCHKEY_HTTP_PORT"] = simulator.baseURL?.split(separator: ":").last.map(String.init)
            let taken = await (try LatchkeyProcess(["serve"], environment: environment)).ending()
            #expect(taken.status == 1)
            #expect(taken.output.contains("http.port"))
            environment["LATCHKEY_DATABASE_URL"] = "sqlite:///\(directory.path)/no/such/folder.db"
            let unopened = await (try LatchkeyProcess(["serve"], environment: environment)).ending()
            #expect(unopened.status == 1)
            #expect(unopened.output.contains("database"))
        }
    }

    @Test(
        "Help and version print text and exit with status 0",
        arguments: [["--help"], ["--version"], ["help", "serve"]])
    func help(arguments: [String]) async throws {
        let ending = await (try LatchkeyProcess(arguments)).ending()
        #expect(ending.status == 0)
        #expect(!ending.output.isEmpty)
    }

    @Test(
        "health requests the address of the configuration, and of a wildcard the loopback address",
        arguments: [
            (["127.0.0.1"], "127.0.0.1"), (["0.0.0.0"], "127.0.0.1"), (["::"], "127.0.0.1"),
            (["::", "10.0.0.7"], "[::1]"), (["localhost"], "localhost"), (["::1"], "[::1]"), (["10.0.0.7"], "10.0.0.7"),
        ])
    func healthURL(hosts: [String], host: String) throws {
        var http = Configuration().http
        (http.hosts, http.port) = (hosts, 9000)
        #expect(try HealthCheck.url(of: http) == "http://\(host):9000/healthz")
        http.port = 0
        #expect(throws: AdministratorError.self) { try HealthCheck.url(of: http) }
    }

    @Test("The image listens on both families by default, and its health check finds it")
    func imageHost() throws {
        let variable = "LATCHKEY_HTTP_HOST"
        let line = try Repository.text("Dockerfile").split(separator: "\n").first { $0.contains(variable + "=") }
        let host = try #require(line).split(separator: "=").last?.prefix { $0 != " " } ?? ""
        let http = try ConfigurationLoader(FeatureList.standard.settings)
            .load(file: nil, environment: [variable: String(host)], purpose: .health).configuration.http
        #expect(http.hosts == ["::"])
        #expect(try HealthCheck.url(of: http) == "http://127.0.0.1:\(http.port)/healthz")
    }

    @Test("check-config accepts a configuration that serve accepts, and health reports whether the server runs")
    func checkAndHealth() async throws {
        try await withSimulator { simulator, directory in
            let environment = environment(simulator, database: directory.path + "/latchkey.db")
            #expect(await (try LatchkeyProcess(["check-config"], environment: environment)).ending().status == 0)
            let process = try LatchkeyProcess(["serve"], environment: environment)
            let port = try await process.port(after: "listening")
            #expect(await (try LatchkeyProcess(["health", "http://127.0.0.1:\(port)/healthz"])).ending().status == 0)
            let variables = ["LATCHKEY_HTTP_PORT": String(port)]
            #expect(await (try LatchkeyProcess(["health"], environment: variables)).ending().status == 0)
            // What the server has read may be broken now.
            let file = directory.file("health.yaml")
            for (text, status) in [("http: {port: \(port)}\nlog: {level: loud}", Int32(0)), ("http: {prot: 1}", 78)] {
                try Data(text.utf8).write(to: URL(fileURLWithPath: file))
                #expect(await (try LatchkeyProcess(["health", "--config", file])).ending().status == status)
            }
            process.send(SIGTERM)
            #expect(await process.ending().status == 0)
            #expect(await (try LatchkeyProcess(["health", "http://127.0.0.1:\(port)/healthz"])).ending().status == 1)
        }
    }
}
