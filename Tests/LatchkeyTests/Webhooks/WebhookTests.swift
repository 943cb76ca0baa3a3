import ArgumentParser
import CarrierSimulator
import Crypto
import Foundation
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@testable import Webhooks

/// Webhooks of a whole server, at a receiver that shares no code with it: `Tests/Webhooks/receiver.py`.
@Suite(.serialized) struct WebhookTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let newSecret = "whsec_" + Data(repeating: 7, count: 32).base64EncodedString()

    /// A request that the receiver had.
    private struct Received {
        let path: String
        let mode: String
        let id: String
        let signatures: Int64
        let type: String
        let data: JSONObject?
        let error: String?
        let connection: Int64

        init?(_ line: Substring) {
            guard let line = (try? JSONValue(parsing: Array(line.utf8)))?.object, line["method"] == "POST" else {
                return nil
            }
            path = line["path"]?.string ?? ""
            mode = line["mode"]?.string ?? ""
            id = line["id"]?.string ?? ""
            signatures = line["signatures"]?.integer ?? 0
            let event = line["event"]?.object
            type = event?["type"]?.string ?? ""
            data = event?["data"]?.object
            error = line["error"]?.string
            connection = line["connection"]?.integer ?? 0
        }
    }

    private static func received(_ receiver: TelemetryReceiver) -> [Received] {
        // The last line may not be there in full.
        receiver.said.split(separator: "\n").compactMap(Received.init)
    }

    private func withReceiver(_ body: (TelemetryReceiver) async throws -> Void) async throws {
        let receiver = try await TelemetryReceiver("Tests/Webhooks/receiver.py", [Self.secret])
        defer { receiver.stop() }
        try await body(receiver)
    }

    private func endpoint(
        _ url: String, _ secrets: [String] = [secret], types: Set<WebhookType> = Set(WebhookType.allCases)
    ) throws -> WebhookEndpoint {
        WebhookEndpoint(
            name: "crm", url: try #require(EndpointURL(url, policy: .allowLoopbackHTTP)), types: types,
            secrets: secrets.map { Secret($0) })
    }

    private func configure(_ endpoints: [WebhookEndpoint]) -> (inout Configuration) -> Void {
        { configuration in
            configuration.auditsSignIns = true
            configuration[WebhookSettings.self].endpoints = endpoints
        }
    }

    private func signIn(_ harness: SignInHarness) async throws -> String {
        let answer = try await harness.app.signIn(try harness.authorizedResponse())
        #expect(answer.status == 200)
        return try #require(answer.token)
    }

    @Test("A receiver verifies the events of a user's life, in their order, over few connections")
    func life() async throws {
        try await withReceiver { receiver in
            let url = receiver.url + "/hooks"
            try await SignInHarness.with(configure: configure([try endpoint(url, [Self.newSecret, Self.secret])])) {
                harness in
                let app = harness.app
                let first = try await signIn(harness)
                let userID = try await app.me(first).json["sub"]?.string
                #expect(try await app.asUser("PATCH", "/users/me", first, ["name": "Ada Canary"]).status == 200)
                let second = try await signIn(harness)
                #expect(try await app.signOut(second).status == 200)
                // An erasure also takes the details of events that were not sent yet.
                try await until { Self.received(receiver).count == 5 }
                #expect(try await app.asUser("DELETE", "/users/me", first).status == 200)
                try await until { Self.received(receiver).count == 6 }
                let events = Self.received(receiver)
                #expect(events.compactMap(\.error).isEmpty)
                #expect(
                    events.map(\.type) == [
                        "user.created", "session.created", "user.updated", "session.created", "session.ended",
                        "user.deleted",
                    ])
                #expect(events.allSatisfy { $0.data?["user_id"]?.string == userID && userID != nil })
                #expect(events.allSatisfy { $0.signatures == 2 && $0.path == "/hooks" })
                #expect(events[2].data?["attributes"]?.array == ["name"])
                #expect(events[3].data?["session_id"] == events[4].data?["session_id"])
                #expect(events[5].data?["cause"] == "user.erased")
                #expect(Set(events.map(\.id)).count == 6)
                #expect(Set(events.map(\.connection)).count <= 4, "connections are kept")
            }
            #expect(!receiver.said.contains("Canary"))
        }
    }

    @Test("A receiver that hangs costs no sign-in, and the end of the server does not wait for it")
    func hang() async throws {
        try await withReceiver { receiver in
            try await receiver.answer("hang")
            let stopwatch = ContinuousClock.now
            try await SignInHarness.with(configure: configure([try endpoint(receiver.url)])) { harness in
                for _ in 0..<8 { _ = try await signIn(harness) }
                try await until { !Self.received(receiver).isEmpty }
                _ = try await signIn(harness)
            }
            // The limit of a request is 15 seconds.
            #expect(ContinuousClock.now - stopwatch < .seconds(14 * Patience.factor))
        }
    }

    @Test("Redirects are not followed, and long responses not read; the event comes again")
    func redirect() async throws {
        for mode in ["redirect", "large", "410"] {
            try await withReceiver { receiver in
                try await receiver.answer(mode)
                try await SignInHarness.with(configure: configure([try endpoint(receiver.url + "/hooks")])) { harness in
                    _ = try await signIn(harness)
                    try await until { !Self.received(receiver).isEmpty }
                    try await receiver.answer("ok")
                    try await until { Self.received(receiver).contains { $0.mode == "ok" } }
                    let all = Self.received(receiver)
                    #expect(all.first?.id == all.first { $0.mode == "ok" }?.id)
                    #expect(all.allSatisfy { $0.path == "/hooks" })
                }
            }
        }
    }

    @Test(
        "A receiver with TLS gets events if an authority of outbound.ca_file has issued its certificate for its name",
        arguments: [.server, .expiredServer, .otherServer, .selfSigned] as [IssuedCertificates.Holder])
    func encrypted(holder: IssuedCertificates.Holder) async throws {
        let certificates = try await IssuedCertificates.make([holder])
        let receiver = try await TelemetryReceiver(
            "Tests/Webhooks/receiver.py",
            [Self.secret, certificates.certificate(holder), certificates.key(holder)])
        defer { receiver.stop() }
        let endpoint = try endpoint("https://127.0.0.1:\(receiver.port)/hooks")
        try await SignInHarness.with(configure: { configuration in
            configure([endpoint])(&configuration)
            configuration.outbound.certificateAuthorities = certificates.authority
        }) { harness in
            _ = try await signIn(harness)
            if holder == .server {
                try await until { Self.received(receiver).count == 2 }
                #expect(Self.received(receiver).map(\.type) == ["user.created", "session.created"])
                #expect(Self.received(receiver).allSatisfy { $0.error == nil })
                return
            }
            try await until {
                try await harness.runAdminCommand { try await $0.listWebhooks(harness.configuration) }
                    .contains { $0.contains("last error") && $0.contains(" tls: ") }
            }
            #expect(Self.received(receiver).isEmpty)
        }
    }

    @Test("An address that outbound.allow_private_networks does not allow gets nothing, and the list says why")
    func privateAddress() async throws {
        try await SignInHarness.with(configure: configure([try endpoint("https://10.1.2.3/hooks")])) { harness in
            _ = try await signIn(harness)
            try await until {
                let lines = try await harness.runAdminCommand { try await $0.listWebhooks(harness.configuration) }
                return lines.contains { $0.contains("address_refused") }
            }
            let lines = try await harness.runAdminCommand(as: \.json) {
                try await $0.listWebhooks(harness.configuration)
            }
            let line = try #require((try? JSONValue(parsing: Array((lines.first ?? "").utf8)))?.object)
            #expect(line["endpoint"] == "crm" && line["waiting_users"] == 1 && line["is_delivering"] == true)
            let doctor = await WebhooksFeature.examine(
                harness.configuration, try LatchkeyService.makeClient(harness.configuration.outboundHTTP))
            #expect(doctor.first?.remedy?.contains("allow_private_networks") == true)
        }
    }

    @Test("An administrator sends events again; without --apply nothing changes")
    func replay() async throws {
        try await withReceiver { receiver in
            try await SignInHarness.with(configure: configure([try endpoint(receiver.url, types: [.sessionCreated])])) {
                harness in
                for _ in 0..<3 { _ = try await signIn(harness) }
                try await until { Self.received(receiver).count == 3 }
                let ids = Self.received(receiver).map(\.id)
                func replay(_ name: String = "crm", since: String? = nil, from: String? = nil, applies: Bool)
                    async throws
                    -> [String]
                {
                    try await harness.runAdminCommand {
                        try await $0.replayWebhook(
                            name, harness.configuration, since: since, from: from, applies: applies)
                    }
                }
                // How far the endpoint is has been stored.
                try await until { try await replay(from: ids[1], applies: false).first?.contains(": 2 events") == true }
                #expect(try await replay(since: "1d", applies: false).first?.contains(": 3 events") == true)
                #expect(Self.received(receiver).count == 3)
                _ = try await replay(from: ids[1], applies: true)
                try await until { Self.received(receiver).count == 5 }
                #expect(Self.received(receiver).map(\.id) == ids + ids[1...])
                for (name, from) in [("other", ids[0]), ("crm", "msg_1"), ("crm", "0")] {
                    await #expect(throws: AdministratorError.self) { try await replay(name, from: from, applies: true) }
                }
                let events = try await harness.runAdminCommand { admin in
                    try await admin.audit(try .parse(["--kind", "webhook.replayed"]))
                }
                #expect(events.count == 1)
            }
        }
    }

    @Test("Sign-ins that were answered before a kill are told, each with one id")
    func killed() async throws {
        try await withReceiver { receiver in
            let simulator = CarrierSimulator(
                clients: [
                    .init(
                        id: SignInHarness.clientID, secret: Secret("s3cret"),
                        redirectURIs: [SignInHarness.redirectURI])
                ])
            let running = try simulator.start()
            let directory = try TemporaryDirectory()
            do {
                try await killed(receiver, simulator, directory)
            } catch {
                await running.shutdown()
                throw error
            }
            await running.shutdown()
        }
    }

    private func killed(
        _ receiver: TelemetryReceiver, _ simulator: CarrierSimulator, _ directory: TemporaryDirectory
    ) async throws {
        let environment = [
            "LATCHKEY_HTTP_PORT": "0", "LATCHKEY_DATABASE_URL": "sqlite:///\(directory.file("latchkey.db"))",
            "LATCHKEY_API_KEYS": "test-key", "LATCHKEY_ALLOW_LOOPBACK_HTTP": "true",
            "LATCHKEY_ZENKEY_CLIENTS": "\(SignInHarness.clientID):s3cret",
            "LATCHKEY_ZENKEY_TRUSTED_ISSUERS": "127.0.0.1",
            "LATCHKEY_ZENKEY_DISCOVERY_URL": simulator.discoveryURL ?? "", "LATCHKEY_AUDIT_SIGN_INS": "true",
            "LATCHKEY_WEBHOOKS": #"[{"url": "\#(receiver.url)/hooks", "secret": "\#(Self.secret)"}]"#,
        ]
        var told: Set<String> = []
        for round in 1...4 {
            let process = try LatchkeyProcess(["serve"], environment: environment)
            let app = App(port: try await process.port(after: "listening"))
            for _ in 0..<10 {
                let verifier = RandomSource.system.token()
                let code = try simulator.issueCode(
                    mccmnc: SignInHarness.mccmnc, clientID: SignInHarness.clientID,
                    redirectURI: SignInHarness.redirectURI,
                    codeChallenge: Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 }))
                let answer = try await app.signIn([
                    "client_id": SignInHarness.clientID, "code": code, "mccmnc": SignInHarness.mccmnc,
                    "redirect_uri": SignInHarness.redirectURI, "code_verifier": verifier,
                ])
                let token = try #require(answer.token)
                let sessions = try await app.asUser("GET", "/users/me/sessions", token).json["sessions"]?.array
                let current = sessions?.first { $0.object?["current"] == true }?.object?["id"]?.string
                told.insert(try #require(current))
            }
            if round == 2 { try await until { !Self.received(receiver).isEmpty } }
            process.send(round < 4 ? SIGKILL : SIGTERM)
            if round == 4 {
                // The last one delivers what the killed ones left, before or after.
                #expect(await process.ending().status == 0)
            } else {
                #expect(await process.ending().status == SIGKILL)
                // A killed holder has its lease for half a minute, which this test does not wait for.
                let store = try SQLStore(
                    configuration: SQLiteConfiguration(path: directory.file("latchkey.db")))
                try await store.writes.submit { db in
                    try db.perform("UPDATE webhook_endpoints SET held_until = 0")
                }
                try await store.close()
            }
        }
        let process = try LatchkeyProcess(["serve"], environment: environment)
        func sessions() -> [String: Set<String>] {
            Self.received(receiver).filter { $0.type == "session.created" }.reduce(into: [:]) { found, event in
                found[event.data?["session_id"]?.string ?? "", default: []].insert(event.id)
            }
        }
        try await until { Set(sessions().keys).isSuperset(of: told) }
        #expect(sessions().values.allSatisfy { $0.count == 1 })
        process.send(SIGTERM)
        #expect(await process.ending().status == 0)
    }
}
