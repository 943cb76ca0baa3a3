import CarrierSimulator
import Crypto
import Foundation
import Primitives
import TestSupport

/// Simulated carriers, a directory, and the environment of an operator's commands.
struct AdminHarness: Sendable {
    static let secret = "s3cret-of-the-client"
    static let apiKey = "key-of-the-operator-0123456789abcdef"

    let simulator: CarrierSimulator
    let directory: TemporaryDirectory

    /// - Parameters:
    ///   - register: Changes the carriers' registration of the client.
    ///   - pause: How slow endpoints of the carriers wait.
    static func with(
        register: (inout CarrierSimulator.Client) -> Void = { _ in },
        pause: @escaping CarrierSimulator.Pause = { try await Task.sleep(for: $0) },
        _ body: (AdminHarness) async throws -> Void
    ) async throws {
        var client = CarrierSimulator.Client(
            id: SignInHarness.clientID, secret: Secret(secret), redirectURIs: [SignInHarness.redirectURI])
        register(&client)
        let simulator = CarrierSimulator(clients: [client], pause: pause)
        // The first tokens do not wait for their RSA keys.
        try await simulator.prepareKeys()
        let running = try simulator.start()
        let harness = AdminHarness(simulator: simulator, directory: try TemporaryDirectory())
        do { try await body(harness) } catch {
            await running.shutdown()
            throw error
        }
        await running.shutdown()
    }

    var environment: [String: String] {
        [
            "LATCHKEY_HTTP_PORT": "0", "LATCHKEY_DATABASE_URL": "sqlite:///\(directory.file("latchkey.db"))",
            "LATCHKEY_API_KEYS": Self.apiKey, "LATCHKEY_ALLOW_LOOPBACK_HTTP": "true",
            "LATCHKEY_ZENKEY_CLIENTS": "\(SignInHarness.clientID):\(Self.secret)",
            "LATCHKEY_ZENKEY_TRUSTED_ISSUERS": "127.0.0.1",
            "LATCHKEY_ZENKEY_DISCOVERY_URL": simulator.discoveryURL ?? "",
            "LATCHKEY_OUTBOUND_TIMEOUTS_DISCOVERY": "8s", "LATCHKEY_OUTBOUND_TIMEOUTS_JWKS": "8s",
        ]
    }

    func run(
        _ arguments: [String], environment change: [String: String] = [:], input: String? = nil
    ) async throws -> LatchkeyProcess.Ending {
        let process = try LatchkeyProcess(
            arguments, environment: environment.merging(change) { $1 }, directory: directory.path, input: input)
        return await process.ending()
    }

    /// The app's fields of a sign-in after the carrier's approval.
    /// - Parameter user: Who signs in; by default the carrier's first user.
    func authorizedResponse(of user: String? = nil) throws -> [String: String] {
        let verifier = RandomSource.system.token()
        let code = try simulator.issueCode(
            mccmnc: SignInHarness.mccmnc, clientID: SignInHarness.clientID, redirectURI: SignInHarness.redirectURI,
            codeChallenge: Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 }), user: user)
        return [
            "client_id": SignInHarness.clientID, "code": code, "mccmnc": SignInHarness.mccmnc,
            "redirect_uri": SignInHarness.redirectURI,
            "code_verifier": verifier,
        ]
    }

    /// Gives the carrier users `user-0`, `user-1` and so on.
    func addUsers(_ count: Int) {
        simulator.update(SignInHarness.mccmnc) { carrier in
            carrier.users = (0..<count).map { number in
                .init(
                    id: "user-\(number)", givenName: "Jo", familyName: "Doe \(number)",
                    email: "jo\(number)@example.com", phoneNumber: "+12025550123", postalCode: "97477")
            }
        }
    }

    /// Writes a file and returns its path.
    func write(_ text: String, as name: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: directory.file(name)))
        return directory.file(name)
    }

    struct Tokens: Sendable {
        let idToken: String
        let accessToken: String
    }

    static let nonce = "nonce-of-the-app"
    static let context = "Pay 10.00 to the shop"

    /// The tokens from the carrier's token endpoint, with its current faults.
    func tokens(mccmnc: String = SignInHarness.mccmnc) async throws -> Tokens {
        try await tokens(of: mccmnc, at: "/carriers/\(mccmnc)/token", acr: "a3", context: Self.context)
    }

    /// Like ``tokens(mccmnc:)``, for a provider that is not a carrier.
    func tokens(of provider: String) async throws -> Tokens {
        try await tokens(of: provider, at: "/providers/\(provider)/token", acr: nil, context: nil)
    }

    private func tokens(of mccmnc: String, at path: String, acr: String?, context: String?) async throws -> Tokens {
        let verifier = RandomSource.system.token()
        let challenge = Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 })
        let code = try simulator.issueCode(
            mccmnc: mccmnc, clientID: SignInHarness.clientID, redirectURI: SignInHarness.redirectURI,
            codeChallenge: challenge,
            nonce: Self.nonce, acr: acr, context: context)
        let carrier = App(port: try port, apiKey: nil)
        let credentials = Data("\(SignInHarness.clientID):\(Self.secret)".utf8).base64EncodedString()
        let answer = try await carrier.send(
            "POST", path,
            headers: ["Authorization: Basic \(credentials)", "Content-Type: application/x-www-form-urlencoded"],
            body: App.form([
                "grant_type": "authorization_code", "code": code, "redirect_uri": SignInHarness.redirectURI,
                "code_verifier": verifier,
            ]))
        return Tokens(
            idToken: answer.json["id_token"]?.string ?? "", accessToken: answer.json["access_token"]?.string ?? "")
    }

    private struct NoPort: Error {}

    private var port: UInt16 {
        get throws {
            guard let port = simulator.baseURL?.split(separator: ":").last.flatMap({ UInt16($0) }) else {
                throw NoPort()
            }
            return port
        }
    }
}
