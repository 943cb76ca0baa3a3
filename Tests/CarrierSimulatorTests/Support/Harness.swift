import CarrierSimulator
import Crypto
import HTTPServer
import HTTPTypes
import Primitives
import Synchronization
import TestSupport

/// A simulator without a server, with a manual clock and recorded pauses.
struct Harness: Sendable {
    static let base = "https://carriers.example"
    static let clientID = "shop"
    /// Contains every character that form encoding changes.
    static let secret = "p:a+s%s&w=o rd é"
    static let redirectURI = "https://shop.example/back"
    static let loggedOutURI = "https://shop.example/out"
    static let verifier = "a-code-verifier-of-forty-three-characters~~"
    static let challenge = Digests.challenge(of: verifier)

    /// The client's key for request objects.
    static let signingKey = P256.Signing.PrivateKey()

    let simulator: CarrierSimulator
    let clock = ManualClock()
    let pauses = Pauses()

    init(
        carriers: [CarrierSimulator.Carrier] = CarrierSimulator.Carrier.defaults,
        authentication: CarrierSimulator.Client.Authentication = .clientSecretBasic,
        register: (inout CarrierSimulator.Client) -> Void = { _ in }
    ) {
        let (clock, pauses) = (clock, pauses)
        var shop = CarrierSimulator.Client(
            id: Self.clientID, secret: Secret(Self.secret), redirectURIs: [Self.redirectURI, "com.example.shop:/back"])
        shop.authentication = authentication
        shop.postLogoutRedirectURIs = [Self.loggedOutURI]
        shop.publicKeyPEM = Self.signingKey.publicKey.pemRepresentation
        register(&shop)
        simulator = CarrierSimulator(
            carriers: carriers,
            clients: [
                shop,
                .init(id: "other", secret: Secret("other-secret"), redirectURIs: ["https://other.example/back"]),
            ],
            clock: WallClock { clock.now }, pause: { pauses.note($0) })
        simulator.baseURL = Self.base + "/"
    }

    func get(_ target: String, headers: HTTPFields = [:]) async throws -> Response {
        try await simulator.router.respond(to: try Request(.get, target, headers: headers))
    }

    func post(_ target: String, _ form: [(String, String)], headers: HTTPFields = [:]) async throws -> Response {
        var headers = headers
        headers[.contentType] = "application/x-www-form-urlencoded"
        return try await simulator.router.respond(
            to: try Request(.post, target, headers: headers, body: Array(Forms.encode(form).utf8)))
    }

    func post(_ target: String, json: String) async throws -> Response {
        try await simulator.router.respond(
            to: try Request(.post, target, headers: [.contentType: "application/json"], body: Array(json.utf8)))
    }

    func code(_ mccmnc: String = "310010", scope: String = "openid", context: String? = nil) throws -> String {
        try simulator.issueCode(
            mccmnc: mccmnc, clientID: Self.clientID, redirectURI: Self.redirectURI, codeChallenge: Self.challenge,
            nonce: "n-1", scope: scope, acr: "a1", context: context)
    }

    /// The form of a valid token request, with some fields changed, or removed if nil.
    func tokenForm(_ code: String, changing changes: [String: String?] = [:]) -> [(String, String)] {
        var form: [(String, String)] = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", Self.redirectURI),
            ("code_verifier", Self.verifier),
        ]
        for (name, value) in changes {
            form.removeAll { $0.0 == name }
            if let value { form.append((name, value)) }
        }
        return form
    }

    func redeem(
        _ code: String, at mccmnc: String = "310010", changing changes: [String: String?] = [:],
        authorization: String? = Forms.basic(id: clientID, secret: secret)
    ) async throws -> Response {
        var headers = HTTPFields()
        headers[.authorization] = authorization
        return try await post(
            "/carriers/\(mccmnc)/token", tokenForm(code, changing: changes), headers: headers)
    }

    /// Signs in at a carrier with faults, and returns the token response.
    func signIn(_ mccmnc: String, _ faults: Set<CarrierSimulator.Fault> = [], context: String? = nil) async throws
        -> JSONObject
    {
        simulator.setFaults(faults, for: mccmnc)
        return try await redeem(try code(mccmnc, context: context), at: mccmnc).object()
    }

    func keySet(_ mccmnc: String) async throws -> [JSONObject] {
        let keys = try await get("/carriers/\(mccmnc)/jwks").object()["keys"]?.array ?? []
        return keys.compactMap(\.object)
    }

    /// The parameters of an authorization request, with some changed, or removed if nil.
    func authorizationQuery(changing changes: [String: String?] = [:]) -> [(String, String)] {
        var query: [(String, String)] = [
            ("client_id", Self.clientID), ("redirect_uri", Self.redirectURI), ("response_type", "code"),
            ("scope", "openid name"), ("state", "s&1"), ("nonce", "n-1"), ("code_challenge", Self.challenge),
            ("code_challenge_method", "S256"), ("correlation_id", "c-1"),
        ]
        for (name, value) in changes {
            query.removeAll { $0.0 == name }
            if let value { query.append((name, value)) }
        }
        return query
    }
}

/// The durations that the simulator would wait.
final class Pauses: Sendable {
    private let durations = Mutex<[Duration]>([])

    var all: [Duration] { durations.withLock { $0 } }

    func note(_ duration: Duration) { durations.withLock { $0.append(duration) } }
}
