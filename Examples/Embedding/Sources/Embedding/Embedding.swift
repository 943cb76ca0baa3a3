import CarrierSimulator
import Foundation
import Hummingbird
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SystemPackage

/// One process with a Hummingbird server for the app's own routes and Latchkey for its sign-ins.
///
/// Signs a user in at a simulated carrier and asks the Hummingbird server whose session it is. Exits with 0 if the
/// response is right.
@main
struct Embedding {
    static let apiKey = "embedding-key-of-32-characters-or-more"
    static let clientID = "embedding-app"
    static let clientSecret = Secret("embedding-secret")
    static let redirectURI = "https://app.example/callback"

    static func main() async throws {
        let directory = FilePath(NSTemporaryDirectory()).appending("latchkey-embedding-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }

        let simulator = CarrierSimulator(
            clients: [.init(id: clientID, secret: clientSecret, redirectURIs: [redirectURI])])
        let carriers = try simulator.start(port: 0)
        try await simulator.prepareKeys()
        let service = try LatchkeyService(
            configuration: try configuration(simulator, database: directory.appending("latchkey.db")),
            features: .standard)
        let latchkey = try API(baseURL: service.urls(of: try service.start()).first)

        do {
            try await withAppServer(latchkey) { app in
                let session = try await signIn(simulator, latchkey)
                let response = try await app.call("GET", "/session", token: session.token)
                print("Hummingbird responds for the session: \(response)")
                guard response["active"] as? Bool == true, response["sub"] as? String == session.user else {
                    throw Failure("the session is not active, or is another user's")
                }
                // A caller cannot add fields of the introspection request.
                let hostile = session.refreshToken + "&token_type_hint=refresh_token"
                let other = try await app.call("GET", "/session", token: hostile)
                guard other["active"] as? Bool == false else { throw Failure("a refresh token passes as a session") }
            }
            await service.shutdown(within: .seconds(5))
            await carriers.shutdown()
        } catch {
            print("failed: \(error)")
            exit(1)
        }
    }

    /// What Latchkey needs, in code: no file and no environment variables are read.
    static func configuration(_ simulator: CarrierSimulator, database: FilePath) throws -> Configuration {
        guard let id = ClientID(clientID),
            let discovery = EndpointURL(simulator.discoveryURL ?? "", policy: .allowLoopbackHTTP)
        else { throw Failure("the simulated carriers have no address") }
        var client = Configuration.Client(id: id, secret: clientSecret)
        client.redirectURIs = [redirectURI]
        var configuration = Configuration()
        configuration.http.port = 0
        configuration.database.url = DatabaseURL(path: database.string)
        configuration.apiKeys = [.plain(Secret(apiKey))]
        configuration.endpointPolicy.allowsLoopbackHTTP = true
        configuration.zenkey.discoveryURL = discovery
        configuration.zenkey.trustedIssuers = ["127.0.0.1"]
        configuration.zenkey.clients = [client]
        return configuration
    }

    /// Signs a user in, as an app does with the authorization code from its carrier.
    static func signIn(
        _ simulator: CarrierSimulator, _ latchkey: API
    ) async throws -> (token: String, refreshToken: String, user: String) {
        let code = try await API(baseURL: simulator.baseURL).call("POST", "/demo/codes")
        let session = try await latchkey.call("POST", "/auth/zenkey-signin", body: code)
        guard let token = session["token"] as? String, let refreshToken = session["refresh_token"] as? String
        else { throw Failure("the sign-in failed") }
        let user = try await latchkey.call("GET", "/users/me", token: token)
        guard let id = user["zenkey_sub"] as? String else { throw Failure("the session has no user") }
        return (token, refreshToken, id)
    }

    /// Runs a Hummingbird server with one route, `GET /session`, which has Latchkey introspect the caller's session
    /// token.
    static func withAppServer(_ latchkey: API, _ body: @escaping @Sendable (API) async throws -> Void) async throws {
        let router = Router()
        router.get("session") { request, _ in
            let field = request.headers[.authorization] ?? ""
            guard field.hasPrefix("Bearer ") else { throw HTTPError(.unauthorized) }
            // As JSON, because in a form a caller could add fields of their own to an unescaped token.
            let token = String(field.dropFirst("Bearer ".count))
            let data = try await latchkey.data("POST", "/auth/introspect", body: ["token": token])
            return String(decoding: data, as: UTF8.self)
        }
        let (ports, continuation) = AsyncStream<Int?>.makeStream()
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in continuation.yield(channel.localAddress?.port) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await application.run() }
            group.addTask {
                for await port in ports {
                    return try await body(API(baseURL: port.map { "http://127.0.0.1:\($0)" }))
                }
            }
            // The server ends only with its task, so the first to end is the body.
            try await group.next()
            group.cancelAll()
        }
    }
}

/// Why the example did not work.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
