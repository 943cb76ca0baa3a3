import CarrierSimulator
import Crypto
import Foundation
import HTTPServer
import Primitives
import Synchronization
import TestSupport
import Testing

/// One built Latchkey, run as a process for all cases one after another, and carriers that misbehave as a case wants.
final class ConformanceStage: Sendable {
    @TaskLocal static var current: ConformanceStage?

    /// Of every kind of character that form-encoding changes (RFC 6749 section 2.3.1).
    static let secret = "s3cret:+%&= /?#@"
    /// For each request to a carrier.
    static let deadline = Duration.seconds(3)
    /// Held to their issuers by the configuration.
    static let pinnedNetworks = (1...9).map { "31900\($0)" }
    /// Whose keys all carriers have; and those of a former carrier, which are others.
    static let keyRing = "310010"
    static let otherKeyRing = "310260"
    /// Clients that prove in other ways than HTTP Basic who they are.
    static let postClient = "ccid-post"
    static let keyClient = "ccid-key"
    static let webURI = "https://web.example/done"

    let simulator: CarrierSimulator
    let front: CarrierFront
    let app: App
    let process: LatchkeyProcess
    let outcomes = Mutex<[String: Outcome]>([:])
    /// Of this machine, as far as they are longer than cases can bear.
    let pauses = MachinePauses()
    /// Carriers that must be well again some time after their case.
    let patients = Mutex<[Patient]>([])

    struct Patient: Sendable {
        let run: ConformanceRun
        let due: ContinuousClock.Instant
    }

    private let running: CarrierSimulator.Running
    private let directory: TemporaryDirectory
    private let networks = Mutex((next: 311_000, pinned: ConformanceStage.pinnedNetworks))

    private init() async throws {
        directory = try TemporaryDirectory()
        front = try CarrierFront()
        let key = P256.Signing.PrivateKey()
        simulator = CarrierSimulator(clients: Self.clients(key.publicKey.pemRepresentation))
        simulator.baseURL = front.url
        running = try simulator.start()
        front.setSimulator(port: running.addresses[0].port)
        try await ConformanceStage.makeKeys(simulator)
        simulator.update("acme") { $0.keyRing = ConformanceStage.keyRing }
        let configuration = directory.path + "/latchkey.json"
        try Self.configuration(key.pemRepresentation, simulator.issuer(of: "acme") ?? "").write(
            to: URL(fileURLWithPath: configuration))
        let issuers = ConformanceStage.pinnedNetworks.map { [url = front.url] in "\($0)=\(url)/carriers/\($0)" }
        process = try LatchkeyProcess(
            ["serve", "--config", configuration],
            environment: [
                "LATCHKEY_HTTP_PORT": "0", "LATCHKEY_DATABASE_URL": "sqlite:///\(directory.path)/latchkey.db",
                "LATCHKEY_API_KEYS": "test-key", "LATCHKEY_ALLOW_LOOPBACK_HTTP": "true",
                "LATCHKEY_RATE_LIMITS": "off",
                "LATCHKEY_ZENKEY_TRUSTED_ISSUERS": "127.0.0.1,*.carriers.test",
                "LATCHKEY_ZENKEY_DISCOVERY_URL": simulator.discoveryURL ?? "",
                "LATCHKEY_ZENKEY_ISSUERS": issuers.joined(separator: ","), "LATCHKEY_LOG_LEVEL": "verbose",
                "LATCHKEY_OUTBOUND_TIMEOUTS_DISCOVERY": "3s", "LATCHKEY_OUTBOUND_TIMEOUTS_JWKS": "3s",
                "LATCHKEY_OUTBOUND_TIMEOUTS_TOKEN": "3s", "LATCHKEY_OUTBOUND_TIMEOUTS_USERINFO": "3s",
            ], directory: directory.path)
        app = App(port: try await process.port(after: "listening"))
    }

    /// A carrier that has not been heard of before.
    func newCarrier(of row: ConformanceCase) -> String {
        let mccmnc = networks.withLock { networks in
            if row.isPinned, let pinned = networks.pinned.popLast() { return pinned }
            networks.next += 1
            return "\(networks.next)"
        }
        var carrier = CarrierSimulator.Carrier(mccmnc: mccmnc, name: "Carrier \(mccmnc)")
        carrier.keyRing = ConformanceStage.keyRing
        carrier.delay = ConformanceStage.deadline * 2
        for edit in row.nature { edit(&carrier) }
        simulator.add(carrier)
        return mccmnc
    }

    /// What the app has once the carrier approved.
    func authorizedResponse(
        _ mccmnc: String, clientID: String = Stage.clientID, scope: String = "openid", acr: String? = nil,
        context: String? = nil
    ) throws -> [String: String] {
        let verifier = RandomSource.system.token()
        let nonce = RandomSource.system.token(bytes: 16)
        let code = try simulator.issueCode(
            mccmnc: mccmnc, clientID: clientID, redirectURI: Stage.redirectURI,
            codeChallenge: Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 }), nonce: nonce,
            scope: scope, acr: acr, context: context)
        var fields = [
            "client_id": clientID, "code": code, "mccmnc": mccmnc, "redirect_uri": Stage.redirectURI,
            "code_verifier": verifier, "nonce": nonce, "scope": scope,
        ]
        fields["acr_values"] = acr
        fields["context"] = context
        return fields
    }

    /// Starts everything, runs `body`, and stops everything.
    static func with(_ body: () async throws -> Void) async throws {
        let stage = try await ConformanceStage()
        do {
            try await $current.withValue(stage) {
                try await body()
                try await stage.seePatientsWell()
            }
        } catch {
            await stage.stop()
            throw error
        }
        await stage.stop()
        try ConformanceTable.settle(stage.outcomes.withLock { $0 })
    }

    /// What is remembered of a carrier has its time, and is forgotten then.
    private func seePatientsWell() async throws {
        for patient in patients.withLock({ $0.sorted { $0.due < $1.due } }) {
            // The server's own clock is what runs; there is nothing that could be awaited instead.
            try await Task.sleep(until: patient.due, clock: .continuous)
            patient.run.expectSuccess(try await patient.run.signIn(), "the sign-in later")
        }
    }

    /// The clients as carriers know them.
    private static func clients(_ publicKeyPEM: String) -> [CarrierSimulator.Client] {
        let ways: [(String, CarrierSimulator.Client.Authentication)] = [
            (Stage.clientID, .clientSecretBasic), (postClient, .clientSecretPost),
            (keyClient, .privateKeyJWT(publicKeyPEM: publicKeyPEM, keyID: "k-1")),
        ]
        return ways.map { id, authentication in
            var client = CarrierSimulator.Client(
                id: id, secret: Secret(secret),
                redirectURIs: [
                    Stage.redirectURI, "http://127.0.0.1/auth/zenkey/callback", "http://127.0.0.1/auth/acme/callback",
                ])
            client.postLogoutRedirectURIs = ["http://127.0.0.1/auth/acme/logged-out"]
            client.authentication = authentication
            client.publicKeyPEM = publicKeyPEM
            return client
        }
    }

    /// The clients as Latchkey knows them.
    private static func configuration(_ keyPEM: String, _ issuer: String) throws -> Data {
        let redirectURIs = [Stage.redirectURI, webURI]
        let clients: [[String: Any]] = [
            [
                "id": Stage.clientID, "secret": secret, "token_endpoint_auth_method": "client_secret_basic",
                "private_key": keyPEM, "private_key_id": "k-1", "redirect_uris": redirectURIs,
            ],
            [
                "id": postClient, "secret": secret, "token_endpoint_auth_method": "client_secret_post",
                "redirect_uris": redirectURIs,
            ],
            ["id": keyClient, "private_key": keyPEM, "private_key_id": "k-1", "redirect_uris": redirectURIs],
        ]
        return try JSONSerialization.data(withJSONObject: [
            "zenkey": ["clients": clients],
            "providers": [
                "acme": [
                    "kind": "oidc", "issuer": issuer,
                    "clients": [["id": Stage.clientID, "secret": secret, "redirect_uris": redirectURIs]],
                ]
            ],
        ])
    }

    private func stop() async {
        process.send(SIGTERM)
        let ending = await process.ending()
        #expect(ending.status == 0, "\(ending.output.suffix(2000))")
        front.stop()
        pauses.stop()
        await running.shutdown()
    }

    /// Makes the keys that cases need, so that no case waits for them.
    private static func makeKeys(_ simulator: CarrierSimulator) async throws {
        try await simulator.prepareKeys(ofRing: keyRing, generations: 3)
        try await simulator.prepareKeys(ofRing: otherKeyRing, generations: 1)
    }
}

/// Runs a suite's tests on one ``ConformanceStage``.
struct OnOneServer: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await ConformanceStage.with { try await function() }
    }
}

extension Trait where Self == OnOneServer {
    /// One server for all tests of the suite, from the first to the last.
    static var onOneServer: Self { Self() }
}
