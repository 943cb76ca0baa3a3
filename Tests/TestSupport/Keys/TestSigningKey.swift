public import Crypto
import Primitives

/// A P-256 key with its JSON Web Key, for ES256. Unlike RSA keys, it is quick to make.
public struct TestSigningKey: Sendable {
    public let keyID: String
    public let privateKey: P256.Signing.PrivateKey

    public init(keyID: String) {
        self.keyID = keyID
        privateKey = P256.Signing.PrivateKey()
    }

    /// The public key as a JSON Web Key.
    public var jwk: String {
        let point = Array(privateKey.publicKey.rawRepresentation)
        let x = Base64URL.encode(point.prefix(32))
        let y = Base64URL.encode(point.suffix(32))
        return #"{"kty":"EC","crv":"P-256","use":"sig","kid":"\#(keyID)","x":"\#(x)","y":"\#(y)"}"#
    }

    /// An ES256 token with these claims.
    public func token(claims: String, type: String = "JWT") throws -> String {
        let header = #"{"alg":"ES256","typ":"\#(type)","kid":"\#(keyID)"}"#
        var failure: (any Error)?
        let text = TokenText.compact(header: header, payload: claims) { signed in
            do {
                return Array(try privateKey.signature(for: SHA256.hash(data: signed)).rawRepresentation)
            } catch {
                failure = error
                return []
            }
        }
        if let failure { throw failure }
        return text
    }
}

/// Writes JSON objects and compact JWTs of any content, valid or not.
public enum TokenText {
    /// A JSON object of members whose values are JSON texts.
    public static func object(_ members: [(name: String, json: String)]) -> String {
        "{" + members.map { "\"\($0.name)\":\($0.json)" }.joined(separator: ",") + "}"
    }

    /// A compact JWT of these texts, with the signature that `sign` returns for the signing input.
    public static func compact(header: String, payload: String, sign: (_ signed: [UInt8]) -> [UInt8]) -> String {
        let signed = Base64URL.encode(header.utf8) + "." + Base64URL.encode(payload.utf8)
        return signed + "." + Base64URL.encode(sign(Array(signed.utf8)))
    }
}
