import Foundation
import Primitives
import TestSupport
import Testing

/// `latchkey providers` and `latchkey init`, and the server with what they write.
@Suite(.serialized) struct PresetCommandTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func run(_ arguments: [String], input: String? = nil) async throws -> LatchkeyProcess.Ending {
        await (try LatchkeyProcess(arguments, directory: directory.path, input: input)).ending()
    }

    private func text(_ file: String) throws -> String {
        try String(contentsOfFile: directory.file(file), encoding: .utf8)
    }

    @Test("The list has a line for each provider, as text and as JSON")
    func list() async throws {
        let listed = try await run(["providers"])
        #expect(listed.status == 0)
        let lines = listed.output.split(separator: "\n")
        #expect(lines.count >= 40)
        #expect(lines.contains { $0.hasPrefix("google ") && $0.hasSuffix("client_id, client_secret; lacks logout") })
        #expect(lines.contains { $0.hasPrefix("keycloak ") && $0.hasSuffix(" url, realm, client_id, client_secret") })
        let json = try await run(["providers", "list", "--format", "json"])
        let objects = try json.output.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)).object }
        #expect(objects.count == lines.count)
        let apple = objects.first { $0?["name"] == "apple" } ?? nil
        #expect(apple?["title"] == "Apple" && apple?["kind"] == "oidc")
        #expect(apple?["needs"]?.array?.contains("private_key_file") == true)
    }

    @Test("A provider is shown with the redirect URI and a configuration to paste, which is valid")
    func show() async throws {
        let shown = try await run(["providers", "show", "github", "--public-url", "https://login.example.org/"])
        #expect(shown.status == 0)
        #expect(shown.output.contains("callback URL https://login.example.org/auth/github/callback."))
        #expect(shown.output.contains("https://github.com/settings/developers"))
        #expect(shown.output.contains("It lacks: refresh, logout\n") && !shown.output.contains("logged-out"))
        let section = try #require(shown.output.components(separatedBy: "The configuration:\n\n").last)
        try directory.write(section.replacing("\n  ", with: "\n").dropFirst(2).description, as: "pasted.yaml")
        #expect(try await run(["check-config", "--config", "pasted.yaml"]).status == 0, "\(section)")
        let unknown = try await run(["providers", "show", "githab"])
        #expect(unknown.status == 64)
        #expect(unknown.output.contains("`latchkey providers` lists them; did you mean the preset github?"))
        let government = try await run(["providers", "show", "login-gov", "--public-url", "https://a.example/"])
        for text in [
            "registered too: https://a.example/auth/login-gov/logged-out\n",
            "# url: \"https://idp.int.identitysandbox.gov\"    # default: https://secure.login.gov\n",
        ] { #expect(government.output.contains(text), "\(government.output)") }
    }

    @Test("Two answers make a valid configuration, which is never replaced")
    func twoAnswers() async throws {
        let made = try await run(["init"], input: "Google\n\n")
        #expect(made.status == 0, "\(made.output)")
        let written = try text("Config/latchkey.yaml")
        #expect(
            written.hasSuffix(
                """
                public_url: "http://127.0.0.1:8080"
                providers:
                  google:
                    client_id: "replace-with-the-client-id"
                    client_secret: "replace-with-the-client-secret"

                """), "\(written)")
        let mode = try FileManager.default.attributesOfItem(atPath: directory.file("Config/latchkey.yaml"))
        #expect(mode[.posixPermissions] as? Int == 0o600)
        for text in [
            "https://console.cloud.google.com/apis/credentials", "http://127.0.0.1:8080/auth/google/callback",
            "2. Give your own client_id, client_secret in Config/latchkey.yaml.\n",
            "latchkey check-config, then latchkey serve\n", "Open http://127.0.0.1:8080/sign-in\n",
        ] { #expect(made.output.contains(text), "\(made.output)") }
        let checked = try await run(["check-config"])
        #expect(checked.status == 0 && checked.output.hasSuffix("The configuration is valid.\n"), "\(checked.output)")
        let again = try await run(["init", "--provider", "github", "--public-url", "https://login.example.org"])
        #expect(again.status == 1 && again.output.contains("there is a file Config/latchkey.yaml"))
        #expect(try text("Config/latchkey.yaml") == written)
    }

    @Test("Options answer in scripts")
    func options() async throws {
        try directory.write("the-secret", as: "secret")
        let made = try await run([
            "init", "--provider", "keycloak", "--public-url", "https://login.example.org", "--file", "made.yaml",
            "--set", "realm=staff", "--set", "url=https://sso.example.org", "--set", "client_secret_file=secret",
            "--set",
            "redirect_uris=https://app.example.org/in",
        ])
        #expect(made.status == 0, "\(made.output)")
        #expect(
            try text("made.yaml").hasSuffix(
                """
                providers:
                  keycloak:
                    url: "https://sso.example.org"
                    realm: "staff"
                    client_id: "replace-with-the-client-id"
                    client_secret_file: "secret"
                    redirect_uris: "https://app.example.org/in"

                """))
        #expect(made.output.contains("latchkey serve --config made.yaml"))
        #expect(made.output.contains("2. Give your own client_id in made.yaml.\n"))
        #expect(try await run(["check-config", "--config", "made.yaml"]).status == 0)
        // A provider on this machine may have no https.
        let local = ["--set", "realm=staff", "--set", "url=http://[::1]:8081", "--file", "local.yaml"]
        let url = ["--public-url", "http://127.0.0.1:8080/"]
        #expect(try await run(["init", "--provider", "keycloak"] + url + local).status == 0)
        #expect(try text("local.yaml").contains("public_url: \"http://127.0.0.1:8080\"\nallow_loopback_http: true "))
    }

    @Test(
        "What cannot be is refused, and nothing is written",
        arguments: [
            ([], 64, "there is no answer; give it as an option: --provider"),
            (["--provider", "gogle"], 64, "there is no preset of this name"),
            (["--provider", "google", "--set", "client_secret=abc"], 64, "set client_secret_file"),
            (["--provider", "google", "--set", "decryption_key=abc"], 64, "set decryption_key_file"),
            (["--provider", "google", "--set", "client_id"], 64, "--set takes key=value"),
            (["--provider", "Google", "--public-url", "ftp://a"], 78, "public_url: "),
            (["--provider", "google", "--public-url", "https://a.example", "--set", "scope=a"], 78, "mean scopes?"),
            (["--provider", "apple", "--public-url", "https://a.example"], 64, "--set private_key_file=…"),
            (
                ["--provider", "apple", "--public-url", "https://a.example", "--set", "private_key_file=none.p8"], 78,
                "the file none.p8 does not exist"
            ),
        ] as [([String], Int32, String)])
    func refused(_ options: [String], _ status: Int32, _ reason: String) async throws {
        let ended = try await run(["init"] + options)
        #expect(ended.status == status && ended.output.contains(reason), "\(ended.output)")
        #expect(!FileManager.default.fileExists(atPath: directory.file("Config/latchkey.yaml")))
    }

    @Test("The server of a section with two keys offers the sign-in, with the name and the color of the preset")
    func serve() async throws {
        // Nobody listens at this issuer.
        try directory.write(
            "providers: {google: {client_id: a, client_secret: b, issuer: 'https://127.0.0.1:1'}}", as: "latchkey.yaml")
        let server = try LatchkeyProcess(
            ["serve", "--config", "latchkey.yaml"], environment: ["LATCHKEY_HTTP_PORT": "0"], directory: directory.path)
        let base = "http://127.0.0.1:\(try await server.port(after: "listening"))"
        let listed = try await Browser().get(base + "/auth/providers").text
        #expect(listed.contains(##"{"id":"google","name":"Google","color":"#4285f4","kind":"oidc","##), "\(listed)")
        let page = try await Browser().get(base + "/sign-in").text
        #expect(page.contains(##"fill="#4285f4"/></svg> Sign in with Google"##), "\(page)")
        server.send(SIGTERM)
        #expect(await server.ending().status == 0)
    }
}
