import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn

/// `GET /.well-known/jwks.json`: the keys that sign receipts and seals, and those of clients.
extension LatchkeyAPI {
    /// A JSON Web Key Set (RFC 7517 section 5): the keys of receipts, then those of clients. Without the former
    /// there is no set, because a set without them would be cached.
    func showSigningKeys(_ request: Request) async throws -> Response {
        var keys: [(inout JSONObjectWriter) -> Void] = try await useCases.signingKeys.published().map {
            $0.writePublicKey
        }
        keys += publishedClientKeys.map { $0.writePublicKey } + decryptionKeys.map { $0.writePublicKey }
        keys += certificates.map { $0.certificate.writePublicKey }
        var json = JSONObjectWriter(capacity: 1024)
        json.add("keys", objects: keys) { write, json in write(&json) }
        let body = json.finish()
        let tag = Response.tag(of: body)
        let response = Response(
            status: .ok,
            headers: [
                .contentType: "application/jwk-set+json",
                .cacheControl: "public, max-age=\(SigningKeys.cacheLifetime)", .eTag: tag,
            ], body: body)
        return response.unlessKnown(tag, to: request)
    }
}

extension PublicSigningKey {
    fileprivate func writePublicKey(to json: inout JSONObjectWriter) {
        json.add("kty", "EC")
        json.add("crv", "P-256")
        json.add("x", x)
        json.add("y", y)
        json.add("use", "sig")
        json.add("alg", "ES256")
        json.add("kid", id)
    }
}
