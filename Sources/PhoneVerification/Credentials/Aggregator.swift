import Crypto
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// How the number of a phone is proven at an aggregator. The raw values are those of the API, and of aggregators.
enum CredentialStrategy: String, Sendable, CaseIterable {
    /// A digital credential of the SIM.
    case ts43
    /// A link that a browser opens over the mobile network.
    case link
    /// A QR code that the phone scans, for a browser on another device.
    case desktop
}

/// What an aggregator is asked to prepare.
struct CredentialInquiry: Sendable {
    let strategy: CredentialStrategy
    /// The number to verify; nil if the aggregator shall tell the number.
    let number: MSISDN?
    let network: MCCMNC?
    /// Where the browser of a link ends.
    let redirectURI: String?
    let nonce: Secret
    /// What this server alone knows of a link.
    let code: Secret
}

/// A session that an aggregator has prepared: what the app needs for it, and what ends it.
struct PreparedCredential: Sendable {
    /// The longest request for the wallet, URL, or name of a session, in bytes.
    static let maximumBytes = 16 * 1024
    /// How long a session lives if the aggregator does not say, in seconds.
    static let lifetime: Int64 = 300
    /// How long a session lives at most, in seconds.
    static let longestLifetime: Int64 = 600

    /// What names the session to the aggregator, as JSON.
    let session: String
    /// The strategy's own: the request for the wallet, as JSON; a URL; or the text of a QR code.
    let content: String
    let seconds: Int64
}

/// What ends a session.
enum CredentialProof: Sendable {
    case credential(Secret)
    /// The code that the browser of a link has brought.
    case browserCode(Secret)
    /// A phone has scanned the QR code, or will.
    case scanned

    var secret: Secret {
        switch self {
        case .credential(let secret), .browserCode(let secret): secret
        case .scanned: Secret("")
        }
    }
}

/// What an aggregator, or a mobile operator, says of a phone.
struct CredentialFinding: Sendable {
    /// Nil if it only compares numbers.
    let number: MSISDN?
    /// Whether the phone has the number that was asked for; nil if the aggregator does not say.
    let isVerified: Bool?
    /// What was found about a change of the SIM card; nil if nothing was asked about it.
    var sim: SIMSwapFinding?
    /// Who the user is, where a mobile operator tells it.
    var identity: Identity?
}

/// Redeems credentials: an aggregator, by an API of two calls that an adapter knows, or a mobile operator.
protocol CredentialRedeemer: Sendable {
    /// Begins a session.
    func prepare(
        _ inquiry: CredentialInquiry, _ correlationID: CorrelationID
    ) async throws(SignInError) -> PreparedCredential

    /// Ends a session.
    /// - Parameter session: As it was prepared.
    /// - Returns: Nil as long as no phone has scanned the QR code.
    func process(
        _ session: CredentialSession, _ proof: CredentialProof, _ run: SignInRun, at provider: ProviderMetadata
    ) async throws(SignInError) -> CredentialFinding?
}

/// An aggregator whose sessions are prepared by one call and ended by another, both `POST` with JSON, with an access
/// token of this server's own. The names of the members are configured.
struct SessionAggregator: CredentialRedeemer {
    let server: AuthorizationServer
    let rules: AggregatorRules

    func prepare(
        _ inquiry: CredentialInquiry, _ correlationID: CorrelationID
    ) async throws(SignInError) -> PreparedCredential {
        var body = JSONValue.object(of: [])
        set(.strategy, inquiry.strategy.rawValue, in: &body)
        set(.nonce, inquiry.nonce.exposed, in: &body)
        set(.purpose, inquiry.number == nil ? "GetPhoneNumber" : "VerifyPhoneNumber", in: &body)
        set(.mcc, inquiry.network.map { String($0.text.prefix(3)) }, in: &body)
        set(.mnc, inquiry.network.map { String($0.text.dropFirst(3)) }, in: &body)
        set(.phoneNumber, inquiry.number?.text, in: &body)
        set(.consent, rules.consent, in: &body)
        if inquiry.strategy == .link {
            set(.redirectURI, inquiry.redirectURI, in: &body)
            let hash = Array(SHA256.hash(data: Array(inquiry.code.exposed.utf8)))
            set(.codeHash, Base64URL.encode(hash), in: &body)
        }
        let object = try await call("prepare_endpoint", body, correlationID)
        return try await asking { () throws(OIDCError) in try prepared(object, inquiry) }
    }

    func process(
        _ session: CredentialSession, _ proof: CredentialProof, _ run: SignInRun, at provider: ProviderMetadata
    ) async throws(SignInError) -> CredentialFinding? {
        var body = JSONValue.object(of: [])
        let name = try? JSONValue(parsing: Array(session.session.utf8))
        body = Self.adding(name ?? .null, at: rules.path(of: .session)[...], to: body)
        set(.phoneNumber, session.number?.text, in: &body)
        switch proof {
        case .credential(let text): set(.credential, text.exposed, in: &body)
        case .browserCode(let code):
            set(.browserCode, code.exposed, in: &body)
            set(.code, session.code.exposed, in: &body)
        case .scanned: break
        }
        let object = try await call("process_endpoint", body, run.correlationID)
        guard session.strategy != .desktop || rules.value(.status, in: object)?.string != "pending" else { return nil }
        return try await asking { () throws(OIDCError) in try finding(object) }
    }

    private func prepared(
        _ object: JSONObject, _ inquiry: CredentialInquiry
    ) throws(OIDCError) -> PreparedCredential {
        guard let session = rules.value(.session, in: object), !session.isNull,
            rules.value(.strategy, in: object).map({ $0.string == inquiry.strategy.rawValue }) ?? true
        else { throw .unusable("The aggregator's response has no session, or one of another strategy.") }
        let content: String?
        switch inquiry.strategy {
        case .ts43: content = rules.value(.request, in: object).flatMap { request(from: $0, inquiry.nonce) }
        case .link:
            let policy = server.relyingParty.configuration.urlPolicy
            let url = rules.value(.authorizationURL, in: object)?.string
            content = url.flatMap { EndpointURL($0, policy: policy) }?.text
        case .desktop: content = rules.value(.qrCode, in: object)?.string
        }
        guard let content, max(content.utf8.count, session.text.utf8.count) <= PreparedCredential.maximumBytes else {
            throw .unusable("The aggregator's response has nothing for the phone, or not for this session.")
        }
        let seconds = rules.value(.expiresIn, in: object)?.integer ?? PreparedCredential.lifetime
        return PreparedCredential(
            session: session.text, content: content, seconds: min(max(seconds, 1), PreparedCredential.longestLifetime))
    }

    /// The request for the wallet, as JSON with `protocol` and `data`; nil unless its response would be readable, and
    /// have the nonce (OpenID4VP 1.0 section 5.2 and appendix A).
    private func request(from value: JSONValue, _ nonce: Secret) -> String? {
        guard let object = value.object else { return nil }
        let data = object["data"]?.object ?? object
        guard data["nonce"]?.string.map({ $0.hasSameBytes(as: nonce.exposed) }) ?? false,
            data["response_type"]?.string == "vp_token", data["response_mode"]?.string == "dc_api",
            data["dcql_query"]?.object != nil
        else { return nil }
        return JSONValue.object(of: [
            (name: "protocol", value: object["protocol"] ?? "openid4vp-v1-unsigned"),
            (name: "data", value: .object(data)),
        ]).text
    }

    private func finding(_ object: JSONObject) throws(OIDCError) -> CredentialFinding {
        let (number, flag) = (rules.value(.phoneNumber, in: object), rules.value(.verified, in: object))
        let (known, isVerified) = (number?.string.flatMap(MSISDN.init), flag?.bool)
        // What is there must be readable: a flag that is not would say as much as none.
        guard known != nil || isVerified != nil, number == nil || known != nil, flag == nil || isVerified != nil else {
            throw .unusable("The aggregator's response has neither a phone number nor whether it is verified.")
        }
        return CredentialFinding(
            number: known, isVerified: isVerified,
            sim: SIMSwapFinding(rules.value(.simSwap, in: object)?.object))
    }

    // MARK: Requests

    /// Sends a request with an access token for it alone.
    private func call(
        _ endpoint: String, _ body: JSONValue, _ correlationID: CorrelationID
    ) async throws(SignInError) -> JSONObject {
        guard let url = server.rules.endpoints[endpoint], let client = server.client(nil) else { throw .internalFault }
        return try await asking { () async throws(OIDCError) in
            let party = server.relyingParty
            let provider = try await party.provider(for: nil, clientID: client.id, correlationID: correlationID)
            let tokens = try await party.clientTokens(
                for: client.rules.scopes, client: client.credentials, provider: provider, correlationID: correlationID)
            return try await party.call(
                "The request to the aggregator", .post, url,
                rules.headers.map { (name: $0.key, value: $0.value.exposed) }, body: Array(body.text.utf8),
                with: tokens, .numberVerification, of: provider, correlationID,
                read: Self.object)
        }
    }

    /// The object in a response of success.
    private static func object(
        _ response: OutboundResponse, limits: OutboundLimits
    ) throws(OIDCError) -> JSONObject {
        let object = ProviderResponse.object(response, upTo: \.userInfoBytes, of: limits)
        if (200...201).contains(response.status), let object { return object }
        let code = object?["error"]?.string ?? object?["code"]?.string
        // A code with digits could be the number, which must not be in the log.
        guard (400...499).contains(response.status), let code, OIDCError.isErrorCode(code),
            !code.utf8.contains(where: \.isASCIIDigit)
        else { throw .unusable("The aggregator responded with status \(response.status), and no usable JSON object.") }
        throw OIDCError(
            .apiRefused, carrierError: code, codeMayBeSpent: true, reason: "The aggregator refused the request.")
    }

    private func asking<Value>(_ call: () async throws(OIDCError) -> Value) async throws(SignInError) -> Value {
        do throws(OIDCError) { return try await call() } catch { throw SignInError(ofAggregator: error) }
    }

    private func set(_ field: AggregatorRules.Field, _ text: String?, in body: inout JSONValue) {
        guard let text else { return }
        body = Self.adding(.string(text), at: rules.path(of: field)[...], to: body)
    }

    /// A value with another one at a path of members.
    private static func adding(_ value: JSONValue, at path: ArraySlice<String>, to other: JSONValue?) -> JSONValue {
        guard let name = path.first else { return value }
        let inner = adding(value, at: path.dropFirst(), to: other?.object?[name])
        let others = other?.object?.members.filter { $0.name != name } ?? []
        return .object(of: others.map { ($0.name, $0.value) } + [(name, inner)])
    }
}

extension SIMSwapFinding {
    /// - Parameter object: What the aggregator says of it; nil for nothing.
    fileprivate init(_ object: JSONObject?) {
        let level = object?["checked"]?.bool == true ? object?["risk_level"]?.string : nil
        let words = level?.lowercased().split { !$0.isLetter }.map(String.init) ?? []
        // Every other word says nothing.
        if words.contains(where: ["critical", "high", "medium"].contains) {
            self = .swapped
        } else {
            self = words.contains("low") || words.contains("none") ? .unchanged : .unknown
        }
    }
}

extension SignInError {
    /// The error of a request to an aggregator. The proof is spent.
    fileprivate init(ofAggregator error: OIDCError) {
        let mapped = SignInError(error, codeWasPosted: true, advice: "Use another sign-in method, or start again.")
        switch mapped.code {
        case .carrierTimeout, .temporarilyUnavailable: self = mapped
        default:
            let code = error.carrierError.map { "[\($0)] " } ?? ""
            self = SignInError(
                .aggregatorError, mapped.errorType,
                code + "The aggregator does not tell the number. Use another sign-in method, or start again.",
                fault: mapped.fault == .ours ? .ours : .provider, codeMayBeSpent: true
            ).explained(by: error)
        }
    }
}
