import Crypto
import CryptoExtras
import Primitives

/// A request object as it came (OpenID Connect Core section 6.1), taken apart and not yet believed.
struct ReceivedRequestObject: Sendable {
    typealias Refusal = CarrierSimulator.Refusal

    static let maximumBytes = 32 * 1024
    static let clockSkew: Int64 = 60

    private let algorithm: String
    private let claims: JSONObject
    private let signed: [UInt8]
    private let signature: [UInt8]

    /// - Throws: `invalid_request_object` if the text is no JWS in compact form, with a header and claims in JSON.
    init(_ text: String) throws(Refusal) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard text.utf8.count <= Self.maximumBytes, parts.count == 3,
            let header = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2]),
            let fields = (try? JSONValue(parsing: header))?.object, fields["crit"] == nil,
            let algorithm = fields["alg"]?.string, let claims = (try? JSONValue(parsing: payload))?.object
        else { throw .invalidObject("The request is not a signed JWT.") }
        self.algorithm = algorithm
        self.claims = claims
        self.signature = signature
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }

    /// The text of a claim that has one.
    subscript(name: String) -> String? { claims[name]?.string.flatMap { $0.isEmpty ? nil : $0 } }

    /// - Throws: `invalid_request_object` if the client did not sign it, it is for somebody else, or not for now.
    func check(client: CarrierSimulator.Client, issuer: String, now: Timestamp) throws(Refusal) {
        guard let pem = client.publicKeyPEM, isSigned(byKeyInPEM: pem) else {
            throw .invalidObject("The request's signature is not the client's.")
        }
        guard self["iss"] == client.id, self["client_id"] == client.id else {
            throw .invalidObject("The request's iss or client_id is not the client.")
        }
        guard self["aud"] == issuer else { throw .invalidObject("The request's aud is not this carrier.") }
        let seconds = now.secondsSinceEpoch
        guard let issued = claims["iat"]?.integer, issued <= seconds + Self.clockSkew,
            let expiry = claims["exp"]?.integer, expiry > seconds - Self.clockSkew
        else { throw .invalidObject("The request's iat or exp is missing, or it is not for now.") }
        guard self["jti"] != nil else { throw .invalidObject("The request has no jti.") }
    }

    private func isSigned(byKeyInPEM pem: String) -> Bool {
        let digest = SHA256.hash(data: signed)
        switch algorithm {
        case "RS256":
            guard let key = try? _RSA.Signing.PublicKey(pemRepresentation: pem) else { return false }
            return key.isValidSignature(
                .init(rawRepresentation: signature), for: digest, padding: .insecurePKCS1v1_5)
        case "ES256":
            guard let key = try? P256.Signing.PublicKey(pemRepresentation: pem),
                let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
            else { return false }
            return key.isValidSignature(signature, for: digest)
        default: return false
        }
    }
}

extension CarrierSimulator.Refusal {
    static func invalidObject(_ reason: String) -> Self { Self("invalid_request_object", reason) }
}
