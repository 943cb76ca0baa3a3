import Crypto
import HTTPServer
import HTTPTypes
import Primitives

/// Verifies the DPoP proofs of requests to one carrier (RFC 9449 section 4.3).
struct DPoPVerifier: Sendable {
    /// Whose nonces a proof must have: RFC 9449 sections 8 and 9 let each server give its own.
    enum Server: String, Sendable {
        case authorization, resource
    }

    static let maximumBytes = 8 * 1024
    static let field = HTTPField.Name("DPoP") ?? .from
    static let nonceField = HTTPField.Name("DPoP-Nonce") ?? .from

    let simulator: CarrierSimulator
    let site: CarrierSite
    let server: Server

    /// The thumbprint of the key of a request's proof; nil if the request has none, or the carrier has no DPoP.
    /// - Parameter url: Of the endpoint, without query.
    /// - Throws: `invalid_dpop_proof` or `use_dpop_nonce`.
    func thumbprint(of request: Request, to url: String, accessToken: String? = nil) throws(OAuthError) -> String? {
        let fields = request.headers.values(of: Self.field)
        guard site.supportsDPoP, let text = fields.first else { return nil }
        guard fields.count == 1, let proof = ReceivedJWS(text, maximumBytes: Self.maximumBytes)
        else { throw refusal("is not one signed JWT") }
        let key = try key(of: proof)
        guard proof.isSigned(by: key.material) else { throw refusal("has a wrong signature") }
        guard proof.claims["htm"]?.string == request.method.rawValue else { throw refusal("has another htm") }
        guard proof.claims["htu"]?.string == Self.address(of: request) ?? url else { throw refusal("has another htu") }
        let now = simulator.clock.now().secondsSinceEpoch
        let times = now - ReceivedJWS.clockSkew...now + ReceivedJWS.clockSkew
        guard let issuedAt = proof.claims["iat"]?.integer, times.contains(issuedAt)
        else { throw refusal("has no iat, or is too old or of the future") }
        let hash = accessToken.map { Base64URL.encode(Digest.sha256(Array($0.utf8))) }
        guard proof.claims["ath"]?.string == hash else { throw refusal("has another ath") }
        for (name, content) in contents(of: request) {
            guard proof.claims[name]?.string == Base64URL.encode(Digest.sha256(content))
            else { throw refusal("has another \(name)") }
        }
        try checkNonce(proof.claims["nonce"]?.string)
        guard let id = proof.assertionID,
            simulator.withState({ $0.isFirstUse(of: id, by: "\(site.mccmnc) proof \(key.thumbprint)") })
        else { throw refusal("has no jti, or one that was used before") }
        return key.thumbprint
    }

    /// What the operator wants proofs to have the hashes of, by claim.
    private func contents(of request: Request) -> [(claim: String, content: [UInt8])] {
        let query = request.head.rawQuery.map { Array($0.utf8) }
        return (site.carrier.operatorProfile?.demandedProofClaims ?? []).compactMap { claim in
            (claim == "camara:qh" ? query : request.body).map { (claim, $0) }
        }
    }

    /// Where a request with a client certificate came in: an alias of the endpoint (RFC 8705 section 5), or the
    /// endpoint itself. Nil without a certificate.
    private static func address(of request: Request) -> String? {
        guard request.clientCertificate != nil, let host = request.headers.values(of: .host).first else { return nil }
        return "https://" + host + request.path
    }

    /// A response to a request with a proof: with the nonce of the next one, if the carrier demands nonces.
    func giving(nonceWith response: Response, hasProof: Bool) -> Response {
        guard hasProof, site.has(.dpopNonce) else { return response }
        var response = response
        response.headers[Self.nonceField] = newNonce()
        return response
    }

    private func key(of proof: ReceivedJWS) throws(OAuthError) -> (material: P256.Signing.PublicKey, thumbprint: String)
    {
        guard proof.type == "dpop+jwt" else { throw refusal("has another typ") }
        guard proof.header["alg"]?.string == "ES256" else { throw refusal("has another alg") }
        guard let jwk = proof.header["jwk"]?.object, jwk["d"] == nil, jwk["kty"]?.string == "EC",
            jwk["crv"]?.string == "P-256", let x = jwk["x"]?.string, let y = jwk["y"]?.string,
            let left = Base64URL.decode(x), let right = Base64URL.decode(y), left.count == 32, right.count == 32,
            let key = try? P256.Signing.PublicKey(rawRepresentation: left + right)
        else { throw refusal("has no public P-256 key, or a private one") }
        // RFC 7638 section 3.2.
        let members: JSONMembers = ["crv": "P-256", "kty": "EC", "x": .string(x), "y": .string(y)]
        return (key, Base64URL.encode(Digest.sha256(members.serialized)))
    }

    private func checkNonce(_ nonce: String?) throws(OAuthError) {
        if site.has(.dpopEndlessNonces) { throw demand(newNonce()) }
        if site.has(.dpopLongNonce) { throw demand(String(repeating: "n", count: 513)) }
        if site.has(.dpopInvalidNonce) { throw demand("no nonce") }
        guard site.has(.dpopNonce) else { return }
        let isKnown = simulator.withState { state in
            guard let nonce, state.dpopNonces[nonce] == owner else { return false }
            state.dpopNonces.remove(nonce)
            return true
        }
        guard isKnown else { throw demand(newNonce()) }
    }

    private var owner: String { "\(site.mccmnc) \(server.rawValue)" }

    /// A nonce that is good once.
    private func newNonce() -> String {
        let nonce = simulator.random.token(bytes: 16)
        simulator.withState { $0.dpopNonces.put(owner, for: nonce) }
        return nonce
    }

    private func demand(_ nonce: String) -> OAuthError {
        var refusal = OAuthError("use_dpop_nonce", "The proof must have the server's nonce.", status: status)
        refusal.nonce = nonce
        return refusal
    }

    private func refusal(_ fault: String) -> OAuthError {
        OAuthError("invalid_dpop_proof", "The DPoP proof \(fault).", status: status)
    }

    private var status: HTTPResponse.Status { server == .resource ? .unauthorized : .badRequest }
}

extension CarrierSite {
    /// Whether the carrier reads proofs.
    var supportsDPoP: Bool { has(.dpopSupported) || requiresDPoP }
    /// Whether the carrier refuses token requests without a proof.
    var requiresDPoP: Bool { has(.dpopRequired) || carrier.operatorProfile?.demandsDPoP ?? false }
}
