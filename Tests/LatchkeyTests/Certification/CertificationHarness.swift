import CarrierSimulator
import Crypto
import Foundation
import HTTPServer
import Primitives
import Synchronization
import TestSupport
import Testing

/// One Latchkey process for all plans, and a provider of its own for each module, so that none finds another one's
/// metadata and keys in a cache.
final class CertificationHarness: Sendable {
    @TaskLocal static var current: CertificationHarness?

    static let secret = ConformanceHarness.secret
    static let webURI = "https://web.example/done"

    let simulator: CarrierSimulator
    let process: LatchkeyProcess
    let origin: String
    /// The modules that ran, with what was seen.
    let results = Mutex<[CertificationTable.Row: String]>([:])

    let certificates: IssuedCertificates
    private let running: CarrierSimulator.Running
    private let directory: TemporaryDirectory

    private init() async throws {
        directory = try TemporaryDirectory()
        certificates = try await IssuedCertificates.make([.server, .one, .selfSigned])
        let key = P256.Signing.PrivateKey()
        simulator = CarrierSimulator(
            carriers: [],
            clients: Self.clients(
                key.publicKey.pemRepresentation, fingerprint: try await certificates.fingerprint(of: .selfSigned)))
        running = try simulator.start(encryption: try Self.encryption(certificates))
        // The browser has no TLS.
        simulator.baseURL = "http://\(running.addresses[0])"
        try await simulator.prepareKeys(ofRing: ConformanceHarness.keyRing, generations: 3)
        var providers: [String: Any] = [:]
        for plan in CertificationPlan.ofBrowsers {
            for module in plan.modules {
                let id = plan.provider(of: module)
                simulator.add(Self.provider(id, of: plan, module))
                let address = CertificationPlan.Address(
                    issuer: simulator.issuer(of: id) ?? "", certified: Self.certified(id, running))
                providers[id] = Self.settings(plan, address, key.pemRepresentation, certificates)
            }
        }
        let configuration = directory.path + "/latchkey.json"
        try JSONSerialization.data(withJSONObject: ["providers": providers]).write(
            to: URL(fileURLWithPath: configuration))
        process = try LatchkeyProcess(
            ["serve", "--config", configuration],
            environment: [
                "LATCHKEY_HTTP_PORT": "0", "LATCHKEY_DATABASE_URL": "sqlite:///\(directory.path)/latchkey.db",
                "LATCHKEY_API_KEYS": "test-key", "LATCHKEY_ALLOW_LOOPBACK_HTTP": "true",
                "LATCHKEY_RATE_LIMITS": "off", "LATCHKEY_OUTBOUND_CA_BUNDLE": certificates.authority,
                "LATCHKEY_ENCRYPTION_KEYS": String(repeating: "1f", count: 32),
            ], directory: directory.path)
        origin = "http://127.0.0.1:\(try await process.port(after: "listening"))"
    }

    /// A provider where TLS asks for certificates, without aliases.
    private static func certified(_ provider: String, _ running: CarrierSimulator.Running) -> String {
        "https://\(running.addresses[1])/providers/\(provider)"
    }

    func certified(_ provider: String) -> String { Self.certified(provider, running) }

    /// Asks for certificates, and accepts requests without one.
    static func encryption(_ certificates: IssuedCertificates) throws -> CarrierSimulator.Encryption {
        // A self-signed certificate is its own authority.
        let authorities = try [certificates.authority, certificates.certificate(.selfSigned)].map(certificates.text)
        let credentials = TLSCredentials(
            certificateChain: Array(try certificates.text(certificates.certificate(.server)).utf8),
            privateKey: Secret(try certificates.text(certificates.key(.server))), clients: .optional,
            clientAuthorities: Array(authorities.joined().utf8))
        return CarrierSimulator.Encryption(main: credentials, alias: credentials)
    }

    /// Starts everything, runs `body`, and stops everything.
    static func with(_ body: () async throws -> Void) async throws {
        let harness = try await CertificationHarness()
        do {
            try await $current.withValue(harness) { try await body() }
        } catch {
            await harness.stop()
            throw error
        }
        await harness.stop()
        try CertificationTable.settle(harness.results.withLock { $0 })
    }

    private func stop() async {
        process.send(SIGTERM)
        let ending = await process.ending()
        #expect(ending.status == 0, "\(ending.output.suffix(2000))")
        await running.shutdown()
    }

    /// A module's provider: correct and as the plan demands, or with the module's behaviour.
    static func provider(
        _ id: String, of plan: CertificationPlan, _ module: CertificationModule, misbehaves: Bool = true
    ) -> CarrierSimulator.Carrier {
        var provider = CarrierSimulator.Carrier(
            mccmnc: id, name: module.name, userInfoShape: .flat, includesAccessTokenHash: true, isCarrier: false)
        provider.keyRing = ConformanceHarness.keyRing
        plan.provider(&provider)
        for edit in module.behaviour.nature { edit(&provider) }
        guard misbehaves else { return provider }
        provider.faults.formUnion(module.behaviour.faults)
        provider.tampering.add(module.behaviour.tampering)
        return provider
    }

    /// The clients registered with every provider, for the redirect URIs of all.
    /// - Parameter fingerprint: Of the self-signed certificate.
    private static func clients(_ publicKeyPEM: String, fingerprint: String) -> [CarrierSimulator.Client] {
        let paths = CertificationPlan.ofBrowsers.flatMap { plan in
            plan.modules.map { "http://127.0.0.1/auth/\(plan.provider(of: $0))" }
        }
        return CertificationPlan.Client.allCases.map { kind in
            var client = CarrierSimulator.Client(
                id: kind.rawValue, secret: Secret(secret), redirectURIs: paths.map { $0 + "/callback" })
            client.postLogoutRedirectURIs = paths.map { $0 + "/logged-out" }
            client.publicKeyPEM = publicKeyPEM
            switch kind {
            case .secret: break
            case .key, .boundKey: client.authentication = .privateKeyJWT(publicKeyPEM: publicKeyPEM)
            case .certificate: client.authentication = .tlsClientAuth(subject: "CN=one")
            case .selfSigned: client.authentication = .selfSignedTLSClientAuth(fingerprint: fingerprint)
            }
            return client
        }
    }

    /// A provider in Latchkey's configuration.
    private static func settings(
        _ plan: CertificationPlan, _ address: CertificationPlan.Address, _ keyPEM: String,
        _ certificates: IssuedCertificates
    ) -> [String: Any] {
        var client: [String: Any] = ["id": plan.client.rawValue, "redirect_uris": [webURI]]
        switch plan.client {
        case .secret: client["secret"] = secret
        case .key, .boundKey: client["private_key"] = keyPEM
        case .certificate:
            // The key signs authorization requests.
            client["private_key"] = keyPEM
            client["token_endpoint_auth_method"] = "tls_client_auth"
        case .selfSigned: break
        }
        if let holder = plan.client.holder {
            client["certificate_file"] = certificates.certificate(holder)
            client["certificate_key_file"] = certificates.key(holder)
        }
        client.merge(plan.clientSettings) { $1 }
        var provider: [String: Any] = ["kind": "oidc", "issuer": address.issuer, "clients": [client]]
        provider.merge(plan.settings(address)) { $1 }
        return provider
    }
}

extension CarrierSimulator.Tampering {
    /// Applies other edits after these.
    fileprivate mutating func add(_ other: Self) {
        idTokens += other.idTokens
        compactForms += other.compactForms
        objects.merge(other.objects) { $0 + $1 }
        brokerMetadata += other.brokerMetadata
        responses.merge(other.responses) { $0 + $1 }
    }
}

extension Trait where Self == OnOneServer {
    /// One server for all certification plans.
    static var onOneCertificationServer: Self { Self { try await CertificationHarness.with($0) } }
}
