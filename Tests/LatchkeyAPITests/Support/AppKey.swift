import Crypto
import HTTPTypes
import Primitives
import StorageModel
import TestSupport

/// The key of an app, with which it proves that its tokens are its own (DPoP).
struct AppKey: Sendable {
    let key = P256.Signing.PrivateKey()

    private var point: (x: String, y: String) {
        let bytes = key.publicKey.rawRepresentation
        return (Base64URL.encode(bytes.prefix(32)), Base64URL.encode(bytes.suffix(32)))
    }

    /// As RFC 7638 section 3.2 has it.
    var jwk: String { #"{"crv":"P-256","kty":"EC","x":"\#(point.x)","y":"\#(point.y)"}"# }

    var thumbprint: String { Base64URL.encode(Array(SHA256.hash(data: Array(jwk.utf8)))) }

    /// The private key as a JSON Web Key.
    var privateJWK: String { jwk.dropLast() + #","d":"\#(Base64URL.encode(Array(key.rawRepresentation)))"}"# }

    static func hash(_ token: String) -> String { Base64URL.encode(Array(SHA256.hash(data: Array(token.utf8)))) }
}

/// A proof before it is signed. Its values are JSON.
struct ProofDraft: Sendable {
    var header: [String: String]
    var claims: [String: String]
    var signer: AppKey
    /// Nil for a signature of `signer`.
    var signature: [UInt8]?

    init(_ method: HTTPRequest.Method, _ path: String, by key: AppKey, for token: String? = nil, at now: Timestamp) {
        header = ["typ": #""dpop+jwt""#, "alg": #""ES256""#, "jwk": key.jwk]
        let id = Base64URL.encode(RandomSource.system.bytes(16))
        claims = [
            "jti": #""\#(id)""#, "htm": #""\#(method.rawValue)""#, "htu": #""https://login.example/base\#(path)""#,
            "iat": String(now.secondsSinceEpoch),
        ]
        if let token { claims["ath"] = #""\#(AppKey.hash(token))""# }
        signer = key
    }

    var text: String {
        get throws {
            let key = signer.key
            let parts = [header, claims].map { TokenText.object($0.map { (name: $0.key, json: $0.value) }) }
            let signed = Array((Base64URL.encode(parts[0].utf8) + "." + Base64URL.encode(parts[1].utf8)).utf8)
            let signature = try self.signature ?? Array(key.signature(for: signed).rawRepresentation)
            return String(decoding: signed, as: UTF8.self) + "." + Base64URL.encode(signature)
        }
    }
}

extension HTTPField.Name {
    static let dpop = HTTPField.Name("DPoP") ?? .from
}
