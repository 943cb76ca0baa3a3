import CarrierSimulator
import Crypto
import HTTPServer
import HTTPTypes
import Primitives
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The simulator's operators, and a client that authenticates with `private_key_jwt`.
struct OperatorHarness: Sendable {
    static let issuer = Harness.base + "/operators/northwind"
    static let otherIssuer = Harness.base + "/operators/harbor"
    static let scope = "openid dpv:FraudPreventionAndDetection number-verification:device-phone-number:read"
    static let verifyScope = "openid dpv:FraudPreventionAndDetection number-verification:verify"
    static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    static let jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    static let ciba = "urn:openid:params:grant-type:ciba"
    static let field = HTTPField.Name("X-Simulated-Device") ?? .from
    static let correlator = HTTPField.Name("x-correlator") ?? .from
    /// The clock's first second.
    static let start = 1_800_000_000

    let key: P256.Signing.PrivateKey
    let carriers: Harness
    private let numbers = Numbers()

    var simulator: CarrierSimulator { carriers.simulator }

    init() {
        key = P256.Signing.PrivateKey()
        carriers = Harness(
            carriers: CarrierSimulator.Carrier.defaults + CarrierSimulator.Carrier.operators,
            authentication: .privateKeyJWT(publicKeyPEM: key.publicKey.pemRepresentation))
    }

    final class Numbers: Sendable {
        private let last = Mutex(0)
        func next() -> Int {
            last.withLock {
                $0 += 1
                return $0
            }
        }
    }

    // MARK: JWTs

    /// A JWT that the client signed. Values are JSON; nil removes a claim.
    func jwt(
        _ claims: [String: String?], changing changes: [String: String?] = [:], header: String = #"{"alg":"ES256"}"#,
        key other: P256.Signing.PrivateKey? = nil
    ) throws -> String {
        let all = claims.merging(changes) { $1 }.compactMapValues(\.self)
        let payload = "{" + all.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
        let signed = Base64URL.encode(header.utf8) + "." + Base64URL.encode(payload.utf8)
        let signature = try (other ?? key).signature(for: Array(signed.utf8)).rawRepresentation
        return signed + "." + Base64URL.encode(Array(signature))
    }

    /// A client assertion for an endpoint, with a fresh `jti`.
    func assertion(
        for endpoint: String = issuer + "/token", changing changes: [String: String?] = [:],
        key other: P256.Signing.PrivateKey? = nil
    ) throws -> String {
        try jwt(
            [
                "iss": #""shop""#, "sub": #""shop""#, "aud": "\"\(endpoint)\"", "jti": "\"id-\(numbers.next())\"",
                "iat": "\(Self.start)", "exp": "\(Self.start + 120)",
            ], changing: changes, key: other)
    }

    /// An assertion that is an authorization grant.
    func grantAssertion(_ subject: String, changing changes: [String: String?] = [:]) throws -> String {
        try assertion(
            changing: ["sub": "\"\(subject)\"", "scope": "\"\(Self.scope)\""].merging(changes) { $1 })
    }

    // MARK: Requests

    func authorizationQuery(changing changes: [String: String?] = [:]) -> [(String, String)] {
        changed(
            [
                ("client_id", "shop"), ("redirect_uri", Harness.redirectURI), ("response_type", "code"),
                ("scope", Self.scope), ("state", "s&1"), ("nonce", "n-1"), ("prompt", "none"),
                ("code_challenge", Harness.challenge), ("code_challenge_method", "S256"),
            ], changes)
    }

    private func changed(_ form: [(String, String)], _ changes: [String: String?]) -> [(String, String)] {
        var form = form
        for (name, value) in changes {
            form.removeAll { $0.0 == name }
            if let value { form.append((name, value)) }
        }
        return form
    }

    func authorize(
        changing changes: [String: String?] = [:], device: String? = nil, at name: String = "northwind"
    ) async throws -> Response {
        var headers = HTTPFields()
        headers[Self.field] = device
        return try await carriers.get(
            "/operators/\(name)/authorize?\(Forms.encode(authorizationQuery(changing: changes)))", headers: headers)
    }

    func code(scope: String = scope, at name: String = "northwind", device: String? = nil) async throws -> String {
        try await authorize(changing: ["scope": scope], device: device, at: name).destination().query["code"].required
    }

    /// A token request, with the client's assertion unless the form has a `client_assertion`, also of nil.
    func token(_ form: [String: String?], at name: String = "northwind") async throws -> Response {
        var form = form
        if form["client_assertion"] == nil {
            form["client_assertion"] = try assertion(for: "\(Harness.base)/operators/\(name)/token")
            form["client_assertion_type"] = Self.assertionType
        }
        return try await carriers.post(
            "/operators/\(name)/token", form.compactMapValues(\.self).map { ($0.key, $0.value) })
    }

    func redeem(
        _ code: String, changing changes: [String: String?] = [:], at name: String = "northwind"
    ) async throws -> Response {
        try await token(
            [
                "grant_type": "authorization_code", "code": code, "redirect_uri": Harness.redirectURI,
                "code_verifier": Harness.verifier,
            ].merging(changes) { $1 }, at: name)
    }

    func accessToken(scope: String = scope, at name: String = "northwind", device: String? = nil) async throws
        -> String
    {
        try await redeem(try await code(scope: scope, at: name, device: device), at: name).object()["access_token"]
            .required.string.required
    }

    /// An access token without a user.
    func clientToken(scope: String, at name: String = "northwind") async throws -> String {
        try await token(["grant_type": "client_credentials", "scope": scope], at: name).object()["access_token"]
            .required.string.required
    }

    /// A call of an API with an access token: GET without a body.
    func call(
        _ path: String, token: String?, body: String? = nil, correlator: String? = "c-1", at name: String = "northwind"
    ) async throws -> Response {
        var headers = HTTPFields()
        headers[.authorization] = token.map { "Bearer \($0)" }
        headers[Self.correlator] = correlator
        if body != nil { headers[.contentType] = "application/json" }
        return try await simulator.router.respond(
            to: try Request(
                body == nil ? .get : .post, "/operators/\(name)/api\(path)", headers: headers,
                body: Array((body ?? "").utf8)))
    }

    func share(_ token: String?) async throws -> Response {
        try await call("/number-verification/v2/device-phone-number", token: token)
    }

    func verify(_ token: String?, _ body: String) async throws -> Response {
        try await call("/number-verification/v2/verify", token: token, body: body)
    }
}

/// The status of a response, and its error: OAuth's or CAMARA's.
struct Refused: Equatable, CustomStringConvertible {
    let status: Int
    let code: String?

    init(_ status: Int, _ code: String?) { (self.status, self.code) = (status, code) }

    init(_ response: Response) throws {
        let object = try? response.object()
        self.init(response.status.code, object?["error"]?.string ?? object?["code"]?.string)
    }

    var description: String { "\(status) \(code ?? "-")" }
}
