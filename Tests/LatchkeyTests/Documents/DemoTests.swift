import Foundation
import TestSupport
import Testing

/// Runs the commands of the README and the guides in a shell.
@Suite(.serialized) struct DemoTests {
    /// The shell commands of a document under `<!-- snippet: NAME -->`.
    private func snippet(_ name: String, of document: String = "README.md") throws -> String {
        let text = try Repository.text(document)
        let start = try #require(text.range(of: "<!-- snippet: \(name) -->\n```sh\n")).upperBound
        let end = try #require(text.range(of: "\n```", range: start..<text.endIndex)).lowerBound
        return String(text[start..<end])
    }

    private func shell(
        _ script: String, token: String = "", environment: [String: String] = [:], in directory: String? = nil
    ) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", script]
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let programs = LatchkeyProcess.program?.deletingLastPathComponent().path ?? ""
        process.environment = ["PATH": programs + ":" + path, "TOKEN": token]
            .merging(Patience.sanitizerOptions) { $1 }.merging(environment) { $1 }
        if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    @Test("The curl commands of the README and the quick start sign a user in, show the session, and end it")
    func readme() async throws {
        let directory = try TemporaryDirectory()
        let demo = try LatchkeyProcess.demonstration(directory: directory.path)
        let port = try await demo.port(after: "Latchkey")
        let simulator = try await demo.port(after: "simulated carriers are at")
        func here(_ script: String) -> String {
            script.replacingOccurrences(of: ":8080", with: ":\(port)")
                .replacingOccurrences(of: ":8081", with: ":\(simulator)")
        }
        let signIn = try shell(here(try snippet("demo")))
        let response = try #require(
            try JSONSerialization.jsonObject(with: Data(signIn.utf8)) as? [String: Any], "\(signIn)")
        let token = try #require(response["token"] as? String)
        #expect(response["new_user"] as? Bool == true)

        let commands = here(try snippet("session", of: "docs/README.md"))
        let session = try shell(commands, token: token)
        #expect(session.contains("user_id"))
        #expect(session.hasSuffix("{}"))
        #expect(try shell(commands, token: token).contains("invalid_token"))

        // The demonstration prints the same command.
        let printed = demo.said
        #expect(printed.contains("/demo/codes"))
        #expect(printed.contains("/auth/zenkey-signin"))
        #if DEBUG
            #expect(printed.contains("This is a debug build"))
            #expect(try shell("latchkey --version").contains(" (debug build, commit "))
        #endif
        demo.send(SIGINT)
        #expect(await demo.ending().status == 0)
    }

    @Test("The demonstration has the console in every directory, and the files of files.directory in its place")
    func pages() async throws {
        let directory = try TemporaryDirectory(files: ["own/index.html": "<p>own</p>"])
        for (folder, content) in [("", "id=\"console\""), ("own", "<p>own</p>")] {
            let demo = try LatchkeyProcess.demonstration(
                environment: ["LATCHKEY_FILES_DIRECTORY": folder], directory: directory.path)
            let port = try await demo.port(after: "Latchkey")
            _ = try await demo.wait { $0.contains("Bearer TOKEN") ? true : nil }
            #expect(demo.said.contains("Open it in a browser"))
            _ = try await demo.wait { $0.contains("sqlite:///latchkey-demo.db latchkey capsule list") ? true : nil }
            #expect(try await Browser().get("http://127.0.0.1:\(port)/").text.contains(content))
            demo.send(SIGINT)
            #expect(await demo.ending().status == 0)
        }
    }

    @Test("A folder of files that does not exist is refused at the start")
    func noFolder() async throws {
        let directory = try TemporaryDirectory()
        let demo = try LatchkeyProcess.demonstration(
            environment: ["LATCHKEY_FILES_DIRECTORY": "/nonexistent/files"], directory: directory.path)
        let ending = await demo.ending()
        #expect(ending.status == 1)
        #expect(ending.output.contains("files.directory: there is no folder /nonexistent/files"), "\(ending.output)")
    }

    @Test("A demonstration whose port is in use names the option for another port")
    func takenPort() async throws {
        try await withDemo { directory, here in
            let port = try #require(UInt16(here(":8080").dropFirst()))
            let second = try LatchkeyProcess.demonstration(port: port, directory: directory)
            let ending = await second.ending()
            #expect(ending.status == 1)
            #expect(ending.output.contains("choose another port with --port"), "\(ending.output)")
            #expect(!ending.output.contains("http.port"))
        }
    }

    @Test("The demonstration says which keys of a configuration it does not use")
    func unusedKeys() async throws {
        let directory = try TemporaryDirectory(files: [
            "own.yaml": """
            http: {port: 8443, host: 10.0.0.7}
            api_keys: [HIDDEN-api-key-0123456789]
            zenkey: {par: always, clients: [{id: own, secret: HIDDEN-secret}]}
            sessions: {access_lifetime: 10m}
            vault: {encryption_keys: ['\(ResourceHarness.key)']}
            """
        ])
        let demo = try LatchkeyProcess.demonstration(
            ["--config", "own.yaml"], environment: ["LATCHKEY_DATABASE_URL": "sqlite:///own.db"],
            directory: directory.path)
        _ = try await demo.wait { $0.contains("Bearer TOKEN") ? true : nil }
        demo.send(SIGINT)
        let ending = await demo.ending()
        #expect(ending.status == 0)
        let warnings = ending.output.split(separator: "\n").filter { $0.hasPrefix("warning: ") }.map(String.init)
        let unused = "is not used, because the demonstration has its own value;"
        #expect(
            warnings == [
                "warning: vault.encryption_keys: is the former name of a key; move its keys to encryption_keys "
                    + "[own.yaml line 5]",
                "warning: database.url: \(unused) give --database, or run latchkey serve with it "
                    + "[LATCHKEY_DATABASE_URL]",
                "warning: api_keys: \(unused) run latchkey serve with it [own.yaml line 2]",
                "warning: http.host: \(unused) run latchkey serve with it [own.yaml line 1]",
                "warning: http.port: \(unused) give --port, or run latchkey serve with it [own.yaml line 1]",
                "warning: zenkey.clients: \(unused) run latchkey serve with it [own.yaml line 3]",
                "warning: zenkey.par: \(unused) run latchkey serve with it [own.yaml line 3]",
            ])
        #expect(!ending.output.contains("HIDDEN"))
    }

    private func withDemo(_ body: (_ directory: String, _ here: (String) -> String) async throws -> Void) async throws {
        let directory = try TemporaryDirectory()
        let demo = try LatchkeyProcess.demonstration(directory: directory.path)
        let port = try await demo.port(after: "Latchkey")
        let simulator = try await demo.port(after: "simulated carriers are at")
        try await body(directory.path) { script in
            script.replacingOccurrences(of: ":8080", with: ":\(port)")
                .replacingOccurrences(of: ":8081", with: ":\(simulator)")
        }
        demo.send(SIGINT)
        #expect(await demo.ending().status == 0)
    }

    @Test("The commands of docs/approvals.md ask a user, approve, and get the session")
    func backchannelAuthentication() async throws {
        let document = "docs/approvals.md"
        try await withDemo { _, here in
            let started = try shell(here(try snippet("start", of: document)))
            let response = try #require(
                try JSONSerialization.jsonObject(with: Data(started.utf8)) as? [String: Any], "\(started)")
            let handle = try #require(response["auth_req_id"] as? String, "\(started)")
            #expect(try shell(here(try snippet("approve", of: document))).contains("204"))
            let session = try shell(here(try snippet("poll", of: document)), environment: ["AUTH_REQ_ID": handle])
            #expect(session.contains("refresh_token"), "\(session)")
        }
    }

    @Test("The commands of docs/accounts.md move an account and show it to the operator")
    func migration() async throws {
        let document = "docs/accounts.md"
        try await withDemo { directory, here in
            let moved = try shell(here(try snippet("port", of: document)))
            #expect(moved.components(separatedBy: "\"new_user\":true").count == 2, "\(moved)")
            #expect(moved.components(separatedBy: "\"new_user\":false").count == 2, "\(moved)")
            let shown = try shell(here(try snippet("operator", of: document)), in: directory)
            #expect(shown.contains("identity.moved"), "\(shown)")
            #expect(shown.contains("user 1 public_id="), "\(shown)")
            #expect(shown.contains("/carriers/310410"), "\(shown)")
        }
    }

    @Test(
        "An app finds every way of a phone at the demonstration, and signs in with a credential, a link and an account")
    func phone() async throws {
        try await withDemo { _, here in
            func ask(_ url: String, _ body: [String: Any]? = nil) throws -> [String: Any] {
                let json = try body.map {
                    String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self)
                }
                let sent = json == nil ? "" : #"-d "$BODY""#
                let script = "curl -sS '\(url)' -H 'X-API-KEY: demo-key' -H 'Content-Type: application/json' \(sent)"
                let answer = try shell(here(script), environment: ["BODY": json ?? ""])
                return try #require(
                    try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any], "\(answer)")
            }
            let (server, simulator) = ("http://127.0.0.1:8080", "http://127.0.0.1:8081")
            func ways(_ query: String) throws -> [String] {
                let methods = try ask("\(server)/auth/number/methods?\(query)")["methods"] as? [[String: Any]]
                return try #require(methods).map {
                    "\($0["method"] ?? ""): \($0["provider"] ?? ""), \($0["requires"] ?? "")"
                }
            }
            #expect(
                try ways("platform=android&mccmnc=310010") == [
                    "digital_credential: carriers, credential_manager", "operator_token: number, sim",
                    "firebase_pnv: firebase, play_services", "redirect: number, mobile_data",
                ])
            #expect(try ways("platform=ios") == ["digital_credential: carriers, mobile_data"])

            let start = server + "/auth/carriers/start"
            let asked = try ask(start, ["method": "digital_credential", "mccmnc": "310010"])
            let credential = try ask(
                simulator + "/aggregator/wallet",
                [
                    "request": try #require(asked["request"]), "origin": "https://app.example",
                    "phone_number": "+12025550190",
                ])
            let id = try #require(asked["sign_in_id"])
            #expect(try ask("\(start)/\(id)/confirmation", credential)["new_user"] as? Bool == true)

            let redirectURI = "com.example.app:/callback"
            let linked = try ask(start, ["method": "digital_credential", "redirect_uri": redirectURI])
            let url = try #require(linked["authorization_url"])
            let fields = try shell(
                "curl -sS -D - -o /dev/null '\(url)' -H 'Cookie: simulated_device=cellular:harbor:otto'")
            let code = try #require(fields.firstMatch(of: /ocation: com\.example\.app:\/callback\?code=(\S+)/)?.1)
            let link = try #require(linked["sign_in_id"])
            #expect(try ask("\(start)/\(link)/confirmation", ["code": String(code)])["new_user"] as? Bool == true)

            let attempt = try ask(server + "/auth/google/attempts", [:])
            let token = try ask(
                simulator + "/providers/google/native-tokens", ["nonce": try #require(attempt["nonce"])])
            let account = token.filter { ["id_token", "nonce"].contains($0.key) }
            #expect(try ask(server + "/auth/google/native", account)["new_user"] as? Bool == true)
        }
    }

    @Test("The first configuration of docs/operations.md is valid: the server would start with it")
    func serve() async throws {
        let directory = try TemporaryDirectory()
        let example = try #require(
            try Example.all().first { $0.document == "docs/operations.md" && $0.language == "yaml" })
        let text = example.text.replacing("id: …", with: "id: client-1")
            .replacing("/run/secrets/", with: directory.path + "/")
            .replacing("//var/lib/latchkey", with: directory.path)
        for (file, content) in [("latchkey.yaml", text), ("latchkey-api-keys", "test-api-key"), ("acme", "secret")] {
            try Data(content.utf8).write(to: URL(fileURLWithPath: directory.file(file)))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: directory.file(file))
        }
        let arguments = ["check-config", "--config", directory.file("latchkey.yaml"), "--keys"]
        let ending = await (try LatchkeyProcess(arguments)).ending()
        #expect(ending.status == 0, "\(ending.output)")
        #expect(ending.output.contains("LATCHKEY_HTTP_PORT"))
    }
}
