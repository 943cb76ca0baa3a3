import CarrierSimulator
import Crypto
import Foundation
import Primitives
import Synchronization
import TestSupport

/// Three instances of Latchkey on one PostgreSQL database, each in its own process, behind nginx; and simulated
/// carriers.
final class InstancesHarness: Sendable {
    static let userCount = 64

    let proxy: NginxProxy
    let addresses: [LoopbackAddress]
    private let simulator: CarrierSimulator
    private let environment: [String: String]
    private let processes: Mutex<[LatchkeyProcess]>

    private init(_ harness: AdminHarness, _ database: String, _ pooler: String?) async throws {
        simulator = harness.simulator
        var environment = harness.environment.merging(
            [
                "LATCHKEY_DATABASE_URL": database, "LATCHKEY_HTTP_TRUSTED_PROXIES": "127.0.0.1",
                "LATCHKEY_PUBLIC_URL": "https://login.example.com",
            ]) { $1 }
        environment["LATCHKEY_DATABASE_POOLER_URL"] = pooler
        self.environment = environment
        simulator.update(SignInHarness.mccmnc) { carrier in
            carrier.users = (0..<Self.userCount).map { number in
                .init(
                    id: "user-\(number)", givenName: "Jo", familyName: "Doe \(number)",
                    email: "jo\(number)@example.com", phoneNumber: "+12025550123", postalCode: "97477")
            }
        }
        addresses = (0..<3).map { _ in LoopbackAddress() }
        // All start at once on an empty database: one of them creates the tables.
        let started = try addresses.map { [environment] in try Self.start(at: $0, environment) }
        processes = Mutex(started)
        do {
            for process in started { try await Self.waitUntilItListens(process) }
            proxy = try await NginxProxy(before: addresses)
        } catch {
            for process in started { process.send(SIGKILL) }
            throw error
        }
    }

    /// - Parameter pooler: The URL of a pooler for the database, which the instances use besides.
    static func with(
        database: String, pooler: String? = nil, _ body: (InstancesHarness) async throws -> Void
    ) async throws {
        try await AdminHarness.with { harness in
            let instances = try await InstancesHarness(harness, database, pooler)
            let result: Result<Void, any Error>
            do { result = .success(try await body(instances)) } catch { result = .failure(error) }
            instances.proxy.stop()
            for process in instances.processes.withLock({ $0 }) { process.send(SIGKILL) }
            for process in instances.processes.withLock({ $0 }) { _ = await process.ending() }
            try result.get()
        }
    }

    /// Ends an instance.
    func end(_ number: Int, _ signal: Int32) async -> LatchkeyProcess.Ending {
        let process = processes.withLock { $0[number] }
        process.send(signal)
        return await process.ending()
    }

    /// Restarts the instance of a number and waits until it listens.
    func restart(_ number: Int) async throws {
        let process = try Self.start(at: addresses[number], environment)
        processes.withLock { $0[number] = process }
        try await Self.waitUntilItListens(process)
    }

    /// The number of token requests at the carriers.
    var tokenRequests: Int { simulator.log.tokenPosts() }

    /// Whether an instance has logged a sign-in since its start.
    func hasServed(_ number: Int) -> Bool {
        processes.withLock { $0[number] }.said.contains(Self.sign)
    }

    private static let sign = "outcome=signed_in"

    /// Waits until a started instance has logged a sign-in.
    func waitUntilItServes(_ number: Int) async throws {
        let process = processes.withLock { $0[number] }
        _ = try await process.wait { $0.contains(Self.sign) ? true : nil }
    }

    private static func start(
        at address: LoopbackAddress, _ environment: [String: String]
    ) throws -> LatchkeyProcess {
        let place = ["LATCHKEY_HTTP_HOST": address.host, "LATCHKEY_HTTP_PORT": "\(address.port)"]
        return try LatchkeyProcess(["serve"], environment: environment.merging(place) { $1 })
    }

    private static func waitUntilItListens(_ process: LatchkeyProcess) async throws {
        _ = try await process.wait { $0.contains("listening") ? true : nil }
    }

    /// The app's fields after the carrier's approval.
    func authorizedResponse(of user: Int) throws -> [String: String] {
        let verifier = RandomSource.system.token()
        let code = try simulator.issueCode(
            mccmnc: SignInHarness.mccmnc, clientID: SignInHarness.clientID, redirectURI: SignInHarness.redirectURI,
            codeChallenge: Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 }),
            user: "user-\(user % Self.userCount)")
        return [
            "client_id": SignInHarness.clientID, "code": code, "mccmnc": SignInHarness.mccmnc,
            "redirect_uri": SignInHarness.redirectURI,
            "code_verifier": verifier,
        ]
    }
}
