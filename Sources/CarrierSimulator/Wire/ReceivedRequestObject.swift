import Primitives

/// A request object as it came (OpenID Connect Core section 6.1), not yet believed.
struct ReceivedRequestObject: Sendable {
    typealias Refusal = CarrierSimulator.Refusal

    static let maximumBytes = 32 * 1024
    static let clockSkew: Int64 = 60

    private let jws: ReceivedJWS

    /// - Throws: `invalid_request_object` if the text is no ``ReceivedJWS``.
    init(_ text: String) throws(Refusal) {
        guard let jws = ReceivedJWS(text, maximumBytes: Self.maximumBytes) else {
            throw .invalidObject("The request is not a signed JWT.")
        }
        self.jws = jws
    }

    private var claims: JSONObject { jws.claims }

    /// The text of a claim that has one.
    subscript(name: String) -> String? { claims[name]?.string.flatMap { $0.isEmpty ? nil : $0 } }

    /// - Throws: `invalid_request_object` if the client did not sign it, or it is for somebody else or another time.
    func check(client: CarrierSimulator.Client, issuer: String, now: Timestamp) throws(Refusal) {
        guard let pem = client.publicKeyPEM, jws.isSigned(byKeyInPEM: pem) else {
            throw .invalidObject("The request's signature is not the client's.")
        }
        guard self["iss"] == client.id, self["client_id"] == client.id else {
            throw .invalidObject("The request's iss or client_id is not the client.")
        }
        guard self["aud"] == issuer else { throw .invalidObject("The request's aud is not this carrier.") }
        let seconds = now.secondsSinceEpoch
        guard let issued = claims["iat"]?.integer, issued <= seconds + Self.clockSkew,
            let expiry = claims["exp"]?.integer, expiry > seconds - Self.clockSkew
        else { throw .invalidObject("The request's iat or exp is missing, or of another time.") }
        guard self["jti"] != nil else { throw .invalidObject("The request has no jti.") }
    }
}

extension CarrierSimulator.Refusal {
    static func invalidObject(_ reason: String) -> Self { Self("invalid_request_object", reason) }
}
