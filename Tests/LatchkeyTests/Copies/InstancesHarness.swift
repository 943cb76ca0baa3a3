import CarrierSimulator
import Crypto
import Foundation
import Primitives
import Synchronization
import TestSupport

/// Three copies of Latchkey on one PostgreSQL database, each a process of its own, behind nginx; and simulated carriers.
final class InstancesHarness: Sendable {
    static let userCount = 64

    let proxy: NginxProxy
    let addresses: [LoopbackAddress]
    private let simulator: CarrierSimulator
    private let environment: [String: String]
    private let processes: Mutex<[LatchkeyProcess]>

    private init(_ stage: AdminHarness, _ database: String) async throws {
        simulator = stage.simulator
        environment = stage.environment.merging(
            [
                "LATCHKEY_DATABASE_URL": database, "LATCHKEY_HTTP_TRUSTED_PROXIES": "127.0.0.1",
                "LATCHKEY_PUBLIC_URL": "https://login.example.com",
            ]) { $1 }
        simulator.update(Stage.mccmnc) { carrier in
            carrier.users = (0..<Self.userCount).map { number in
                .init(
                    id: "user-\(number)", givenName: "Jo", familyName: "Doe \(number)",
                    email: "jo\(number)@example.com", phoneNumber: "+12025550123", postalCode: "97477")
            }
        }
        addresses = (0..<3).map { _ in LoopbackAddress() }
        // All at once on an empty database: one makes the tables.
        let environment = environment
        let started = try addresses.map { try Self.start(at: $0, environment) }
        processes = Mutex(started)
        do {
            for process in started { try await Self.waitUntilItListens(process) }
            proxy = try await NginxProxy(before: addresses)
        } catch {
            for process in started { process.send(SIGKILL) }
            throw error
        }
    }

    static func with(database: String, _ body: (InstancesHarness) async throws -> Void) async throws {
        try await AdminHarness.with { stage in
            let copies = try await InstancesHarness(stage, database)
            let result: Result<Void, any Error>
            do { result = .success(try await body(copies)) } catch { result = .failure(error) }
            copies.proxy.stop()
            for process in copies.processes.withLock({ $0 }) { process.send(SIGKILL) }
            for process in copies.processes.withLock({ $0 }) { _ = await process.ending() }
            try result.get()
        }
    }

    /// Ends a copy.
    func end(_ number: Int, _ signal: Int32) async -> LatchkeyProcess.Ending {
        let process = processes.withLock { $0[number] }
        process.send(signal)
        return await process.ending()
    }

    /// Starts a copy where the one of this number was, and waits until it listens.
    func restart(_ number: Int) async throws {
        let process = try Self.start(at: addresses[number], environment)
        processes.withLock { $0[number] = process }
        try await Self.waitUntilItListens(process)
    }

    /// How often the carriers were asked to redeem a code.
    var tokenRequests: Int { simulator.log.tokenPosts() }

    /// Whether a copy has signed somebody in since it was started, as far as it has said so.
    func hasServed(_ number: Int) -> Bool {
        processes.withLock { $0[number] }.said.contains(Self.sign)
    }

    private static let sign = "outcome=signed_in"

    /// Waits until a copy that was started has signed somebody in.
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

    /// What an app has once the carrier approved: ready to be posted.
    func authorizedResponse(of user: Int) throws -> [String: String] {
        let verifier = RandomSource.system.token()
        let code = try simulator.issueCode(
            mccmnc: Stage.mccmnc, clientID: Stage.clientID, redirectURI: Stage.redirectURI,
            codeChallenge: Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 }),
            user: "user-\(user % Self.userCount)")
        return [
            "client_id": Stage.clientID, "code": code, "mccmnc": Stage.mccmnc, "redirect_uri": Stage.redirectURI,
            "code_verifier": verifier,
        ]
    }
}
