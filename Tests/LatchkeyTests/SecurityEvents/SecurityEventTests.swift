import CarrierSimulator
import HTTPServer
import HTTPTypes
import LatchkeyAPI
import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import SecurityEvents

/// Security events over real sockets, with the store (docs/security-events.md).
@Suite(.serialized) struct SecurityEventTests {
    private typealias Change = @Sendable (inout TokenDraft) -> Void

    private struct Refusal: Sendable {
        let name: String
        let check: EventTokenCheck
        let change: Change

        init(_ name: String, _ check: EventTokenCheck, _ change: @escaping Change) {
            (self.name, self.check, self.change) = (name, check, change)
        }
    }

    private static let refusals: [Refusal] = [
        Refusal("no typ", .type) { $0.header["typ"] = nil },
        Refusal("the typ of ID tokens", .type) { $0.header["typ"] = "JWT" },
        Refusal("the typ of logout tokens", .type) { $0.header["typ"] = "logout+jwt" },
        Refusal("a typ that is no text", .type) { $0.header["typ"] = 7 },
        Refusal("unsigned", .format) {
            $0.header["alg"] = "none"
            $0.signature = .empty
        },
        Refusal("an algorithm that is none", .algorithm) {
            $0.header["alg"] = "none"
            $0.signature = .made { _ in [1] }
        },
        Refusal("signed with the client's secret", .algorithm) {
            $0.header["alg"] = "HS256"
            $0.signature = .hmac(key: Array(SignInHarness.secret.utf8))
        },
        Refusal("a critical extension", .criticalHeader) { $0.header["crit"] = ["exp"] },
        Refusal("another issuer", .issuer) { $0.claims["iss"] = "https://evil.example" },
        Refusal("an issuer with a slash more", .issuer) {
            $0.claims["iss"] = .string(($0.claims["iss"]?.string ?? "") + "/")
        },
        Refusal("no issuer", .issuer) { $0.claims["iss"] = nil },
        Refusal("another audience", .audience) { $0.claims["aud"] = "another" },
        Refusal("several other audiences", .audience) { $0.claims["aud"] = ["another", 7, "ccid-10"] },
        Refusal("no audience", .audience) { $0.claims["aud"] = nil },
        Refusal("an empty list of audiences", .audience) { $0.claims["aud"] = [] },
        Refusal("no iat", .issuedAt) { $0.claims["iat"] = nil },
        Refusal("a week and the skew old", .issuedAt) { $0.claims["iat"] = $0.time(plus: -7 * 86_400 - 61) },
        Refusal("of the future", .issuedAt) { $0.claims["iat"] = $0.time(plus: 61) },
        Refusal("an exp, which events do not have", .expiry) { $0.claims["exp"] = $0.time(plus: 600) },
        Refusal("not valid yet", .notBefore) { $0.claims["nbf"] = $0.time(plus: 61) },
        Refusal("no jti", .tokenID) { $0.claims["jti"] = nil },
        Refusal("an empty jti", .tokenID) { $0.claims["jti"] = "" },
        Refusal("a jti that is no text", .tokenID) { $0.claims["jti"] = 7 },
        Refusal("a jti of 256 characters", .tokenID) { $0.claims["jti"] = .string(String(repeating: "j", count: 256)) },
        Refusal("a nonce", .nonce) { $0.claims["nonce"] = "n-1" },
        Refusal("a sub, as ID tokens have", .subjectClaim) { $0.claims["sub"] = "jane" },
        Refusal("no events", .event) { $0.claims["events"] = nil },
        Refusal("empty events", .event) { $0.claims["events"] = [:] },
        Refusal("a list of events", .event) { $0.claims["events"] = [["type": "session-revoked"]] },
        Refusal("an event that is no object", .event) {
            $0.claims["events"] = .object(of: [(EventWalk.caep + "session-revoked", true)])
        },
        Refusal("a logout beside the event", .event) {
            let events = $0.claims["events"]?.object?.members.map { ($0.name, $0.value) } ?? []
            $0.claims["events"] = .object(of: events + [("http://schemas.openid.net/event/backchannel-logout", [:])])
        },
        Refusal("17 events", .event) {
            $0.claims["events"] = .object(of: (1...17).map { ("https://events.example/\($0)", [:]) })
        },
        Refusal("no subject", .subject) { $0.claims["sub_id"] = nil },
        Refusal("a subject that is a text", .subject) { $0.claims["sub_id"] = "jane" },
        Refusal("a subject without its sub", .subject) { $0.claims["sub_id"] = ["format": "iss_sub", "iss": "i"] },
        Refusal("a subject without a format", .subject) { $0.claims["sub_id"] = ["iss": "i", "sub": "s"] },
        Refusal("a subject with a sub of 256 characters", .subject) {
            $0.claims["sub_id"] = ["format": "opaque", "id": .string(String(repeating: "s", count: 256))]
        },
        Refusal("no aliases", .subject) { $0.claims["sub_id"] = ["format": "aliases", "identifiers": []] },
        Refusal("aliases within aliases", .subject) {
            $0.claims["sub_id"] = [
                "format": "aliases", "identifiers": [["format": "aliases", "identifiers": [["format": "email"]]]],
            ]
        },
        Refusal("a user of several parts within aliases", .subject) {
            $0.claims["sub_id"] = [
                "format": "aliases",
                "identifiers": [["format": "complex", "user": ["format": "opaque", "id": "s"]]],
            ]
        },
        Refusal("a malformed identifier beside a good one", .subject) {
            $0.claims["sub_id"] = [
                "format": "aliases", "identifiers": [["format": "email"], ["format": "opaque"]],
            ]
        },
        Refusal("17 aliases", .subject) {
            $0.claims["sub_id"] = [
                "format": "aliases", "identifiers": .array((1...17).map { _ in ["format": "email"] }),
            ]
        },
        Refusal("another signature", .signature) { $0.signature = .changed },
        Refusal("an unknown kid", .key) { $0.header["kid"] = "another" },
    ]

    @Test("An invalid token has no effect, and the response has the code of RFC 8935 and the failed check")
    func refused() async throws {
        try await EventWalk.with { events in
            let session = try await events.session()
            for row in Self.refusals {
                let answer = try await events.push(try await events.token(change: row.change))
                #expect(answer.status == 400, "\(row.name)")
                #expect(answer.json["err"]?.string == row.check.code, "\(row.name)")
                #expect(answer.json["description"]?.string?.hasSuffix("(\(row.check.rawValue))") == true, "\(row.name)")
                #expect(answer.response["content-language"] == "en", "\(row.name)")
            }
            // What the draft of a token cannot be.
            for text in ["no token", "a.b", "e30.e30.", String(repeating: "a", count: 17_000)] {
                let answer = try await events.push(text)
                #expect(answer.status == 400 && answer.json["err"]?.string == "invalid_request", "\(text.prefix(20))")
            }
            let stranger = try await events.push(try await events.token(isPublished: false))
            #expect(stranger.json["err"]?.string == "invalid_key")
            #expect(try await events.isLive(session))
            #expect(try await events.audited().isEmpty)
            let all = Self.refusals.count + 5
            #expect(try await events.count("refusals") == all)
            #expect(try await events.count("refusals", "audience") == 4)
            #expect(try await events.count("") == 0)
            // The rows' token is itself valid.
            #expect(try await events.push(try await events.token()).status == 202)
            #expect(try await !events.isLive(session))
        }
    }

    @Test("Each check is in the table, but those that no draft of a token can fail")
    func checks() {
        let missing = Set(EventTokenCheck.allCases).subtracting(Self.refusals.map(\.check))
        #expect(missing == [.claims])
    }

    @Test("What is at the end of each range is accepted, and what is unknown is ignored")
    func accepted() async throws {
        let rows: [(name: String, change: Change)] = [
            ("a week and a minute old", { $0.claims["iat"] = $0.time(plus: -7 * 86_400 - 60) }),
            ("a minute of the future", { $0.claims["iat"] = $0.time(plus: 60) }),
            ("valid from now on", { $0.claims["nbf"] = $0.time(plus: 60) }),
            ("ours among audiences", { $0.claims["aud"] = ["another", .string(SignInHarness.clientID)] }),
            ("a jti of 255 characters", { $0.claims["jti"] = .string(String(repeating: "j", count: 255)) }),
            ("the whole media type, in capitals", { $0.header["typ"] = "application/SECEVENT+jwt" }),
            (
                "15 events more",
                { draft in
                    let events = draft.claims["events"]?.object?.members.map { ($0.name, $0.value) } ?? []
                    draft.claims["events"] = .object(
                        of: (1...15).map { ("https://events.example/\($0)", [:]) } + events)
                }
            ),
            ("other claims", { $0.claims["txn"] = ["any": [1]] }),
        ]
        try await EventWalk.with { events in
            for row in rows {
                let session = try await events.session()
                let answer = try await events.push(try await events.token(change: row.change))
                #expect(answer.status == 202 && answer.response.body.isEmpty, "\(row.name)")
                #expect(try await !events.isLive(session), "\(row.name)")
            }
            #expect(try await events.count("", "other", "ignored") == 15)
        }
    }

    @Test("Only the user of this very provider is touched, in each form of a subject")
    func subjects() async throws {
        try await EventWalk.with { events in
            let (issuer, jane) = (events.issuer, events.subject())
            let email: JSONValue = ["format": "email", "email": "jane@example.com"]
            let mine: JSONValue = ["format": "iss_sub", "iss": .string(issuer), "sub": .string(jane)]
            let others: JSONValue = ["format": "iss_sub", "iss": "https://other.example", "sub": .string(jane)]
            let rows: [(name: String, subject: JSONValue, ends: Bool)] = [
                ("iss_sub", mine, true),
                ("opaque", ["format": "opaque", "id": .string(jane)], true),
                ("aliases", ["format": "aliases", "identifiers": [email, others, mine]], true),
                ("complex", ["format": "complex", "user": mine, "session": ["format": "opaque", "id": "s"]], true),
                ("complex without a format", ["user": mine, "device": email], true),
                ("another issuer", others, false),
                ("another user", ["format": "opaque", "id": "nobody"], false),
                ("an e-mail address", email, false),
                ("a phone number", ["format": "phone_number", "phone_number": "+12065550100"], false),
                ("an unknown format", ["format": "did", "url": "did:example:1"], false),
                ("aliases of others", ["format": "aliases", "identifiers": [email, others]], false),
                ("a device", ["format": "complex", "device": ["format": "opaque", "id": .string(jane)]], false),
                ("a session without a format", ["session": ["format": "opaque", "id": .string(jane)]], false),
                ("the user of another letter case", ["format": "opaque", "id": .string(jane.uppercased())], false),
            ]
            for row in rows {
                let session = try await events.session()
                let ravi = try await events.session(of: "ravi")
                let globex = try #require(try await events.walk.token(at: "globex"))
                let before = try await events.audited().count
                // In the place of Shared Signals, and in that of older drafts.
                for isOuter in [true, false] {
                    let token = try await events.token(
                        of: nil, with: isOuter ? [:] : ["subject": row.subject]
                    ) { if isOuter { $0.claims["sub_id"] = row.subject } }
                    #expect(try await events.push(token).status == 202, "\(row.name)")
                    #expect(try await events.isLive(session) == !row.ends, "\(row.name)")
                }
                #expect(try await events.audited().count == before + (row.ends ? 2 : 0), "\(row.name)")
                for other in [ravi, globex] { #expect(try await events.isLive(other), "\(row.name)") }
            }
            #expect(try await events.count("", "session-revoked", "unknown_subject") == 18)
        }
    }

    @Test("The subject of the token counts, where the event has one in an older form, too")
    func twoSubjects() async throws {
        try await EventWalk.with { events in
            let jane = try await events.session()
            let ravi = try await events.session(of: "ravi")
            let token = try await events.token(of: "jane", with: ["subject": events.identifier(of: "ravi")])
            #expect(try await events.push(token).status == 202)
            #expect(try await !events.isLive(jane))
            #expect(try await events.isLive(ravi))
        }
    }

    @Test("The test of a stream is counted, by the URI of each draft, and changes nothing")
    func verifications() async throws {
        try await EventWalk.with { events in
            let session = try await events.session()
            let sse = "https://schemas.openid.net/secevent/sse/event-type/"
            let types = [EventWalk.ssf, EventWalk.risc, sse].map { $0 + "verification" }
            for type in types + [EventWalk.ssf + "stream-updated"] {
                #expect(try await events.push(try await events.token(type)).status == 202)
            }
            #expect(try await events.count("", "other", "recorded") == 4)
            #expect(try await events.isLive(session))
            #expect(try await events.audited().isEmpty)
        }
    }

    @Test("An event may only forget the tokens: the user stays signed in")
    func forgettingTokens() async throws {
        try await EventWalk.with(
            rules: { $0.actions = [.sessionRevoked: .forgetTokens] },
            configure: { configuration in
                configuration.encryptionKeys = EncryptionKey.of(String(repeating: "1f", count: 32))
                for index in configuration.providers.indices {
                    configuration.providers[index].rules.storesTokens = true
                }
            }
        ) { events in
            func kept() async throws -> Int64 {
                try await events.withStore { store in
                    try await store.reads.submit { db in try db.number("SELECT count(*) FROM provider_tokens") }
                }
            }
            let session = try await events.session()
            #expect(try await kept() == 1)
            #expect(try await events.push(try await events.token()).status == 202)
            #expect(try await kept() == 0)
            #expect(try await events.isLive(session))
            #expect(try await events.audited().map { $0["tokens"]?.integer } == [1])
            #expect(try await events.count("", "session-revoked", "forgot_tokens") == 1)
        }
    }

    @Test("The keys of event tokens can be others than those of ID tokens")
    func ownKeys() async throws {
        try await EventWalk.with(
            configure: { configuration in
                let globex = configuration.providers.first { $0.id == "globex" }?.issuer.text ?? ""
                for index in configuration.providers.indices where configuration.providers[index].id == "acme" {
                    configuration.providers[index].events.jwksURI = EndpointURL(
                        globex + "/jwks", policy: .allowLoopbackHTTP)
                }
            }
        ) { events in
            let session = try await events.session()
            #expect(try await events.push(try await events.token()).json["err"]?.string == "invalid_key")
            #expect(try await events.isLive(session))
            let (issuer, subject) = (events.issuer, events.identifier())
            let token = try await events.harness.simulator.eventToken(
                of: "globex", clientID: SignInHarness.clientID,
                events: .object(of: [(EventWalk.caep + "session-revoked", [:])])
            ) {
                $0.claims["iss"] = .string(issuer)
                $0.claims["sub_id"] = subject
            }
            #expect(try await events.push(token).status == 202)
            #expect(try await !events.isLive(session))
        }
    }

    @Test("The configuration says how old a token may be")
    func maximumAge() async throws {
        try await EventWalk.with(rules: { $0.maximumAge = .seconds(120) }) { events in
            let session = try await events.session()
            let old = try await events.token { $0.claims["iat"] = $0.time(plus: -181) }
            #expect(try await events.push(old).status == 400)
            #expect(try await events.isLive(session))
            let young = try await events.token { $0.claims["iat"] = $0.time(plus: -180) }
            #expect(try await events.push(young).status == 202)
            #expect(try await !events.isLive(session))
        }
    }

    @Test("Tokens of two providers may have the same id")
    func sameID() async throws {
        try await EventWalk.with(
            configure: { configuration in
                for index in configuration.providers.indices where configuration.providers[index].id == "globex" {
                    configuration.providers[index].events.transmitter = .ssf
                }
            }
        ) { events in
            let simulator = events.harness.simulator
            for provider in ["acme", "globex"] {
                let session = try #require(try await events.walk.token(at: provider, user: "jane"))
                let subject = simulator.subject(of: "jane", at: provider, clientID: SignInHarness.clientID)
                let token = try await simulator.eventToken(
                    of: provider, clientID: SignInHarness.clientID,
                    events: .object(of: [(EventWalk.caep + "session-revoked", [:])])
                ) {
                    $0.claims["jti"] = "one"
                    $0.claims["sub_id"] = ["format": "opaque", "id": .string(subject)]
                }
                #expect(try await events.push(token, to: provider).status == 202)
                #expect(try await !events.isLive(session), "\(provider)")
            }
        }
    }

    @Test("The user's sessions by another identity stay")
    func otherIdentity() async throws {
        try await EventWalk.with { events in
            let carrier = try #require(try await events.harness.session())
            let linked = try await events.harness.app.send(
                "POST", "/users/me/identities",
                headers: ["Content-Type: application/json", "Authorization: Bearer \(carrier)"],
                body: App.json(try events.walk.code(at: "acme", user: "jane").merging(["provider": "acme"]) { $1 }))
            #expect(linked.status == 201)
            let session = try await events.session()
            #expect(try await events.push(try await events.token()).status == 202)
            #expect(try await !events.isLive(session))
            #expect(try await events.isLive(carrier))
        }
    }

    @Test("What each event leads to by default, and is in the audit log")
    func actions() async throws {
        let rows: [(event: String, action: EventAction)] = [
            (EventWalk.caep + "session-revoked", .endSessions), (EventWalk.risc + "sessions-revoked", .endSessions),
            (EventWalk.caep + "credential-change", .record),
            (EventWalk.risc + "account-credential-change-required", .record),
            (EventWalk.risc + "credential-compromise", .endSessions),
            (EventWalk.risc + "account-disabled", .endSessions), (EventWalk.risc + "account-enabled", .record),
            (EventWalk.risc + "account-purged", .endAccess), (EventWalk.risc + "identifier-changed", .record),
            (EventWalk.risc + "identifier-recycled", .record), (EventWalk.risc + "recovery-activated", .record),
            (EventWalk.risc + "recovery-information-changed", .record),
            (EventWalk.caep + "assurance-level-change", .ignore), (EventWalk.caep + "token-claims-change", .ignore),
            (EventWalk.oauth + "token-revoked", .ignore), (EventWalk.oauth + "tokens-revoked", .endAccess),
            ("https://schemas.openid.net/secevent/risc/event-type/unheard-of", .ignore),
            ("https://evil.example/session-revoked", .ignore), (EventWalk.ssf + "stream-updated", .ignore),
        ]
        let key = String(repeating: "1f", count: 32)
        try await EventWalk.with(
            configure: { configuration in
                configuration.encryptionKeys = EncryptionKey.of(key)
                for index in configuration.providers.indices {
                    configuration.providers[index].rules.storesTokens = true
                }
            }
        ) { events in
            for row in rows {
                // Not by the properties of the actions, which may be wrong.
                let endsSessions = [.endSessions, .endAccess].contains(row.action)
                let forgetsTokens = [.forgetTokens, .endAccess].contains(row.action)
                let session = try await events.session()
                let ravi = try await events.session(of: "ravi")
                let before = try await events.audited().count
                #expect(try await events.push(try await events.token(row.event)).status == 202, "\(row.event)")
                #expect(try await events.isLive(session) == !endsSessions, "\(row.event)")
                #expect(try await events.isLive(ravi), "\(row.event)")
                let kept = try await events.withStore { store in
                    try await store.reads.submit { db in try db.number("SELECT count(*) FROM provider_tokens") }
                }
                #expect(kept == (forgetsTokens ? 1 : 2), "\(row.event)")
                let audited = try await events.audited().dropFirst(before)
                #expect(audited.count == (row.action == .ignore ? 0 : 1), "\(row.event)")
                guard let details = audited.first else { continue }
                #expect(details["action"]?.string == row.action.rawValue, "\(row.event)")
                #expect(row.event.hasSuffix("/" + (details["event"]?.string ?? "-")), "\(row.event)")
                #expect(details["provider"]?.string == "acme")
                let ended = details["sessions"]?.integer
                #expect(endsSessions ? (ended ?? 0) > 0 : ended == nil, "\(row.event)")
                #expect(details["tokens"]?.integer == (forgetsTokens ? 1 : nil), "\(row.event)")
            }
        }
    }

    @Test("The administrator decides what an event leads to")
    func configuredActions() async throws {
        try await EventWalk.with(
            rules: {
                $0.actions = [.sessionRevoked: .record, .credentialChange: .endSessions, .accountPurged: .ignore]
            }
        ) { events in
            let session = try await events.session()
            for event in [EventWalk.caep + "session-revoked", EventWalk.risc + "account-purged"] {
                #expect(try await events.push(try await events.token(event)).status == 202)
            }
            #expect(try await events.isLive(session))
            #expect(try await events.audited().map { $0["action"]?.string } == ["record"])
            #expect(try await events.push(try await events.token(EventWalk.caep + "credential-change")).status == 202)
            #expect(try await !events.isLive(session))
            #expect(try await events.count("", "account-purged", "ignored") == 1)
        }
    }

    @Test("A token has its effect once, at all instances")
    func repeated() async throws {
        let clock = ManualClock()
        try await EventWalk.with(clock: clock.wallClock) { events in
            _ = try await events.session()
            let token = try await events.token()
            #expect(try await events.push(token).status == 202)
            let again = try await events.session()
            #expect(try await events.push(token).status == 202)
            try await events.harness.withInstance(clock: clock.wallClock) { app, _ in
                let status = try await events.push(token, at: app).status
                #expect(status == 202)
            }
            #expect(try await events.isLive(again))
            #expect(try await events.audited().count == 1)
            #expect(try await events.count("", "session-revoked", "repeated") == 1)
            // Its id is kept until it is refused for its age.
            clock.advance(bySeconds: 7 * 86_400 + 60)
            try await events.withStore { _ = try await $0.purgeExpired(at: clock.now, limit: 1000) }
            let late = try await events.session()
            #expect(try await events.push(token).status == 202)
            #expect(try await events.isLive(late))
            clock.advance(bySeconds: 1)
            try await events.withStore { _ = try await $0.purgeExpired(at: clock.now, limit: 1000) }
            #expect(try await events.push(token).status == 400)
            // Another token may have the id then.
            #expect(try await events.push(try await events.token { $0.claims["jti"] = "one" }).status == 202)
            #expect(try await !events.isLive(late))
        }
    }

    @Test(
        "No event token passes as another token, and no other one as an event token",
        arguments: EventTransmitter.allCases)
    func kinds(transmitter: EventTransmitter) async throws {
        guard transmitter != .off else { return }
        try await EventWalk.with(
            transmitter,
            configure: { configuration in
                // Nothing but the kind of a token tells it apart.
                for index in configuration.providers.indices where configuration.providers[index].id == "acme" {
                    configuration.providers[index].events.issuer = configuration.providers[index].issuer
                }
            }
        ) { events in
            let session = try await events.session()
            let simulator = events.harness.simulator
            let isApple = transmitter == .apple
            func push(_ text: String) async throws -> App.Answer {
                isApple
                    ? try await events.push(App.json(["payload": text]), as: "application/json")
                    : try await events.push(text)
            }
            // An ID token of this client and issuer, and a logout token.
            let idToken = try #require(simulator.latestIDToken(at: "acme"))
            let logout = try await simulator.logoutToken(
                of: "acme", clientID: SignInHarness.clientID, user: "jane", sessionID: nil, defect: nil)
            for text in [idToken, logout] {
                #expect(try await push(text).json["err"] != nil)
                #expect(try await events.isLive(session))
            }
            // An event token at the routes of the others, marked as event and as nothing.
            for type in ["secevent+jwt", nil, "JWT"] {
                let token = try await events.token { draft in
                    draft.header["typ"] = type.map { .string($0) }
                    draft.claims["sub"] = .string(events.subject())
                    draft.claims["exp"] = draft.time(plus: 600)
                }
                let answer = try await Browser().post(
                    events.walk.origin + "/auth/acme/backchannel-logout", form: ["logout_token": token])
                #expect(answer.status == 400)
                #expect(try await events.isLive(session))
                simulator.update("acme") {
                    $0.tampering.idTokens = [
                        { draft in
                            draft.header["typ"] = type.map { .string($0) }
                            draft.claims["events"] = .object(of: [(EventWalk.caep + "session-revoked", [:])])
                        }
                    ]
                }
                let fields = App.json(try events.walk.code(at: "acme"))
                let signIn = try await events.harness.app.send(
                    "POST", "/auth/acme/sign-in", headers: ["Content-Type: application/json"], body: fields)
                #expect(signIn.error == "invalid_id_token", "\(type ?? "no typ")")
            }
        }
    }

    @Test("Google's form: its issuer has a slash, its tokens no typ, and the subject is in the event")
    func google() async throws {
        try await EventWalk.with(.google) { events in
            let issuer = events.issuer + "/"
            func token(_ event: String, _ subject: [(String, JSONValue?)]) async throws -> String {
                try await events.token(event, of: nil, with: ["subject": .object(of: subject)]) { draft in
                    draft.header["typ"] = nil
                    draft.claims["iss"] = .string(issuer)
                    draft.claims["aud"] = ["other.apps.example", .string(SignInHarness.clientID)]
                }
            }
            let user: [(String, JSONValue?)] = [("iss", .string(issuer)), ("sub", .string(events.subject()))]
            for (name, event, type) in [
                ("hijacked", EventWalk.risc + "account-disabled", "iss-sub"),
                ("sessions", EventWalk.risc + "sessions-revoked", "id_token_claims"),
                ("tokens", EventWalk.oauth + "tokens-revoked", "iss-sub"),
            ] {
                let session = try await events.session()
                let answer = try await events.push(
                    try await token(event, [("subject_type", .string(type)), ("email", "jane@example.com")] + user))
                #expect(answer.status == 202, "\(name)")
                #expect(try await !events.isLive(session), "\(name)")
            }
            // A token alone, an address alone, and the test of the stream.
            let session = try await events.session()
            for (event, subject) in [
                (EventWalk.oauth + "token-revoked", [("subject_type", "oauth_token"), ("token", "t")]),
                (EventWalk.risc + "account-disabled", [("subject_type", "id_token_claims"), ("email", "e")]),
            ] as [(String, [(String, JSONValue?)])] {
                #expect(try await events.push(try await token(event, subject)).status == 202)
            }
            let verification = try await events.token(EventWalk.risc + "verification", of: nil, with: ["state": "s1"]) {
                $0.claims["iss"] = .string(issuer)
            }
            #expect(try await events.push(verification).status == 202)
            // The issuer of ID tokens is not that of events.
            #expect(try await events.push(try await events.token()).json["err"]?.string == "invalid_issuer")
            #expect(try await events.isLive(session))
            #expect(try await events.count("", "other", "recorded") == 1)
        }
    }

    @Test("Apple's form: JSON around the token, and the event is a text")
    func apple() async throws {
        try await EventWalk.with(.apple, rules: { $0.audiences = [ClientID("com.example.app")].compactMap(\.self) }) {
            events in
            func token(_ type: String, change: (inout TokenDraft) -> Void = { _ in }) async throws -> String {
                let event = JSONObjectWriter.text { json in
                    json.add("type", type)
                    json.add("sub", events.subject())
                    json.add("event_time", 1_508_184_845_000)
                }
                return try await events.token { draft in
                    draft.header["typ"] = nil
                    draft.claims["sub_id"] = nil
                    draft.claims["exp"] = draft.time(plus: 86_400)
                    draft.claims["events"] = .string(event)
                    change(&draft)
                }
            }
            func push(_ token: String) async throws -> App.Answer {
                try await events.push(App.json(["payload": token]), as: "application/json")
            }
            for (type, ends) in [
                ("consent-revoked", true), ("account-delete", true), ("account-deleted", true),
                ("email-enabled", false), ("email-disabled", false), ("unheard-of", false),
            ] {
                let session = try await events.session()
                let answer = try await push(try await token(type))
                #expect(answer.status == 200, "\(type)")
                #expect(try await events.isLive(session) == !ends, "\(type)")
            }
            let session = try await events.session()
            let refusals: [(name: String, err: String, change: Change)] = [
                ("expired", "invalid_request", { $0.claims["exp"] = $0.time(plus: -60) }),
                ("another app", "invalid_audience", { $0.claims["aud"] = "com.example.other" }),
                ("no JSON", "invalid_request", { $0.claims["events"] = "consent-revoked" }),
                ("no type", "invalid_request", { $0.claims["events"] = "{\"sub\": \"s\"}" }),
                ("no user", "invalid_request", { $0.claims["events"] = "{\"type\": \"consent-revoked\"}" }),
                (
                    "a user of 256 characters", "invalid_request",
                    {
                        let user = String(repeating: "s", count: 256)
                        $0.claims["events"] = .string("{\"type\": \"consent-revoked\", \"sub\": \"\(user)\"}")
                    }
                ), ("another signature", "invalid_key", { $0.signature = .changed }),
            ]
            for row in refusals {
                let answer = try await push(try await token("consent-revoked", change: row.change))
                #expect(answer.status == 400 && answer.json["err"]?.string == row.err, "\(row.name)")
            }
            for body in ["{}", "[]", "{\"payload\": 7}"] {
                #expect(try await events.push(body, as: "application/json").json["err"]?.string == "invalid_request")
            }
            #expect(try await events.push(try await token("consent-revoked")).status == 415)
            #expect(try await events.isLive(session))
            // The primary App ID is another one than the client.
            #expect(
                try await push(try await token("consent-revoked") { $0.claims["aud"] = "com.example.app" }).status
                    == 200)
            #expect(try await !events.isLive(session))
        }
    }

    @Test("Only a push with the agreed Authorization is read, if one is agreed")
    func authorization() async throws {
        try await EventWalk.with(rules: { $0.authorization = Secret("Bearer of events") }) { events in
            let session = try await events.session()
            let token = try await events.token()
            for headers in [
                [], ["Authorization: Bearer of event"], ["Authorization: bearer of events"],
                ["Authorization: Bearer of events", "Authorization: Bearer of events"],
            ] {
                let answer = try await events.push(token, headers: headers)
                #expect(answer.status == 400 && answer.json["err"]?.string == "authentication_failed")
            }
            #expect(try await events.isLive(session))
            #expect(try await events.count("refusals", "authorization") == 4)
            #expect(try await events.push(token, headers: ["Authorization: Bearer of events"]).status == 202)
            #expect(try await !events.isLive(session))
        }
    }

    @Test("The route accepts only the content type of event tokens, at a provider that sends some")
    func requests() async throws {
        try await EventWalk.with { events in
            let session = try await events.session()
            let token = try await events.token()
            for type in ["application/jwt", "application/json", "text/plain"] {
                #expect(try await events.push(token, as: type).status == 415, "\(type)")
            }
            for provider in ["zenkey", "meetings", "globex", "initech"] {
                #expect(try await events.push(token, to: provider).status == 404, "\(provider)")
            }
            #expect(try await events.harness.app.send("GET", "/events/acme").status == 405)
            #expect(try await events.isLive(session))
            #expect(try await events.push(token, as: "Application/secevent+JWT; charset=utf-8").status == 202)
        }
        try await EventWalk.with(
            rules: { $0.pollEndpoint = EndpointURL("http://127.0.0.1:1/poll", policy: .allowLoopbackHTTP) }
        ) { events in
            let answer = try await events.push(try await events.token())
            #expect(answer.status == 400 && answer.json["err"]?.string == "access_denied")
        }
    }

    @Test("Rotated keys are fetched; forged tokens cause at most one fetch a minute")
    func rotation() async throws {
        let clock = ManualClock()
        try await EventWalk.with(clock: clock.wallClock) { events in
            let session = try await events.session()
            let before = events.harness.simulator.log.keyFetches("acme")
            for _ in 0..<5 { _ = try await events.push(try await events.token(isPublished: false)) }
            #expect(events.harness.simulator.log.keyFetches("acme") == before + 1)
            events.harness.simulator.rotateKeys("acme")
            clock.advance(bySeconds: 61)
            #expect(try await events.push(try await events.token()).status == 202)
            #expect(try await !events.isLive(session))
        }
    }

    @Test("10,000 hostile tokens: nothing happens but a counted refusal, and the keys are fetched once more")
    func hostile() async throws {
        try await EventWalk.with { events in
            let session = try await events.session()
            let fetches = events.harness.simulator.log.keyFetches("acme")
            var kinds = [
                try await events.token(isPublished: false), try await events.token { $0.signature = .changed },
                try await events.token { $0.claims["exp"] = $0.time(plus: 60) },
                try await events.token { $0.claims["aud"] = "another" }, "e30.e30.e30",
            ]
            for number in 0..<15 {
                kinds.append(try await events.token { $0.header["kid"] = .string("kid-\(number)") })
            }
            let handler = events.harness.service.handler
            let headers: HTTPFields = [.contentType: EventPush.contentType]
            for number in 0..<10_000 {
                let body = Array(kinds[number % kinds.count].utf8)
                let response = try await handler(Request(.post, "/events/acme", headers: headers, body: body))
                #expect(response.status == .badRequest)
            }
            #expect(try await events.count("refusals") == 10_000)
            #expect(events.harness.simulator.log.keyFetches("acme") == fetches + 1)
            #expect(try await events.audited().isEmpty)
            let notes = try await events.withStore { store in
                try await store.reads.submit { db in
                    try db.number("SELECT count(*) FROM sealed_notes WHERE purpose = 'security-event'")
                }
            }
            #expect(notes == 0)
            #expect(try await events.isLive(session))
            #expect(try await events.push(try await events.token()).status == 202)
        }
    }

    @Test("An address has a limit of its own, before anything of a token is read")
    func rateLimit() async throws {
        let configure: (inout Configuration) -> Void = {
            $0.requestLimits.quotas[.signInsPerAddress] = .init(count: 2, seconds: 7200)
            $0.requestLimits.proxies.ranges = ["127.0.0.0/8"].compactMap(IPAddressRange.init)
        }
        try await EventWalk.with(configure: configure) { events in
            let session = try await events.session()
            let token = try await events.token()
            func push(_ text: String, from address: String) async throws -> Int {
                try await events.push(text, headers: ["X-Forwarded-For: \(address)"]).status
            }
            for _ in 0..<2 { #expect(try await push("e30.e30.e30", from: "192.0.2.1") == 400) }
            #expect(try await push(token, from: "192.0.2.1") == 429)
            #expect(try await events.isLive(session))
            #expect(try await events.count("refusals") == 2)
            #expect(try await push(token, from: "192.0.2.2") == 202)
            #expect(try await !events.isLive(session))
        }
    }

    @Test("Without the provider's keys a token is neither refused nor taken")
    func unavailable() async throws {
        let clock = ManualClock()
        try await EventWalk.with(clock: clock.wallClock) { events in
            let session = try await events.session()
            let token = try await events.token()
            events.harness.simulator.setFaults([.discovery500], for: "acme")
            try await events.harness.withInstance(clock: clock.wallClock) { app, _ in
                let answer = try await events.push(token, at: app)
                #expect(answer.status >= 500)
            }
            events.harness.simulator.setFaults([], for: "acme")
            #expect(try await events.isLive(session))
            #expect(try await events.push(token).status == 202)
            #expect(try await !events.isLive(session))
        }
    }

    @Test("A token of a new key is neither refused nor taken while the keys cannot be fetched")
    func newKeyUnavailable() async throws {
        let clock = ManualClock()
        try await EventWalk.with(clock: clock.wallClock) { events in
            let session = try await events.session()
            #expect(try await events.push(try await events.token(of: "nobody")).status == 202)
            events.harness.simulator.rotateKeys("acme")
            let token = try await events.token()
            events.harness.simulator.setFaults([.keys500], for: "acme")
            // The second time no fetch is tried.
            for _ in 0..<2 { #expect(try await events.push(token).status >= 500) }
            events.harness.simulator.setFaults([], for: "acme")
            clock.advance(bySeconds: 61)
            #expect(try await events.isLive(session))
            #expect(try await events.push(token).status == 202)
            #expect(try await !events.isLive(session))
        }
    }

    @Test("A registration that waits fails after the end of its user's sessions")
    func pendingRegistration() async throws {
        try await EventWalk.with(configure: { $0.registration.mode = .required }) { events in
            func offered() async throws -> String {
                let response = try await events.harness.app.send(
                    "POST", "/auth/acme/sign-in", headers: ["Content-Type: application/json"],
                    body: App.json(try events.walk.code(at: "acme")))
                return try #require(response.json["state_key"]?.string)
            }
            for (event, status) in [("session-revoked", 401), ("credential-change", 201)] {
                let handle = try await offered()
                #expect(try await events.push(try await events.token(EventWalk.caep + event)).status == 202)
                #expect(try await events.harness.app.post("/users", ["state_key": handle]).status == status)
            }
        }
    }
}
