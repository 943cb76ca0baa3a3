import Foundation
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import Synchronization
import TestSupport
import Testing

@testable import ConformanceKit

/// `latchkey-dev conformance`: what a configuration accepts and refuses of simulated providers.
@Suite("The operator's conformance kit", .serialized) struct ConformanceKitTests {
    /// A configuration with both kinds of provider. Rows add settings to it.
    private static func configuration(
        _ settings: String = "", client: String = "", provider: String = "", redirectURIs: Bool = true,
        issuer: String = "https://accounts.acme.example"
    ) throws -> Configuration {
        let redirects = redirectURIs ? "redirect_uris: [\"https://app.example/signed-in\"]" : ""
        let text = """
            public_url: https://login.example
            api_keys: ["sha256:\(String(repeating: "0f", count: 32))"]
            zenkey:
              discovery_url: https://discovery.example/.well-known/openid_configuration
              clients:
                - id: carriers-app
                  secret: not-for-the-simulator
                  \(redirects)
                  \(client)
            providers:
              acme:
                kind: oidc
                issuer: \(issuer)
                \(provider)
                clients:
                  - id: acme-app
                    secret: not-for-the-simulator
                    \(redirects)
                    \(client)
              meetings:
                kind: oauth2
                issuer: https://meetings.example
                authorization_endpoint: https://meetings.example/authorize
                token_endpoint: https://meetings.example/token
                user_endpoint: https://meetings.example/me
                subject: id
                clients: [{id: meetings-app, secret: another-secret}]
            \(settings)
            """
        let files = FileReader { (path, _) throws(FileReader.ReadError) in
            guard path == "test.yaml" else { throw .notFound }
            return FileReader.Contents(bytes: Array(text.utf8), isReadableByAll: false)
        }
        return try ConfigurationLoader(files: files).load(file: "test.yaml", environment: [:]).configuration
    }

    /// What is accepted by default although the specification recommends to refuse it.
    private static let usual: Set<String> = [
        "alg-es256", "response-issuer-not-announced", "start-without-challenge", "code-without-nonce",
        "nonce-repeated",
    ]

    private static func accepted(_ report: KitReport) -> Set<String> {
        Set(report.rows.filter { [.violation, .loosened].contains($0.verdict) }.map(\.row.id))
    }

    @Test(
        "By default everything is refused that must be, and everything correct is accepted",
        arguments: [
            ("acme", usual), ("zenkey", usual.union(["type-access-token"])),
        ])
    func defaults(provider: String, accepted: Set<String>) async throws {
        let report = try await KitExamination.run(Self.configuration(), provider: provider, features: .redirects)
        #expect(report.rows.count == KitCases.all.count)
        #expect(report.rows.count > 80)
        for row in report.rows where row.verdict == .violation || row.verdict == .stricter {
            Issue.record("\(row.row.id): \(row.outcome)")
        }
        #expect(Self.accepted(report) == accepted)
        #expect(report.rows.allSatisfy { $0.because?.contains("report a bug") != true })
        // Signed responses are not registered, and what userinfo is demanded depends on the kind of provider.
        let others = report.rows.filter { $0.verdict == .notRun && !$0.row.id.hasPrefix("signed-response-") }
        let optional = ["userinfo-subject-missing", "userinfo-not-json", "userinfo-redirect"]
        #expect(others.map(\.row.id) == (provider == "acme" ? optional : ["userinfo-error"]))
        #expect(report.refusedRequests == 0)
        #expect(report.passes(strictly: false))
        #expect(!report.passes(strictly: true))
        for text in [report.text, report.json] {
            #expect(!text.contains("not-for-the-simulator"))
            #expect(text.contains("OpenID Connect Core 1.0 section 3.1.3.7"))
        }
        // What an auditor needs comes first.
        let head = try #require(report.text.components(separatedBy: "\n\nCorrect sign-ins").first)
        #expect(head.contains("\n\n\(report.summary)\nVIOLATION: accepted, although the specification demands"))
        for id in accepted { #expect(head.contains("  LOOSENED  \(id)\n"), "\(id)") }
        #expect(report.text.components(separatedBy: "LOOSENED  ").count == accepted.count + 1)
        #expect(!head.contains("  ok "))
        let counts = "\(report.rows.count) cases: 0 violations, \(accepted.count) loosened, 0 stricter, "
        #expect(report.summary.hasPrefix(counts))
        // Each names the setting as docs/configuration.md does, or says that there is none. The document has the
        // settings of every client once.
        let document = try Repository.text("docs/configuration.md")
        for row in report.rows {
            guard let because = row.because, !because.hasPrefix("no setting: ") else { continue }
            let key = try #require(because.split(separator: " ").first)
                .replacing("providers[].clients[].", with: "zenkey.clients[].")
            #expect(document.contains("| `\(key)` |"), "\(because)")
        }
        let because = report.rows.first { $0.row.id == "code-without-nonce" }?.because
        #expect(because == (provider == "acme" ? "providers[]" : "zenkey") + ".clients[].nonce is client")
    }

    @Test("The report has the time and the digest of the configuration, and lists in both forms what was replaced")
    func provenance() async throws {
        func report(_ settings: String = "") async throws -> KitReport {
            try await KitExamination.run(
                Self.configuration(settings), provider: "acme", features: .redirects,
                cases: KitCases.all.filter { $0.area == .baseline },
                clock: WallClock { Timestamp(secondsSinceEpoch: 1_800_000_000) })
        }
        let (first, other) = (try await report(), try await report("id_token: {clock_skew: 20}"))
        #expect(first.configuration == (try Self.configuration().fingerprint))
        #expect(first.configuration != other.configuration)
        #expect(first.text.contains("\nTime: 2027-01-15T08:00:00Z\nConfiguration: \(first.configuration)\n"))
        let json = try #require(try JSONValue(parsing: Array(first.json.utf8)).object)
        #expect(json["time"] == "2027-01-15T08:00:00Z")
        #expect(json["configuration"]?.string == first.configuration)
        let replaced = json["replaced"]?.array?.compactMap(\.string) ?? []
        #expect(replaced.contains("database") && replaced.contains("api_keys"))
        #expect(first.text.contains("\nReplaced for the run: " + replaced.joined(separator: ", ") + "\n"))
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        var settings = ""
        var client = ""
        var provider = ""
        var redirectURIs = true
        var issuer = "https://accounts.acme.example"
        /// The cases that are accepted because of the setting.
        var gained: Set<String> = []
        /// The cases that are accepted by default, and refused or not run with the setting.
        var lost: Set<String> = []
        /// What the report says of the cases that are gained.
        var because = ""
        var passes = true
        var testDescription: String { name }
    }

    private static let stateAlone = ["pkce: 'off'", "nonce: 'off'", "accept_state_alone: true"]
        .joined(separator: "\n    ")

    private static let rows: [Row] = [
        Row(
            name: "id_token.clock_skew: 600", settings: "id_token: {clock_skew: 600}",
            gained: [
                "expired-2-minutes", "expired-6-minutes", "issued-in-2-minutes", "issued-in-6-minutes",
                "valid-in-2-minutes", "valid-in-6-minutes",
            ], because: "id_token.clock_skew is 600", passes: false),
        Row(
            name: "id_token.clock_skew: 300", settings: "id_token: {clock_skew: 300}",
            gained: ["expired-2-minutes", "issued-in-2-minutes", "valid-in-2-minutes"],
            because: "id_token.clock_skew is 300"),
        Row(
            name: "id_token.max_age_of_issue: 7200", settings: "id_token: {max_age_of_issue: 7200}",
            gained: ["issued-an-hour-ago"], because: "id_token.max_age_of_issue is 7200"),
        Row(
            name: "id_token_types", provider: "id_token_types: [JWT, absent, at+jwt]",
            gained: ["type-access-token"], because: "providers[].id_token_types has at+jwt"),
        Row(
            name: "id_token_signed_response_alg: PS256", client: "id_token_signed_response_alg: PS256",
            gained: ["alg-ps256"], lost: ["alg-es256"],
            because: "providers[].clients[].id_token_signed_response_alg is PS256"),
        Row(
            name: "id_token_signed_response_alg: ES256", client: "id_token_signed_response_alg: ES256"),
        Row(
            name: "id_token_signed_response_alg: RS256", client: "id_token_signed_response_alg: RS256",
            lost: ["alg-es256"]),
        Row(
            name: "pkce: optional", client: "pkce: optional", gained: ["code-without-verifier"],
            because: "providers[].clients[].pkce is optional"),
        Row(name: "nonce: issued", client: "nonce: issued", lost: ["code-without-nonce", "nonce-repeated"]),
        Row(
            name: "no redirect_uris", redirectURIs: false, gained: ["code-redirect-uri-unknown"],
            lost: ["response-issuer-not-announced", "start-without-challenge"],
            because: "providers[].clients[].redirect_uris is not set", passes: false),
        Row(
            name: "require_code_challenge", client: "require_code_challenge: true",
            lost: ["start-without-challenge"]),
        Row(name: "require_iss", provider: "require_iss: true", lost: ["response-issuer-not-announced"]),
        Row(
            name: "require_iss: false", provider: "require_iss: false", gained: ["response-issuer-missing"],
            because: "providers[].require_iss is false", passes: false),
        Row(name: "response_mode: form_post", provider: "response_mode: form_post"),
        Row(name: "response_mode: jwt", provider: "response_mode: jwt", lost: ["response-issuer-not-announced"]),
        Row(name: "par: always", provider: "par: always"),
        Row(name: "dpop: never", provider: "dpop: never"),
        Row(
            name: "trusted_audiences", provider: "trusted_audiences: [account]", gained: ["audience-second-trusted"],
            because: "providers[].trusted_audiences lists", passes: false),
        Row(
            name: "tenants: any", provider: "tenants: any", issuer: "https://accounts.acme.example/{tenantid}",
            gained: ["tenant-other"], because: "providers[].tenants is any", passes: false),
        Row(
            name: "tenants", provider: "tenants: [0f8fad5b-d9cb-469f-a165-70867728950e]",
            issuer: "https://accounts.acme.example/{tenantid}"),
        Row(
            name: "pkce: off", provider: "pkce: 'off'", gained: ["code-without-verifier"],
            lost: ["code-without-nonce"], because: "providers[].pkce is off"),
        Row(
            name: "nonce: off", provider: "nonce: 'off'", gained: ["response-nonce-other"],
            because: "providers[].nonce is off", passes: false),
        Row(
            name: "accept_state_alone", provider: stateAlone,
            gained: ["nonce-other", "nonce-missing", "response-nonce-other", "response-code-of-another"],
            lost: ["code-without-nonce", "nonce-repeated"],
            because: "providers[].accept_state_alone is true", passes: false),
    ]

    /// Without the responses of endpoints, about which there is no setting.
    private static let casesOfSettings = KitCases.all.filter {
        ![.keys, .discovery, .token, .userInfo].contains($0.area) || $0.id == "token-not-bound"
    }

    /// The cases that a row examines. Of those that its setting must not change, the short form has every third.
    private static func cases(of row: Row) -> [KitCase] {
        guard !AllRows.areRun else { return casesOfSettings }
        return casesOfSettings.enumerated().filter { number, kitCase in
            number.isMultiple(of: 3) || kitCase.area == .baseline || usual.contains(kitCase.id)
                || row.gained.contains(kitCase.id)
        }.map(\.element)
    }

    /// Each row examines a server with all cases, which takes seconds. The short form examines one setting of each
    /// kind: of times, redirect URIs, responses, and their form.
    private static let usualRows: [Row] = {
        guard !AllRows.areRun else { return rows }
        let names = [
            "id_token.clock_skew: 600", "no redirect_uris", "require_iss: false", "response_mode: jwt",
            "tenants: any", "accept_state_alone",
        ]
        return rows.filter { names.contains($0.name) }
    }()

    @Test("A setting changes exactly the cases that it is about", arguments: usualRows)
    func settings(row: Row) async throws {
        let configuration = try Self.configuration(
            row.settings, client: row.client, provider: row.provider, redirectURIs: row.redirectURIs,
            issuer: row.issuer)
        let report = try await KitExamination.run(
            configuration, provider: "acme", features: .redirects, cases: Self.cases(of: row))
        let accepted = Self.accepted(report)
        #expect(accepted.subtracting(Self.usual) == row.gained)
        #expect(Self.usual.subtracting(accepted) == row.lost)
        for gained in report.rows where row.gained.contains(gained.row.id) {
            #expect(gained.because?.hasPrefix(row.because) == true, "\(gained.row.id): \(gained.because ?? "")")
            #expect(report.text.contains("accepted because: \(row.because)"))
        }
        #expect(report.passes(strictly: false) == row.passes)
        let stricter = report.rows.filter { $0.verdict == .stricter }.map(\.row.id)
        #expect(stricter.isEmpty)
    }

    @Test(
        "What cannot be examined is refused with a reason",
        arguments: [
            ("unknown", nil, "no provider has the name unknown; the configuration has zenkey, acme, meetings"),
            ("meetings", nil, "is of the kind oauth2; the kinds zenkey and oidc can be examined"),
            ("acme", "another-app", "the provider acme has no client another-app; it has acme-app"),
        ])
    func refusals(provider: String, client: String?, says: String) async throws {
        let failure = await #expect(throws: KitError.self) {
            _ = try await KitExamination.run(
                Self.configuration(), provider: provider, client: client, features: .redirects)
        }
        #expect(failure?.reason == .usage)
        #expect(failure?.description.contains(says) == true, "\(failure?.description ?? "")")
    }

    @Test(
        "Only the simulator's address gets requests",
        arguments: [
            ("http://127.0.0.1:4711/jwks", true), ("http://127.0.0.1:4712/jwks", false), ("http://[::1]:4711/", false),
            ("http://localhost:4711/", false), ("https://accounts.acme.example:4711/", false),
        ])
    func onlySimulator(url: String, isSent: Bool) async throws {
        let sent = Mutex(0)
        let http = CountingClient { sent.withLock { $0 += 1 } }
        let refusals = Counts(0)
        let client = SimulatorOnlyClient(client: http, port: 4711, refusals: refusals)
        let url = try #require(EndpointURL(url, policy: .allowLoopbackHTTP))
        let request = OutboundRequest(method: .get, url: url, timeout: .seconds(1), maximumBodyBytes: 1)
        let response = try? await client.send(request)
        #expect((response != nil) == isSent)
        #expect(sent.withLock { $0 } == (isSent ? 1 : 0))
        #expect(refusals.present == (isSent ? 0 : 1))
    }
}

private struct CountingClient: HTTPClient {
    let count: @Sendable () -> Void

    func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        count()
        return OutboundResponse(status: 200)
    }
}
