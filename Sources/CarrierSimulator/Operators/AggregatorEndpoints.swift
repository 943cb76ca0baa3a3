import FoundationEssentials
import HTTPServer
import HTTPTypes
package import Primitives

/// An aggregator of mobile networks, and the wallet of a phone that answers its requests (OpenID4VP 1.0 over the
/// Digital Credentials API). A real credential is encrypted for the aggregator; this one is a handle that only it can
/// redeem.
struct AggregatorEndpoints: Sendable {
    static let path = "/aggregator"
    /// How long a session lives, in seconds.
    private static let lifetime: Int64 = 300

    let simulator: CarrierSimulator

    private var base: String { (simulator.baseURL ?? "") + Self.path }

    /// `POST /aggregator/token`: an access token for a client with a secret, by HTTP Basic.
    func respondWithToken(_ request: Request) throws -> Response {
        let words = request.headers[.authorization]?.split(separator: " ").map(String.init) ?? []
        let pair = words.count == 2 ? Data(base64Encoded: words[1]).map { String(decoding: $0, as: UTF8.self) } : nil
        // Both are form-encoded (RFC 6749 section 2.3.1).
        let parts = pair?.split(separator: ":").compactMap { PercentEncoding.decodeForm($0.utf8) } ?? []
        guard parts.count == 2, let client = simulator.clients[parts[0]], client.secret.exposed == parts[1]
        else { throw OAuthError.invalidClient("The aggregator knows clients with a secret alone.") }
        let token = simulator.random.token()
        simulator.withState { $0.aggregator.accessTokens.put((), for: token) }
        return .json(["access_token": .string(token), "token_type": "bearer", "expires_in": .integer(Self.lifetime)])
    }

    /// `POST /aggregator/prepare`: a session, with what the phone needs for its strategy.
    func prepare(_ request: Request) throws -> Response {
        let body = try authorized(request)
        guard let nonce = body["nonce"]?.string, let purpose = body["use_case"]?.string,
            let strategy = body["strategy"]?.string
        else { throw OAuthError.invalidRequest("Send strategy, nonce and use_case.") }
        let id = simulator.random.token()
        let session = AggregatorSession(
            nonce: nonce, number: purpose == "VerifyPhoneNumber" ? body["phone_number"]?.string : nil,
            codeHash: body["code_hash"]?.string, redirectURI: body["redirect_uri"]?.string,
            end: simulator.clock.now().advanced(bySeconds: Self.lifetime))
        simulator.withState { $0.aggregator.sessions.put(session, for: id) }
        var members: JSONMembers = ["session_key": .string(id), "expires_in": .integer(Self.lifetime)]
        switch strategy {
        case "link" where session.redirectURI != nil && session.codeHash != nil:
            members["authorization_url"] = .string("\(base)/link/\(id)")
        case "desktop": members["qr_code"] = .string("\(base)/scan/\(id)")
        case "ts43": members["request"] = walletRequest(nonce, verifies: session.number != nil)
        default: throw OAuthError.invalidRequest("The strategy is not ts43, link or desktop, or lacks something.")
        }
        members["strategy"] = .string(strategy)
        return .json(members)
    }

    private func walletRequest(_ nonce: String, verifies: Bool) -> JSONValue {
        let kind = verifies ? "verify/ts43" : "device-phone-number/ts43"
        return [
            "protocol": "openid4vp-v1-unsigned",
            "data": [
                "nonce": .string(nonce), "response_type": "vp_token", "response_mode": "dc_api",
                "dcql_query": [
                    "credentials": [
                        [
                            "id": "phone", "format": "dc-authorization+sd-jwt",
                            "meta": ["vct_values": [.string("number-verification/\(kind)")]],
                        ]
                    ]
                ],
            ],
        ]
    }

    /// `POST /aggregator/process`: the number of the phone whose credential or browser code this is, once.
    func process(_ request: Request) throws -> Response {
        let body = try authorized(request)
        let now = simulator.clock.now()
        return try simulator.withState { state throws(OAuthError) in
            let faults = state.aggregator.faults
            guard let id = body["session_key"]?.string, let session = state.aggregator.sessions[id], now < session.end,
                !faults.contains(.expiredSession)
            else { throw OAuthError("session_expired", "The session is unknown or has expired.") }
            var number = session.found
            if let text = body["credential"]?.string {
                guard let redeemed = state.aggregator.redeem(text, with: session.nonce) else {
                    throw OAuthError("invalid_credential", "The credential is for another session, or was used.")
                }
                number = redeemed
            } else if let hash = session.codeHash {
                guard let code = body["code"]?.string, Digest.codeChallenge(of: code) == hash,
                    let browserCode = body["browser_code"]?.string, browserCode == session.browserCode
                else { throw OAuthError("invalid_code", "The codes are not those of the session and its browser.") }
            } else if number == nil {
                return .json(["status": "pending"])
            }
            guard let number else { throw OAuthError("not_authenticated", "No phone was authenticated.") }
            state.aggregator.sessions.put(altered(session) { $0.end = now }, for: id)
            let told = faults.contains(.otherNumber) ? "+12025550199" : number
            var members: JSONMembers = [
                "sim_swap": ["checked": true, "risk_level": .string(faults.contains(.swappedSIM) ? "HIGH" : "LOW")]
            ]
            if let asked = session.number {
                members["verified"] = .bool(asked == told)
            } else {
                members["phone_number"] = .string(told)
            }
            return .json(members)
        }
    }

    /// `GET /aggregator/link/{session}`: what the mobile network makes of a link that a browser opens. It ends at the
    /// app, with a code for this browser; over Wi-Fi with an error. `phone_number` is by default that of the simulated
    /// phone.
    func follow(_ request: Request) throws -> Response {
        let session = try session(of: request)
        guard let redirectURI = session.redirectURI else { throw OAuthError.invalidRequest("The session has no link.") }
        guard let number = Parameters(queryOf: request)["phone_number"] ?? simulator.number(behind: request)
        else { return .redirect(to: redirectURI.adding([(name: "error", value: "login_required")])) }
        let code = simulator.random.token()
        keep(altered(session) { ($0.found, $0.browserCode) = (number, code) }, of: request)
        return .redirect(to: redirectURI.adding([(name: "code", value: code)]))
    }

    /// `POST /aggregator/scan/{session}` with `phone_number`: a phone has scanned the QR code.
    func scan(_ request: Request) throws -> Response {
        let session = try session(of: request)
        guard let number = try Parameters(contentOf: request)["phone_number"]
        else { throw OAuthError.invalidRequest("Name the phone_number of the phone.") }
        keep(altered(session) { $0.found = number }, of: request)
        return .json(["status": "done"])
    }

    private func session(of request: Request) throws(OAuthError) -> AggregatorSession {
        let found = request.parameters["session"].flatMap { id in simulator.withState { $0.aggregator.sessions[id] } }
        guard let found else { throw .invalidRequest("There is no such session.") }
        return found
    }

    private func keep(_ session: AggregatorSession, of request: Request) {
        guard let id = request.parameters["session"] else { return }
        simulator.withState { $0.aggregator.sessions.put(session, for: id) }
    }

    private func authorized(_ request: Request) throws(OAuthError) -> JSONObject {
        let words = request.headers[.authorization]?.split(separator: " ").map(String.init) ?? []
        guard words.count == 2, words[0] == "Bearer",
            simulator.withState({ $0.aggregator.accessTokens[words[1]] != nil })
        else { throw .invalidClient("The access token is not one of the aggregator's.") }
        guard let object = (try? JSONValue(parsing: request.body))?.object
        else { throw .invalidRequest("The body is not a JSON object.") }
        return object
    }

    // MARK: The wallet

    /// `POST /aggregator/wallet` with `request`, `origin` and `phone_number`: the response of a phone's wallet, as a
    /// platform gives it to an app or a page.
    func present(_ request: Request) async throws -> Response {
        guard let body = (try? JSONValue(parsing: request.body))?.object, let asked = body["request"]?.object,
            let origin = body["origin"]?.string, let number = body["phone_number"]?.string
        else { throw OAuthError.invalidRequest("Send request, origin and phone_number.") }
        let text = try await simulator.presentCredential(for: asked, to: origin, of: number)
        return .json([
            "protocol": asked["protocol"] ?? "openid4vp-v1-unsigned", "data": ["vp_token": ["phone": .string(text)]],
        ])
    }
}

/// What an aggregator keeps.
struct AggregatorState: Sendable {
    var accessTokens = BoundedCache<String, Void>(capacity: 1000, age: .insertion)
    var sessions = BoundedCache<String, AggregatorSession>(capacity: 1000, age: .insertion)
    /// The numbers of credentials that were not redeemed yet, by their handles.
    var credentials = BoundedCache<String, String>(capacity: 1000, age: .insertion)
    var faults: Set<CarrierSimulator.AggregatorFault> = []

    /// The number of a credential, once; nil if it is none, was used, or has another nonce.
    /// - Parameter nonce: Nil for a mobile operator, which does not know it.
    mutating func redeem(_ text: String, with nonce: String? = nil) -> String? {
        let binding = text.split(separator: "~").last.flatMap { ReceivedJWS(String($0), maximumBytes: 16_384) }
        guard let binding, let handle = binding["encrypted_credential"], nonce == nil || binding["nonce"] == nonce,
            let number = credentials[handle]
        else { return nil }
        credentials.remove(handle)
        return number
    }
}

struct AggregatorSession: Sendable {
    let nonce: String
    /// The number to verify.
    let number: String?
    let codeHash: String?
    let redirectURI: String?
    var end: Timestamp
    /// The number of the phone that has opened the link or scanned the code.
    var found: String?
    /// The code of the browser that has opened the link.
    var browserCode: String?
}

extension CarrierSimulator {
    /// What the simulated aggregator does wrong, and what its phones have.
    public enum AggregatorFault: Sendable, Hashable, CaseIterable {
        /// Every session has expired.
        case expiredSession
        /// The number is another phone's.
        case otherNumber
        /// The SIM was changed lately.
        case swappedSIM
    }

    /// What is wrong with a presentation of the simulated wallet.
    public enum CredentialFault: Sendable, Hashable, CaseIterable {
        case otherNonce, otherOrigin
        /// The key-binding JWT is signed with another key than the credential's.
        case wrongKeyBinding
        /// The hash is of another credential.
        case otherHash
    }

    /// The faults of the aggregator.
    public var aggregatorFaults: Set<AggregatorFault> {
        get { withState { $0.aggregator.faults } }
        set { withState { $0.aggregator.faults = newValue } }
    }

    /// The URL of the aggregator; nil before the simulator is served.
    public var aggregatorURL: String? { baseURL.map { $0 + AggregatorEndpoints.path } }

    /// The presentation of a phone's wallet: `issuer-jwt~key-binding-jwt`.
    /// - Parameters:
    ///   - request: With `data`, as the app hands it to the platform.
    ///   - origin: Of the app or page, as the platform knows it.
    ///   - number: Of the phone's SIM.
    package func presentCredential(
        for request: JSONObject, to origin: String, of number: String, faults: Set<CredentialFault> = []
    ) async throws -> String {
        guard let data = request["data"]?.object, let nonce = data["nonce"]?.string
        else { throw OAuthError.invalidRequest("The request has no nonce.") }
        try Self.checkAuthorization(in: data, nonce)
        let now = clock.now()
        let card = SigningKey.makeP256()
        let carrier = try await KeyPool.shared.key(.init(mccmnc: "aggregator", purpose: .signing(.es256)))
        let issued = try TokenDraft(
            .idToken, type: "dc-authorization+sd-jwt",
            claims: [
                "iss": "https://carrier.example", "exp": .time(now.advanced(bySeconds: 86_400)),
                "cnf": ["jwk": card.publicNumbers.value],
            ], key: carrier, now: now
        ).serialized()
        let handle = random.token()
        withState { $0.aggregator.credentials.put(number, for: handle) }
        let hashed = faults.contains(.otherHash) ? "other~" : issued + "~"
        let binding = TokenDraft(
            .idToken, type: "kb+jwt",
            claims: [
                "aud": .string(faults.contains(.otherOrigin) ? "https://evil.example" : "origin:" + origin),
                "nonce": .string(faults.contains(.otherNonce) ? random.token() : nonce), "iat": .time(now),
                "sd_hash": .string(Base64URL.encode(Digest.sha256(Array(hashed.utf8)))),
                "encrypted_credential": .string(handle),
            ], key: faults.contains(.wrongKeyBinding) ? SigningKey.makeP256() : card, now: now)
        return issued + "~" + (try binding.serialized())
    }

    /// A wallet shows nothing to a request that does not say who asks. That of the simulated aggregator has no such
    /// part.
    private static func checkAuthorization(in data: JSONObject, _ nonce: String) throws(OAuthError) {
        let queries = data["dcql_query"]?.object?["credentials"]?.array ?? []
        guard let signed = queries.first?.object?["meta"]?.object?["credential_authorization_jwt"] else { return }
        guard let token = signed.string.flatMap({ ReceivedJWS($0, maximumBytes: 16_384) }),
            token.type == "oauth-authz-req+jwt", token["nonce"] == nonce, token.header["x5c"]?.array?.isEmpty == false,
            token.claims["jwks"]?.object?["keys"]?.array?.first?.object?["use"]?.string == "enc"
        else { throw .invalidRequest("The credential_authorization_jwt does not say who asks, and for whom.") }
    }
}
