import FoundationEssentials
import HTTPServer
import HTTPTypes
import Primitives

/// Authenticates the client of a token request or a pushed authorization request, by the one method the client is
/// registered for (RFC 6749 section 2.3, OpenID Connect Core section 9).
struct ClientAuthenticator: Sendable {
    typealias Client = CarrierSimulator.Client
    let simulator: CarrierSimulator
    let site: CarrierSite
    /// The endpoint that an assertion is for.
    let endpoint: String

    /// The parameters that authenticate the client.
    static let credentials: Set<String> = ["client_secret", "client_assertion", "client_assertion_type"]

    func client(of request: Request, form: Parameters) throws(OAuthError) -> Client {
        let hasField = request.headers[.authorization] != nil
        let hasSecret = form.has("client_secret")
        let hasAssertion = form.has("client_assertion") || form.has("client_assertion_type")
        switch (hasField, hasSecret, hasAssertion) {
        case (true, false, false): return try clientOfBasic(request.headers[.authorization] ?? "", form)
        case (false, true, false): return try clientOfPost(form)
        case (false, false, true): return try clientOfAssertion(form)
        case (false, false, false): return try clientOfConnection(request.clientCertificate, form)
        default: throw .invalidRequest("The client authenticates by more than one method.")
        }
    }

    /// HTTP Basic with a form-encoded id and secret (RFC 6749 section 2.3.1).
    private func clientOfBasic(_ field: String, _ form: Parameters) throws(OAuthError) -> Client {
        // One of ZenKey's carriers refuses a client_id beside HTTP Basic in token requests, so every simulated carrier
        // does.
        guard endpoint != site.tokenEndpoint || !form.has("client_id")
        else { throw .invalidRequest("With HTTP Basic the form must not contain client_id.") }
        let words = field.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "basic", let bytes = Data(base64Encoded: String(words[1])),
            let text = String(validating: bytes, as: UTF8.self)
        else { throw .invalidClient("The Authorization field is not well-formed HTTP Basic.") }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        // Exactly one colon, because a colon in an id or a secret is encoded.
        guard parts.count == 2, let id = PercentEncoding.decodeForm(parts[0].utf8),
            let secret = PercentEncoding.decodeForm(parts[1].utf8)
        else { throw .invalidClient("The id and the secret are not form-encoded.") }
        return try registered(id, secret: secret, for: .clientSecretBasic)
    }

    /// A client that authenticates by the certificate of its connection (RFC 8705 section 2), or not at all. One that
    /// authenticates otherwise must do so.
    private func clientOfConnection(
        _ certificate: ClientCertificate?, _ form: Parameters
    ) throws(OAuthError) -> Client {
        guard let client = form["client_id"].flatMap({ simulator.clients[$0] }), isKnown(certificate, of: client)
        else { throw .invalidClient("The client does not authenticate, or by a certificate that is not its own.") }
        return client
    }

    private func isKnown(_ certificate: ClientCertificate?, of client: Client) -> Bool {
        switch client.authentication {
        case .publicClient: true
        case .tlsClientAuth(let subject): certificate?.subject == subject && isAccepted(client.authentication)
        case .selfSignedTLSClientAuth(let fingerprint):
            certificate?.fingerprint == fingerprint && isAccepted(client.authentication)
        case .clientSecretBasic, .clientSecretPost, .privateKeyJWT: false
        }
    }

    private func clientOfPost(_ form: Parameters) throws(OAuthError) -> Client {
        guard let id = form["client_id"], let secret = form["client_secret"]
        else { throw .invalidClient("The form lacks client_id or client_secret.") }
        if site.carrier.standIn?.takesSignedSecrets ?? false { return try clientOfSignedSecret(secret, id) }
        return try registered(id, secret: secret, for: .clientSecretPost)
    }

    /// RFC 7523 section 2.2.
    private func clientOfAssertion(_ form: Parameters) throws(OAuthError) -> Client {
        guard form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        else { throw .invalidClient("The client_assertion_type is not jwt-bearer.") }
        guard let text = form["client_assertion"],
            let assertion = ReceivedJWS(text, maximumBytes: ReceivedJWS.maximumAssertionBytes)
        else { throw .invalidClient("The client_assertion is not a signed JWT.") }
        guard let id = assertion["sub"], assertion["iss"] == id, let client = simulator.clients[id],
            form["client_id"].map({ $0.hasSameBytes(as: id) }) ?? true,
            case .privateKeyJWT(let pem, let keyID) = client.authentication, isAccepted(client.authentication)
        else { throw .invalidClient("The client is unknown or not registered for private_key_jwt.") }
        guard keyID == nil || keyID == assertion.keyID else { throw .invalidClient("The kid is not the client's.") }
        guard assertion.isSigned(byKeyInPEM: pem)
        else { throw .invalidClient("The client_assertion's signature is wrong.") }
        let isStrict = site.has(.clientAssertionStrict)
        guard !isStrict || ["PS256", "ES256", "EdDSA"].contains(assertion.header["alg"]?.string)
        else { throw .invalidClient("The client_assertion's alg is not one of FAPI 2.0.") }
        // RFC 9126 section 2: that of the token endpoint is good everywhere. Operators want the endpoint itself.
        let endpoints = isStrict ? [] : [site.tokenEndpoint, endpoint]
        let audiences = site.carrier.operatorProfile == nil ? [site.issuer] + endpoints : [endpoint]
        if let fault = simulator.fault(of: assertion, by: client, at: site, audiences: audiences) {
            throw .invalidClient("The client_assertion's \(fault) is missing, invalid or used.")
        }
        return client
    }

    private func registered(_ id: String, secret: String, for method: Client.Authentication) throws(OAuthError)
        -> Client
    {
        guard let client = simulator.clients[id], client.secret.exposed.hasSameBytesInConstantTime(as: secret),
            client.authentication == method || site.carrier.standIn != nil, isAccepted(method)
        else {
            throw .invalidClient(
                "The client is unknown, its secret is wrong, or it is not registered for \(method.name).")
        }
        return client
    }

    private func isAccepted(_ method: Client.Authentication) -> Bool {
        site.carrier.authenticationMethods.contains(method.name)
    }
}
