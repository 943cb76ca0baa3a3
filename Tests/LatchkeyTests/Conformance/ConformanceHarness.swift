import CarrierSimulator
import Crypto
import Foundation
import HTTPServer
import LatchkeyConfiguration
import Primitives
import Storage
import Synchronization
import TestSupport
import Testing

/// One Latchkey process for all cases, and carriers with the faults of each case.
final class ConformanceHarness: Sendable {
    @TaskLocal static var current: ConformanceHarness?

    /// Contains every kind of character that form encoding changes (RFC 6749 section 2.3.1).
    static let secret = "s3cret:+%&= /?#@"
    /// The deadline of each request to a carrier.
    static let deadline = Duration.seconds(3)
    /// Networks that the configuration pins to their issuers.
    static let pinnedNetworks = (1...9).map { "31900\($0)" }
    /// The key ring of all carriers; a former carrier has another.
    static let keyRing = "310010"
    static let otherKeyRing = "310260"
    /// Clients that do not authenticate with HTTP Basic.
    static let postClient = "ccid-post"
    static let keyClient = "ccid-key"
    /// A client whose ID tokens must be encrypted, which the carriers do not know.
    static let encryptedClient = "ccid-encrypted"
    static let webURI = "https://web.example/done"

    let simulator: CarrierSimulator
    let proxy: CarrierProxy
    let app: App
    let process: LatchkeyProcess
    /// That of the process.
    let configuration: Configuration
    /// How many capsules were replayed, by what became of them.
    let replays = Mutex<[String: Int]>([:])
    /// The process's database.
    let store: SQLStore
    let outcomes = Mutex<[String: Outcome]>([:])
    /// Pauses of this machine that disturb a case.
    let pauses = MachinePauses()
    /// Carriers that must work again some time after their case.
    let delayedChecks = Mutex<[DelayedCheck]>([])

    struct DelayedCheck: Sendable {
        let run: ConformanceRun
        let due: ContinuousClock.Instant
    }

    private let running: CarrierSimulator.Running
    private let directory: TemporaryDirectory
    private let networks = Mutex((next: 311_000, pinned: ConformanceHarness.pinnedNetworks))

    private init() async throws {
        directory = try TemporaryDirectory()
        proxy = try CarrierProxy()
        let key = P256.Signing.PrivateKey()
        simulator = CarrierSimulator(clients: Self.clients(key.publicKey.pemRepresentation))
        simulator.baseURL = proxy.url
        running = try simulator.start()
        proxy.setSimulator(port: running.addresses[0].port)
        try await ConformanceHarness.makeKeys(simulator)
        simulator.update("acme") { $0.keyRing = ConformanceHarness.keyRing }
        let configuration = directory.path + "/latchkey.json"
        try Self.configuration(key.pemRepresentation, simulator.issuer(of: "acme") ?? "").write(
            to: URL(fileURLWithPath: configuration))
        let issuers = ConformanceHarness.pinnedNetworks.map { [url = proxy.url] in "\($0)=\(url)/carriers/\($0)" }
        let environment = [
            "LATCHKEY_HTTP_PORT": "0", "LATCHKEY_DATABASE_URL": "sqlite:///\(directory.path)/latchkey.db",
            "LATCHKEY_API_KEYS": "test-key", "LATCHKEY_ALLOW_LOOPBACK_HTTP": "true",
            "LATCHKEY_RATE_LIMITS": "off",
            "LATCHKEY_CAPSULES_COUNT": "100000", "LATCHKEY_CAPSULES_PER_MINUTE": "100000",
            "LATCHKEY_ZENKEY_TRUSTED_ISSUERS": "127.0.0.1,*.carriers.test",
            "LATCHKEY_ZENKEY_DISCOVERY_URL": simulator.discoveryURL ?? "",
            "LATCHKEY_ZENKEY_ISSUERS": issuers.joined(separator: ","), "LATCHKEY_LOG_LEVEL": "verbose",
            "LATCHKEY_OUTBOUND_TIMEOUTS_DISCOVERY": "3s", "LATCHKEY_OUTBOUND_TIMEOUTS_JWKS": "3s",
            "LATCHKEY_OUTBOUND_TIMEOUTS_TOKEN": "3s", "LATCHKEY_OUTBOUND_TIMEOUTS_USERINFO": "3s",
            // A request that waits for a connection until its deadline is sent or not, by chance. The case of 100
            // sign-ins at once counts what was sent.
            "LATCHKEY_OUTBOUND_MAX_CONNECTIONS_PER_HOST": "128",
            // Rows leave requests pending, and the user of all of them has the same number.
            "LATCHKEY_BACKCHANNEL_AUTHENTICATION_PENDING_PER_USER": "100",
        ]
        process = try LatchkeyProcess(
            ["serve", "--config", configuration], environment: environment, directory: directory.path)
        self.configuration = try ConfigurationLoader().load(file: configuration, environment: environment)
            .configuration
        app = App(port: try await process.port(after: "listening"))
        store = try SQLStore(configuration: SQLiteConfiguration(path: directory.path + "/latchkey.db"))
    }

    /// A new carrier.
    func newCarrier(of row: ConformanceCase) -> String {
        let mccmnc = networks.withLock { networks in
            if row.isPinned, let pinned = networks.pinned.popLast() { return pinned }
            networks.next += 1
            return "\(networks.next)"
        }
        var carrier = CarrierSimulator.Carrier(mccmnc: mccmnc, name: "Carrier \(mccmnc)")
        carrier.keyRing = ConformanceHarness.keyRing
        carrier.delay = ConformanceHarness.deadline * 2
        for edit in row.nature { edit(&carrier) }
        simulator.add(carrier)
        return mccmnc
    }

    /// The app's fields after the carrier's approval.
    func authorizedResponse(
        _ mccmnc: String, clientID: String = SignInHarness.clientID, scope: String = "openid", acr: String? = nil,
        context: String? = nil
    ) throws -> [String: String] {
        let verifier = RandomSource.system.token()
        let nonce = RandomSource.system.token(bytes: 16)
        let code = try simulator.issueCode(
            mccmnc: mccmnc, clientID: clientID, redirectURI: SignInHarness.redirectURI,
            codeChallenge: Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 }), nonce: nonce,
            scope: scope, acr: acr, context: context)
        var fields = [
            "client_id": clientID, "code": code, "mccmnc": mccmnc, "redirect_uri": SignInHarness.redirectURI,
            "code_verifier": verifier, "nonce": nonce, "scope": scope,
        ]
        fields["acr_values"] = acr
        fields["context"] = context
        return fields
    }

    /// Starts everything, runs `body`, and stops everything.
    static func with(_ body: () async throws -> Void) async throws {
        let harness = try await ConformanceHarness()
        do {
            try await $current.withValue(harness) {
                try await body()
                try await harness.runDelayedChecks()
            }
        } catch {
            await harness.stop()
            throw error
        }
        await harness.stop()
        if harness.outcomes.withLock({ $0.count }) == ConformanceCases.all.count {
            let replays = harness.replays.withLock { $0 }
            #expect(replays["computed", default: 0] >= 60 && replays["taken over", default: 0] >= 30, "\(replays)")
        }
        try ConformanceTable.settle(harness.outcomes.withLock { $0 })
    }

    /// Cached results of a carrier expire.
    private func runDelayedChecks() async throws {
        for check in delayedChecks.withLock({ $0.sorted { $0.due < $1.due } }) {
            // The server uses the system clock, so there is no event to await.
            try await Task.sleep(until: check.due, clock: .continuous)
            check.run.expectSuccess(try await check.run.signIn(), "the sign-in later")
        }
    }

    /// The clients registered with the carriers.
    private static func clients(_ publicKeyPEM: String) -> [CarrierSimulator.Client] {
        let ways: [(String, CarrierSimulator.Client.Authentication)] = [
            (SignInHarness.clientID, .clientSecretBasic), (postClient, .clientSecretPost),
            (keyClient, .privateKeyJWT(publicKeyPEM: publicKeyPEM, keyID: "k-1")),
            (encryptedClient, .clientSecretBasic),
        ]
        return ways.map { id, authentication in
            var client = CarrierSimulator.Client(
                id: id, secret: Secret(secret),
                redirectURIs: [
                    SignInHarness.redirectURI, "http://127.0.0.1/auth/zenkey/callback",
                    "http://127.0.0.1/auth/acme/callback",
                ])
            client.postLogoutRedirectURIs = ["http://127.0.0.1/auth/acme/logged-out"]
            client.authentication = authentication
            client.publicKeyPEM = publicKeyPEM
            return client
        }
    }

    /// The clients in Latchkey's configuration.
    private static func configuration(_ keyPEM: String, _ issuer: String) throws -> Data {
        let redirectURIs = [SignInHarness.redirectURI, webURI]
        let clients: [[String: Any]] = [
            [
                "id": SignInHarness.clientID, "secret": secret, "token_endpoint_auth_method": "client_secret_basic",
                "private_key": keyPEM, "private_key_id": "k-1", "redirect_uris": redirectURIs,
            ],
            [
                "id": postClient, "secret": secret, "token_endpoint_auth_method": "client_secret_post",
                "redirect_uris": redirectURIs,
            ],
            ["id": keyClient, "private_key": keyPEM, "private_key_id": "k-1", "redirect_uris": redirectURIs],
            [
                "id": encryptedClient, "secret": secret, "redirect_uris": redirectURIs,
                "id_token_encrypted_response_alg": "ECDH-ES", "decryption_key": keyPEM, "decryption_key_id": "enc-1",
            ],
        ]
        return try JSONSerialization.data(withJSONObject: [
            "zenkey": ["clients": clients],
            "providers": [
                "acme": [
                    "kind": "oidc", "issuer": issuer,
                    "clients": [["id": SignInHarness.clientID, "secret": secret, "redirect_uris": redirectURIs]],
                ]
            ],
        ])
    }

    private func stop() async {
        try? await store.close()
        process.send(SIGTERM)
        let ending = await process.ending()
        #expect(ending.status == 0, "\(ending.output.suffix(2000))")
        proxy.stop()
        pauses.stop()
        await running.shutdown()
    }

    /// Makes all keys in advance, so that no case waits for them.
    private static func makeKeys(_ simulator: CarrierSimulator) async throws {
        try await simulator.prepareKeys(ofRing: keyRing, generations: 3)
        try await simulator.prepareKeys(ofRing: otherKeyRing, generations: 1)
    }
}

/// Runs a suite's tests on one server.
struct OnOneServer: SuiteTrait, TestScoping {
    /// Starts the server, runs the tests, and stops it.
    let with: @Sendable (_ tests: () async throws -> Void) async throws -> Void

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await with { try await function() }
    }
}

extension Trait where Self == OnOneServer {
    /// One server for all tests of the suite.
    static var onOneServer: Self { Self { try await ConformanceHarness.with($0) } }
}
