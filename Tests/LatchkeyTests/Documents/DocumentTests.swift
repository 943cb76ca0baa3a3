import Crypto
import Foundation
import LatchkeyAPI
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import Primitives
import TestSupport
import Testing

/// Every example of `README.md` and `docs/` is run, parsed or compared by a test (docs/contributing.md,
/// "Documents").
@Suite(.serialized) struct DocumentTests {
    /// Examples that cannot be run here, by document and first line, with the reason.
    private static let exceptions = [
        "docs/providers.md: pip install oidc-provider-mock && oidc-provider-mock    # listens on port 9400":
            "it installs a package; Tests/ThirdParty does the same, with the configuration above it",
        "docs/api.md: openapi-python-client generate --url http://127.0.0.1:8080/openapi.json":
            "it needs a package; Tests/OpenAPI/run.py does the same",
        "docs/operations.md: docker build -t latchkey:0.1.0 --build-arg REVISION=$(git rev-parse HEAD) .":
            "it needs a container engine; scripts/image-check and scripts/deployment-check run the files",
    ]

    /// Examples that other tests run: by document, name, and the test's source, which contains the name in quotes.
    private static let runElsewhere = [
        ("README.md", "demo", "Tests/LatchkeyTests/Documents/DemoTests.swift"),
        ("docs/README.md", "session", "Tests/LatchkeyTests/Documents/DemoTests.swift"),
        ("docs/approvals.md", "start", "Tests/LatchkeyTests/Documents/DemoTests.swift"),
        ("docs/approvals.md", "approve", "Tests/LatchkeyTests/Documents/DemoTests.swift"),
        ("docs/approvals.md", "poll", "Tests/LatchkeyTests/Documents/DemoTests.swift"),
        ("docs/mobile-apps.md", "carriers", "Tests/LatchkeyTests/Documents/SimulatedCarriersTests.swift"),
        ("docs/mobile-apps.md", "serve", "Tests/LatchkeyTests/Documents/SimulatedCarriersTests.swift"),
        ("docs/mobile-apps.md", "simulated-sign-in", "Tests/LatchkeyTests/Documents/SimulatedCarriersTests.swift"),
        ("docs/accounts.md", "port", "Tests/LatchkeyTests/Documents/DemoTests.swift"),
        ("docs/accounts.md", "operator", "Tests/LatchkeyTests/Documents/DemoTests.swift"),
        ("docs/web-frontends.md", "first-page", "Tests/Browser/clients.py"),
        ("docs/sessions.md", "js-refresh", "Tests/Browser/console.py"),
        ("docs/accounts.md", "js-link", "Tests/Browser/console.py"),
    ]

    /// Examples that are run here, in this order against one demonstration, with the expected responses.
    private static let runHere: [(document: String, name: String, answers: [String])] = [
        ("docs/README.md", "code", ["\"code_verifier\"", "\"mccmnc\":\"310010\""]),
        ("docs/README.md", "sign-in", ["\"name\":\"Ravi Okafor\""]),
        ("docs/README.md", "fault", ["\"error\":\"invalid_id_token\"", "exp"]),
        ("docs/mobile-apps.md", "native-sign-in", ["\"refresh_token\"", "\"new_user\":true"]),
        ("docs/mobile-apps.md", "form", ["\"refresh_token\"", "\"new_user\":true"]),
        ("docs/sessions.md", "introspect", ["\"active\":true"]),
        ("docs/sessions.md", "refresh", ["\"refresh_token\"", "\"new_user\":false"]),
        ("docs/accounts.md", "link", ["\"issuer\"", "/providers/acme"]),
        ("docs/verified-numbers.md", "number", ["\"refresh_token\"", "\"new_user\":true"]),
    ]

    @Test("Every example has a test, or a reason among the exceptions")
    func tied() throws {
        let all = try Example.all()
        #expect(all.count > 40)
        var excepted: Set<String> = []
        for example in all {
            switch example.language {
            case "yaml": continue
            case "sh" where example.isOfMake || example.note == "commands": continue
            case "json" where example.note?.hasPrefix("schema: ") == true: continue
            case "json" where example.note?.hasPrefix("answer: ") == true: continue
            case "js", "html", "kotlin", "swift", "sh":
                if let name = example.name, try isTied(example, name) { continue }
            case "json": break
            default: continue
            }
            let isExcepted = Self.exceptions[example.key] != nil
            if isExcepted { excepted.insert(example.key) }
            #expect(
                isExcepted,
                """
                \(example.document):\(example.line): no test covers this \(example.language). Put \
                <!-- snippet: NAME -->, <!-- commands --> or <!-- schema: NAME --> before it and add a test: \
                see “Documents” in docs/contributing.md.
                """)
        }
        #expect(excepted == Set(Self.exceptions.keys), "an exception has no example")
    }

    @Test("All code that tests have for documents is in one")
    func shown() throws {
        let names = Set(try Example.all().compactMap(\.name))
        for name in try Example.sources().keys { #expect(names.contains(name), "\(name)") }
    }

    private func isTied(_ example: Example, _ name: String) throws -> Bool {
        if Self.runHere.contains(where: { $0.document == example.document && $0.name == name }) { return true }
        if let (_, _, source) = Self.runElsewhere.first(where: { $0.0 == example.document && $0.1 == name }) {
            return try Example.text(source).contains("\"\(name)\"")
        }
        return try Example.sources()[name] == example.text
    }

    @Test("Every make target exists")
    func targets() throws {
        let makefile = "\n" + (try Example.text("Makefile"))
        var count = 0
        for example in try Example.all() where example.isOfMake {
            for line in example.commands {
                let words = line.split(separator: " ").drop { $0 != "make" }.dropFirst()
                for word in words where !word.contains("=") {
                    count += 1
                    #expect(makefile.contains("\n\(word):"), "\(example.location): make \(word)")
                }
            }
        }
        #expect(count > 3)
    }

    @Test("Every command and option of both programs exists")
    func commands() async throws {
        var helps: [String: String] = [:]
        var count = 0
        for example in try Example.all() where example.note == "commands" {
            for line in example.commands where !line.hasPrefix("export LATCHKEY_") {
                let words = line.split(separator: " ").map(String.init)
                let program = words.first ?? ""
                guard ["latchkey", "latchkey-dev"].contains(program) else {
                    Issue.record("\(example.location): \(line)")
                    continue
                }
                guard words.count > 1 else { continue }
                var names = [words[1]]
                let hasSubcommands = ["users", "api-key", "vault", "providers", "webhooks"].contains(words[1])
                if hasSubcommands, words.count > 2 { names.append(words[2]) }
                let path = ([program] + names).joined(separator: " ")
                if helps[path] == nil {
                    let help = await (try LatchkeyProcess(["help"] + names, of: program)).ending()
                    // For an unknown name, the response lists the known ones.
                    helps[path] = help.status == 0 && help.output.contains(path) ? help.output : ""
                }
                let help = helps[path] ?? ""
                #expect(!help.isEmpty, "\(example.location): there is no \(path)")
                for option in words where option.hasPrefix("--") {
                    count += 1
                    #expect(help.contains(option), "\(example.location): \(path) has no \(option)")
                }
            }
        }
        #expect(count > 10)
    }

    @Test("JSON examples match their schemas")
    func schemas() throws {
        let contract = try PublishedAPI.contract()
        var count = 0
        for example in try Example.all() {
            guard example.language == "json", let note = example.note, note.hasPrefix("schema: ") else { continue }
            let name = String(note.dropFirst("schema: ".count))
            let schema = try #require(Self.schema(name), "\(example.location): there is no schema \(name)")
            // A placeholder for a value that differs each time.
            let value = try JSONValue(parsing: Array(example.text.replacing("…", with: "x").utf8))
            let faults = contract.schemas.faults(of: value, schema)
            #expect(faults.isEmpty, "\(example.location): \(faults)")
            count += 1
        }
        #expect(count > 3)
    }

    /// A component, or the success response of the operation with this id.
    private static func schema(_ name: String) -> JSONValue? {
        let document = OpenAPIDocument(
            version: "1", sessionCookie: "latchkey_session", refreshCookie: "latchkey_refresh", path: "",
            features: FeatureList.standard.features
        ).json.object
        if document?["components"]?.object?["schemas"]?.object?[name] != nil {
            return .object(of: [("$ref", .string("#/components/schemas/\(name)"))])
        }
        for (_, methods) in document?["paths"]?.object?.members.map({ ($0.name, $0.value) }) ?? [] {
            for method in methods.object?.members ?? [] where method.value.object?["operationId"]?.string == name {
                let answers = method.value.object?["responses"]?.object?.members ?? []
                return answers.first { $0.name.hasPrefix("2") }?.value.object?["content"]?.object?["application/json"]?
                    .object?["schema"]
            }
        }
        return nil
    }

    @Test("Prometheus examples are valid Prometheus configurations")
    func prometheus() async throws {
        let examples = try Example.all().filter { $0.language == "yaml" && $0.note == "prometheus" }
        #expect(!examples.isEmpty)
        for example in examples {
            let ending = try await Promtool.check(configuration: example.text)
            #expect(ending.status == 0, "\(example.location): \(ending.output)")
        }
    }

    @Test("YAML examples are valid configurations")
    func configurations() throws {
        // Every named file contains a suitable secret.
        let files = FileReader { (path, _) throws(FileReader.ReadError) in
            let text: String? =
                path == "latchkey.yaml"
                ? nil
                : path.hasSuffix(".p8")
                    ? Self.privateKey
                    : path.hasSuffix("-key.pem")
                        ? TLSTexts.clientKey
                        : path.hasSuffix(".pem")
                            ? TLSTexts.clientCertificate
                            : path.hasSuffix("-headers")
                                ? "X-API-Key=secret"
                                : path.hasSuffix("webhook-secret")
                                    ? "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="
                                    : path.contains("key") ? String(repeating: "ab", count: 32) : "secret"
            guard let text else { throw .notFound }
            return FileReader.Contents(bytes: Array(text.utf8), isReadableByAll: false)
        }
        var count = 0
        for example in try Example.all() where example.language == "yaml" && example.note != "prometheus" {
            count += 1
            // A placeholder for the reader's own value.
            let text = example.text.replacing("id: …", with: "id: client-1")
            let reader = FileReader { (path, limit) throws(FileReader.ReadError) in
                path == "latchkey.yaml"
                    ? FileReader.Contents(bytes: Array(text.utf8), isReadableByAll: false)
                    : try files.contents(of: path, limit: limit)
            }
            do throws(ConfigurationErrors) {
                _ = try ConfigurationLoader(FeatureList.standard.settings, files: reader).load(
                    file: "latchkey.yaml", environment: [:], purpose: .operation)
            } catch {
                Issue.record("\(example.location): \(error)")
            }
        }
        #expect(count > 5)
    }

    private static let privateKey = P256.Signing.PrivateKey().pemRepresentation

    @Test("Shell examples do what the documents say, against a demonstration")
    func run() async throws {
        let directory = try TemporaryDirectory()
        let demo = try LatchkeyProcess.demonstration(directory: directory.path)
        let port = try await demo.port(after: "Latchkey")
        let carriers = try await demo.port(after: "simulated carriers are at")
        let all = try Example.all()
        let shell = Shell(port: port, carriers: carriers, directory: directory.path)
        for row in Self.runHere {
            let example = try #require(
                all.first { $0.document == row.document && $0.name == row.name && $0.language == "sh" }, "\(row)")
            var environment = try shell.code(at: row.name == "link" ? "acme" : "310010")
            environment.merge(try shell.signIn()) { $1 }
            let answer = try shell.run(example.text, environment)
            for text in row.answers { #expect(answer.contains(text), "\(example.location): \(answer)") }
            for shown in all where shown.document == row.document && shown.note == "answer: \(row.name)" {
                let told = try JSONValue(parsing: Array(shown.text.utf8)).object?.members.map(\.name).sorted()
                let given = try JSONValue(parsing: Array(answer.utf8)).object?.members.map(\.name).sorted()
                #expect(told != nil && told == given, "\(shown.location)")
            }
        }
        demo.send(SIGINT)
        #expect(await demo.ending().status == 0)
    }
}

/// The shell of a reader who follows the documents.
struct Shell {
    let port: UInt16
    let carriers: UInt16
    let directory: String

    func run(_ script: String, _ environment: [String: String] = [:]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
            "-c",
            script.replacing("127.0.0.1:8080", with: "127.0.0.1:\(port)")
                .replacing("127.0.0.1:8081", with: "127.0.0.1:\(carriers)"),
        ]
        process.environment = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""].merging(environment) { $1 }
        process.currentDirectoryURL = URL(fileURLWithPath: directory)
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    /// An app's response from a carrier or provider.
    func code(at location: String) throws -> [String: String] {
        let response = try run("curl -sS http://127.0.0.1:8081/demo/codes -d mccmnc=\(location)")
        let members = try JSONValue(parsing: Array(response.utf8)).object
        return [
            "CODE": members?["code"]?.string ?? "", "CODE_VERIFIER": members?["code_verifier"]?.string ?? "",
            "NONCE": members?["nonce"]?.string ?? "",
        ]
    }

    /// A session of a user that no example uses.
    func signIn() throws -> [String: String] {
        let answer = try run(
            """
            curl -sS http://127.0.0.1:8081/demo/codes -d mccmnc=310260 |
              curl -sS http://127.0.0.1:8080/auth/zenkey-signin \\
                -H 'X-API-KEY: demo-key' -H 'Content-Type: application/json' -d @-
            """)
        let members = try JSONValue(parsing: Array(answer.utf8)).object
        return [
            "TOKEN": members?["token"]?.string ?? "", "REFRESH_TOKEN": members?["refresh_token"]?.string ?? "",
        ]
    }
}

/// A fenced block of a document.
struct Example {
    let document: String
    let line: Int
    let language: String
    /// The text of the comment on the line before it.
    let note: String?
    let text: String

    var name: String? { note?.hasPrefix("snippet: ") == true ? note.map { String($0.dropFirst(9)) } : nil }
    var location: String { "\(document):\(line)" }
    var key: String { "\(document): \(text.prefix { $0 != "\n" })" }

    /// The shell commands, with continued lines joined and without comments.
    var commands: [String] {
        text.replacing("\\\n", with: " ").split(separator: "\n").map { line in
            let end = line.range(of: " #").map(\.lowerBound) ?? line.endIndex
            return line[..<end].trimmingCharacters(in: .whitespaces)
        }.filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }

    var isOfMake: Bool {
        language == "sh" && commands.allSatisfy { $0 == "make" || $0.hasPrefix("make ") || $0.contains(" make ") }
    }

    private static let root = Repository.root

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The README and all pages of `docs/`, relative to the root.
    static func documents() throws -> [String] {
        let pages = try FileManager.default.subpathsOfDirectory(atPath: root.appendingPathComponent("docs").path)
        return ["README.md"] + pages.filter { $0.hasSuffix(".md") }.sorted().map { "docs/" + $0 }
    }

    /// The examples of the README and of all pages.
    static func all() throws -> [Example] { try documents().flatMap { try examples(of: $0) } }

    private static func examples(of document: String) throws -> [Example] {
        let lines = try text(document).split(separator: "\n", omittingEmptySubsequences: false)
        var found: [Example] = []
        var start: (line: Int, indent: Int, language: String, note: String?)?
        for (index, line) in lines.enumerated() {
            let content = line.drop { $0 == " " }
            guard content.hasPrefix("```") else { continue }
            guard let open = start else {
                let before = index > 0 ? lines[index - 1].drop { $0 == " " } : ""
                let note = before.hasPrefix("<!-- ") ? String(before.dropFirst(5).dropLast(4)) : nil
                start = (index, line.count - content.count, String(content.dropFirst(3)), note)
                continue
            }
            let text = lines[(open.line + 1)..<index].map { $0.dropFirst(open.indent) }.joined(separator: "\n")
            found.append(
                Example(
                    document: document, line: open.line + 1, language: open.language, note: open.note, text: text))
            start = nil
        }
        return found
    }

    /// The lines between `// snippet: NAME` and `// end` in the sources of the tests, without their common
    /// indentation.
    static func sources() throws -> [String: String] {
        var found: [String: String] = [:]
        for path in [
            "Tests/LatchkeyTests/SwiftClient/SwiftClientSnippets.swift", "Tests/Browser/frontend/frontend.js",
            "Tests/LatchkeyTests/SwiftClient/NumberClientSnippets.swift", "Tests/Browser/frontend/number.js",
            "Tests/LatchkeyTests/SwiftClient/NativeClientTests.swift", "Tests/Android/Snippets.kt",
            "Tests/Browser/frontend/verify.js", "Tests/LatchkeyMetricsTests/MetricsBridgeTests.swift",
        ] {
            var name: String?
            var lines: [Substring] = []
            for line in try text(path).split(separator: "\n", omittingEmptySubsequences: false) {
                let content = line.drop { $0 == " " }
                if content.hasPrefix("// snippet: ") {
                    name = String(content.dropFirst("// snippet: ".count))
                    lines = []
                } else if content == "// end", let ended = name {
                    let indent = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
                    found[ended] = lines.map { String($0.dropFirst(indent)) }.joined(separator: "\n")
                    name = nil
                } else {
                    lines.append(line)
                }
            }
        }
        return found
    }
}
