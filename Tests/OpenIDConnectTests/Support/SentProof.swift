import Crypto
import OpenIDConnect
import Primitives
import Testing

/// A DPoP proof that was sent, read without the code that made it.
struct SentProof {
    let header: JSONObject
    let claims: JSONObject
    /// Whether the signature verifies with the key in the header.
    let isSigned: Bool
    /// The RFC 7638 thumbprint of the key in the header.
    let thumbprint: String

    init(_ text: String) throws {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        try #require(parts.count == 3)
        let bytes = parts.compactMap { Base64URL.decode($0) }
        try #require(bytes.count == 3)
        header = try #require(JSONValue(parsing: bytes[0]).object)
        claims = try #require(JSONValue(parsing: bytes[1]).object)
        let jwk = try #require(header["jwk"]?.object)
        let x = try #require(jwk["x"]?.string)
        let y = try #require(jwk["y"]?.string)
        let point = try #require(Base64URL.decode(x)) + (try #require(Base64URL.decode(y)))
        let key = try P256.Signing.PublicKey(rawRepresentation: point)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: bytes[2])
        isSigned = key.isValidSignature(signature, for: SHA256.hash(data: Array("\(parts[0]).\(parts[1])".utf8)))
        let members = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        thumbprint = Base64URL.encode(Array(SHA256.hash(data: Array(members.utf8))))
    }

    /// The proof of a request; nil if it has none.
    init?(of request: OutboundRequest) throws {
        let fields = request.headers.filter { $0.name.lowercased() == "dpop" }
        try #require(fields.count <= 1)
        guard let field = fields.first else { return nil }
        try self.init(field.value)
    }
}
