import LatchkeyConfiguration
import Primitives
import Testing
import Webhooks

@Suite("The configuration of webhooks")
struct WebhookConfigurationTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let other = "whsec_" + String(repeating: "A", count: 32)

    /// With the sign-ins in the audit log.
    private static func text(_ webhooks: String) -> String { "audit: {sign_ins: true}\nwebhooks: \(webhooks)" }

    @Test("Nothing is sent by default")
    func defaults() throws {
        #expect(try load().configuration[WebhookSettings.self].endpoints.isEmpty)
    }

    @Test("Endpoints are read from the file, the environment, and files of secrets")
    func read() throws {
        let list = """
            [{url: 'https://crm.example/hooks?a=b', secret: \(Self.secret)}, \
            {url: 'https://erp.example', name: erp, events: [user.*, session.ended], \
            secret: [\(Self.other), \(Self.secret)]}, \
            {url: 'https://third.example', secret_file: f, events: '*'}]
            """
        let environment = needed.with("LATCHKEY_WEBHOOKS", list)
        let files = ["f": "\(Self.other)\n\(Self.secret)\n"]
        for configuration in [
            try load(Self.text(list), files: files).configuration,
            try load("audit: {sign_ins: true}", environment: environment, files: files).configuration,
        ] {
            let endpoints = configuration[WebhookSettings.self].endpoints
            let both = [Self.other, Self.secret]
            #expect(endpoints.map(\.name) == ["https://crm.example/hooks", "erp", "https://third.example"])
            #expect(endpoints.map(\.url.text).first == "https://crm.example/hooks?a=b")
            #expect(endpoints.map(\.types.count) == [10, 4, 10])
            #expect(endpoints.map { $0.secrets.map(\.exposed) } == [[Self.secret], both, both])
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let text: String
        let problem: String
        var testDescription: String { text }
    }

    @Test(
        "What is wrong is named",
        arguments: [
            Row(text: "[{url: 'https://a.example'}]", problem: "has no secret; give secret or secret_file"),
            Row(text: "[{secret: \(secret)}]", problem: "has no url"),
            Row(text: "[https://a.example]", problem: "give a group of url, events and secret"),
            Row(text: "[{url: 'http://a.example', secret: \(secret)}]", problem: "is plain http"),
            Row(text: "[{url: 'https://a.example', secret: abc}]", problem: "is not a secret of webhooks"),
            Row(
                text: "[{url: 'https://a.example', secret: \(secret), events: [user.moved]}]",
                problem: "give *, or some of"),
            Row(text: "[{url: 'https://a.example', secret: \(secret), name: 'a b'}]", problem: "is not a name"),
            Row(text: "[{url: 'https://a.example', secret: \(secret), colour: red}]", problem: "there is no such key"),
            Row(
                text: "[{url: 'https://a.example', secret: [\(secret), \(other), \(secret)]}]",
                problem: "webhooks[0].secret: has more than two secrets"),
            Row(
                text: "[{url: 'https://a.example', secret: \(secret)}, {url: 'https://a.example', secret: \(secret)}]",
                problem: "webhooks[1]: has the name of another endpoint"),
            Row(
                text: "["
                    + (0..<17).map { "{url: 'https://a\($0).example', secret: \(secret)}" }.joined(separator: ", ")
                    + "]",
                problem: "has more than 16 endpoints"),
        ])
    func problems(row: Row) {
        let found = LatchkeyConfigurationTests.problems(Self.text(row.text))
        #expect(found.count == 1 && found[0].contains(row.problem), "\(found)")
    }

    @Test(
        "Events that the audit log does not have are refused",
        arguments: [
            ("'*'", true), ("user.created", true), ("session.*", true), ("session.created", true),
            ("session.ended", true), ("user.updated", false),
            ("[identity.*, user.deleted]", false),
        ])
    func unrecorded(events: String, isRefused: Bool) {
        let found = LatchkeyConfigurationTests.problems(
            "audit: {sign_ins: false}\n"
                + "webhooks: [{url: 'https://a.example', secret: \(Self.secret), events: \(events)}]")
        #expect(found.isEmpty != isRefused && found.allSatisfy { $0.contains("set audit.sign_ins to true") })
    }

    @Test("A name has 1 to 64 letters, digits, dots, underscores and hyphens", arguments: [1, 64, 65])
    func names(length: Int) {
        let name = String(String(repeating: "aZ9._-", count: 11).prefix(length))
        let found = LatchkeyConfigurationTests.problems(
            Self.text("[{url: 'https://a.example', secret: \(Self.secret), name: '\(name)'}]"))
        #expect(found.isEmpty == (1...64).contains(length), "\(found)")
    }

    @Test("A short audit log and plain http to another machine have warnings")
    func warnings() throws {
        let loopback = "allow_loopback_http: true\n" + Self.text("[{url: 'http://127.0.0.1/', secret: \(Self.secret)}]")
        #expect(try !load(loopback).warnings.contains { $0.key.hasPrefix("webhooks") })
        let plain =
            "plain_http_hosts: [crm]\noutbound: {allow_private_networks: true}\n"
            + Self.text("[{url: 'http://crm/', secret: \(Self.secret)}]")
        #expect(try load(plain).warnings.contains { $0.key == "webhooks" && $0.reason.contains("crm") })
        for (retention, isShort) in [("71h", true), ("72h", false)] {
            let text =
                "audit: {sign_ins: true, retention: \(retention)}\n"
                + "webhooks: [{url: 'https://a.example', secret: \(Self.secret)}]"
            #expect(try load(text).warnings.contains { $0.key == "audit.retention" } == isShort)
        }
    }
}
