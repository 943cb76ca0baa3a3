import CarrierSimulator
import Crypto
import Foundation
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import Synchronization
import TestSupport
import Testing

/// A module of FAPI-CIBA at its own provider. The server is in this process, and the test moves its clocks, because a
/// module lasts up to two minutes.
struct BackchannelCertificationRun {
    typealias Observation = CertificationModule.Observation

    private static let fields = [
        "login_hint": BackchannelWalk.jane, "binding_message": "W4SCT", "scope": "openid profile email",
    ]

    let walk: BackchannelWalk
    private let plan: CertificationPlan
    private let module: CertificationModule

    /// Runs a module, and then a sign-in at the same provider without what the module is about, which shows that
    /// nothing else made the module pass.
    static func perform(
        _ module: CertificationModule, of plan: CertificationPlan, on harness: CertificationHarness
    ) async throws {
        let key = P256.Signing.PrivateKey()
        let certificates = harness.certificates
        try await BackchannelWalk.with(
            plan.backchannel ?? .poll,
            configure: { configuration in
                do {
                    try configure(&configuration, plan, key.pemRepresentation, certificates)
                } catch {
                    Issue.record("the configuration is refused: \(error)")
                }
            },
            register: { client in
                client.publicKeyPEM = key.publicKey.pemRepresentation
                client.authentication =
                    plan.client == .certificate
                    ? .tlsClientAuth(subject: "CN=one")
                    : .privateKeyJWT(publicKeyPEM: key.publicKey.pemRepresentation)
            }, encryption: try CertificationHarness.encryption(certificates)
        ) { walk in
            let run = BackchannelCertificationRun(walk: walk, plan: plan, module: module)
            run.behave(isCorrect: false)
            let observation = try await module.backchannelSteps(run)
            #expect(observation.meets(module.expected), "\(observation), not: \(module.expected)")
            let refused = walk.refusals.filter { !module.refusals.union(["authorization_pending"]).contains($0) }
            #expect(refused.isEmpty, "the provider refused what Latchkey sent: \(refused)")
            #expect(walk.simulator.log.count(.canary) == 0, "an address was requested that only a trap names")
            let row = CertificationTable.Row(plan: plan.id, module: module.name)
            harness.results.withLock { $0[row] = observation.description }
            run.behave(isCorrect: true)
            let signedIn = try await signIn(run)
            #expect(signedIn == .signedIn, "without the module's behaviour: \(signedIn)")
            run.expectCertificates()
        }
    }

    /// Gives Latchkey the plan's provider, read from a file as an operator writes it.
    private static func configure(
        _ configuration: inout Configuration, _ plan: CertificationPlan, _ keyPEM: String,
        _ certificates: IssuedCertificates
    ) throws {
        let issuer = configuration.providers[0].issuer.text
        let address = CertificationPlan.Address(issuer: issuer, certified: issuer)
        var client: [String: Any] = [
            "id": SignInHarness.clientID, "private_key": keyPEM, "redirect_uris": [SignInHarness.redirectURI],
        ]
        if plan.client == .certificate { client["token_endpoint_auth_method"] = "tls_client_auth" }
        if let holder = plan.client.holder {
            client["certificate_file"] = certificates.certificate(holder)
            client["certificate_key_file"] = certificates.key(holder)
        }
        var provider: [String: Any] = ["kind": "oidc", "issuer": issuer, "clients": [client]]
        provider.merge(plan.settings(address)) { $1 }
        let text = try JSONSerialization.data(withJSONObject: [
            "allow_loopback_http": true, "providers": [BackchannelWalk.provider: provider],
        ])
        let reader = FileReader { (path, limit) throws(FileReader.ReadError) in
            path == "latchkey.json"
                ? FileReader.Contents(bytes: Array(text), isReadableByAll: false)
                : try FileReader.system.contents(of: path, limit: limit)
        }
        configuration.providers = try ConfigurationLoader(files: reader).load(
            file: "latchkey.json", environment: [:], purpose: .operation
        ).configuration.providers
        configuration.outbound.certificateAuthorities = certificates.authority
    }

    /// Requests of the client came to the aliases of the provider's endpoints with its certificate, if it presents one.
    /// The others came without one.
    private func expectCertificates() {
        let holds = plan.client.holder != nil
        let own: Set<CarrierSimulator.RequestLog.Endpoint> = [.backchannelAuthentication, .token, .userInfo]
        for entry in walk.simulator.log.entries where entry.mccmnc == BackchannelWalk.provider {
            let presents = holds && own.contains(entry.endpoint)
            #expect(entry.certificate == (presents ? "CN=one" : nil), "\(entry)")
            #expect(entry.host?.hasPrefix(presents ? "localhost:" : "127.0.0.1:") == true, "\(entry)")
        }
    }

    private func behave(isCorrect: Bool) {
        walk.simulator.add(
            CertificationHarness.provider(BackchannelWalk.provider, of: plan, module, misbehaves: !isCorrect))
    }
}

extension BackchannelCertificationRun {
    /// A user approves.
    static let signIn: CertificationModule.BackchannelSteps = { try await $0.signIn(.approved) }

    /// The provider ends the request with an error, after two polls that found it pending.
    static func end(with code: String) -> CertificationModule.BackchannelSteps {
        { try await $0.signIn(.failed(code)) }
    }

    /// Asks Latchkey every second for the outcome. The provider refuses each poll that comes too early.
    private func signIn(_ decision: CarrierSimulator.Decision) async throws -> Observation {
        let started = try await walk.start(Self.fields)
        guard let handle = started.json["auth_req_id"]?.string else { return try await notStarted(started) }
        let pending = count("authorization_pending")
        var isDecided = false
        for _ in 0..<110 {
            if !isDecided, plan.backchannel == .ping || count("authorization_pending") == pending + 2 {
                isDecided = true
                let statuses = try await walk.decide(decision)
                if statuses == [401] { return try await pingRefused(handle) }
                guard statuses == (plan.backchannel == .ping ? [204] : []) else { return .other("\(statuses)") }
            }
            let answer = try await walk.poll(handle, after: 1)
            if answer.token != nil {
                #expect(walk.simulator.log.count(.userInfo, BackchannelWalk.provider) > 0)
                return .signedIn
            }
            guard answer.status == 200 else { return try await ended(answer, handle) }
        }
        return .other("the sign-in has no end")
    }

    private func count(_ refusal: String) -> Int { walk.refusals.filter { $0 == refusal }.count }

    private func notStarted(_ answer: App.Answer) async throws -> Observation {
        #expect(walk.polls == 0)
        return .notStarted(answer.error ?? "?")
    }

    /// The sign-in has failed. Whatever the client does then, nothing more is requested.
    private func ended(_ answer: App.Answer, _ handle: String) async throws -> Observation {
        let polls = walk.polls
        for _ in 0..<3 { #expect(try await walk.poll(handle, after: 11).token == nil) }
        #expect(walk.polls == polls)
        let error = answer.error ?? "?"
        guard error == "invalid_id_token" else { return .ended(error) }
        #expect(walk.simulator.log.count(.userInfo, BackchannelWalk.provider) == 0, "a refused token was used")
        let description = answer.json["error_description"]?.string ?? ""
        return .refused(description.matches(of: /\(([a-z_]+)\)/).last.map { String($0.1) } ?? "")
    }

    private func pingRefused(_ handle: String) async throws -> Observation {
        for _ in 0..<20 { #expect(try await walk.poll(handle, after: 1).token == nil) }
        #expect(walk.polls == 0)
        #expect(try await walk.cancel(handle).status == 200)
        return .pingRefused
    }
}
