import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SecurityEvents
import Testing

@testable import LatchkeyConfiguration

@Suite("Settings of security events")
struct SecurityEventConfigurationTests {
    private func text(_ events: String) -> String {
        """
        providers:
          acme: {kind: oidc, issuer: "https://acme.example", client_id: a, client_secret: b, events: \(events)}
        """
    }

    private func events(_ text: String) throws -> EventRules {
        try load(self.text(text), environment: [:], files: ["key": "Bearer of a file"]).configuration.providers[0]
            .events
    }

    @Test("Each key is read, also from a file, and what is not given has its default")
    func read() throws {
        #expect(try events("{}") == EventRules())
        let usual = try events("{transmitter: ssf}")
        #expect(
            usual.transmitter == .ssf && usual.maximumAge == .seconds(604_800) && usual.pollInterval == .seconds(60))
        let pushed = try events(
            """
            {transmitter: ssf, issuer: "https://events.example/", jwks_uri: "https://events.example/keys", \
            audiences: [one, two], max_age: 2h, authorization_file: key, \
            actions: {credential-change: end_sessions, account-purged: ignore}}
            """)
        #expect(pushed.issuer?.text == "https://events.example/")
        #expect(pushed.jwksURI?.text == "https://events.example/keys")
        #expect(pushed.audiences.map(\.text) == ["one", "two"] && pushed.maximumAge == .seconds(7200))
        #expect(pushed.authorization == Secret("Bearer of a file"))
        #expect(pushed.action(of: .credentialChange) == .endSessions && pushed.action(of: .accountPurged) == .ignore)
        #expect(pushed.action(of: .sessionRevoked) == .endSessions)
        let polled = try events(
            """
            {transmitter: ssf, poll_endpoint: "https://events.example/poll", poll_authorization: Bearer p, \
            poll_interval: 5s}
            """)
        #expect(polled.pollEndpoint?.text == "https://events.example/poll")
        #expect(polled.pollAuthorization == Secret("Bearer p") && polled.pollInterval == .seconds(5))
    }

    @Test("A preset's form of events stays where the section has other keys of events, or says off")
    func preset() throws {
        func google(_ events: String) throws -> EventRules {
            let text = "providers: {google: {client_id: a, client_secret: b, events: \(events)}}"
            return try load(text, environment: [:]).configuration.providers[0].events
        }
        #expect(try google("{max_age: 1h}").transmitter == .google)
        #expect(try google("{transmitter: off}") == EventRules())
    }

    private static let refusals: [(events: String, problem: String)] = [
        ("{transmitter: rfc}", "is not one of its words"),
        ("{transmitter: ssf, actions: {session-ended: ignore}}", "there is no such event"),
        ("{transmitter: ssf, actions: {session-revoked: end}}", "is not one of its words"),
        ("{transmitter: ssf, max_age: 59s}", "59s"), ("{transmitter: ssf, poll_interval: 4s}", "4s"),
        ("{transmitter: ssf, issuer: \"http://events.example\"}", "is plain http"),
        ("{transmitter: ssf, authorization: \" x\"}", "is not the value of Authorization"),
        ("{max_age: 1h}", "no event is accepted"), ("{transmitter: off, max_age: 1h}", "no event is accepted"),
        ("{transmitter: apple, poll_endpoint: \"https://e.example\"}", "Apple pushes its events"),
        (
            "{transmitter: ssf, authorization: a, poll_endpoint: \"https://e.example\"}",
            "has authorization, which is of pushed events"
        ),
        ("{transmitter: ssf, poll_authorization: a}", "no poll_endpoint"), ("ssf", "it is a group of keys"),
    ]

    @Test("What is wrong, or has no effect, is refused", arguments: refusals.indices)
    func refused(_ index: Int) {
        let (events, problem) = Self.refusals[index]
        let found = problems(text(events), environment: [:])
        #expect(found.contains { $0.contains(problem) }, "\(found)")
    }

    @Test("The value of Authorization has 1 to 1024 printable ASCII characters, and no space at an end")
    func authorization() {
        let long = String(repeating: "x", count: 1024)
        for (value, isGood) in [
            (long, true), (long + "x", false), ("x", true), ("a b", true), (" x", false), ("x ", false),
            ("\u{e4}", false),
        ] {
            let found = problems(text("{transmitter: ssf, authorization: \"\(value)\"}"), environment: [:])
            #expect(found.isEmpty == isGood, "\(value.prefix(9)): \(found)")
        }
    }

    @Test("The issuer of events is given where that of the provider has a placeholder")
    func tenants() {
        func found(_ events: String) -> [String] {
            problems(
                """
                providers:
                  acme: {kind: oidc, issuer: "https://acme.example/{tenantid}/v2.0", tenants: any, client_id: a, \
                    client_secret: b, events: \(events)}
                """, environment: [:])
        }
        #expect(found("{transmitter: ssf}").contains { $0.contains("has a placeholder") })
        #expect(found("{transmitter: ssf, issuer: \"https://acme.example\"}").isEmpty)
    }

    @Test("Other kinds of provider have no events")
    func kinds() {
        let found = problems(
            """
            providers:
              acme: {kind: oauth2, issuer: "https://a.example", authorization_endpoint: "https://a.example/a", \
                token_endpoint: "https://a.example/t", user_endpoint: "https://a.example/u", subject: id, \
                client_id: a, \
                client_secret: b, events: {transmitter: ssf}}
            """, environment: [:])
        #expect(found.contains { $0.contains("is a setting of kind oidc") }, "\(found)")
    }

    @Test("A build without the feature reads the presets all the same")
    func withoutFeature() throws {
        let others = FeatureList(FeatureList.standard.features.filter { $0 != SecurityEventsFeature.self }).settings
        let google = try load(
            "providers: {google: {client_id: a, client_secret: b}}", environment: [:], of: others
        ).configuration.providers[0]
        #expect(google.issuer.text == "https://accounts.google.com" && google.events == EventRules())
        #expect(
            problems(text("{transmitter: ssf}"), environment: [:], of: others).contains { $0.contains("no such key") })
    }
}
