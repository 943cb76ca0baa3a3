public import Foundation

#if canImport(CryptoKit)
    public import CryptoKit
#else
    public import Crypto
#endif

/// A key on P-256 with which an app proves that the tokens of its session are its own (DPoP, RFC 9449). One of the
/// Secure Enclave never leaves the device.
public protocol ProofKey: Sendable {
    /// The two coordinates of the public key, 64 bytes.
    var publicPoint: Data { get }
    /// The signature of ECDSA with SHA-256, 64 bytes.
    func proof(for data: Data) throws -> Data
}

extension P256.Signing.PrivateKey: ProofKey {
    /// The two coordinates of the public key, 64 bytes.
    public var publicPoint: Data { publicKey.rawRepresentation }
    /// The signature of ECDSA with SHA-256, 64 bytes.
    public func proof(for data: Data) throws -> Data { try signature(for: data).rawRepresentation }
}

#if canImport(CryptoKit)
    extension SecureEnclave.P256.Signing.PrivateKey: ProofKey {
        /// The two coordinates of the public key, 64 bytes.
        public var publicPoint: Data { publicKey.rawRepresentation }
        /// The signature of ECDSA with SHA-256, 64 bytes.
        public func proof(for data: Data) throws -> Data { try signature(for: data).rawRepresentation }
    }
#endif

extension ProofKey {
    /// A proof for one request, which the server accepts once (RFC 9449 section 4.2).
    func proof(_ method: String, _ url: URL, token: String?, at time: Date) throws -> String {
        let point = publicPoint
        let header = Header(
            jwk: .init(x: CodeVerifier.base64URL(point.prefix(32)), y: CodeVerifier.base64URL(point.suffix(32))))
        let claims = Claims(
            jti: CodeVerifier().text, htm: method, htu: url.absoluteString.prefix { $0 != "?" && $0 != "#" } + "",
            iat: Int64(time.timeIntervalSince1970),
            ath: token.map { CodeVerifier.base64URL(Data(SHA256.hash(data: Data($0.utf8)))) })
        let encoder = JSONEncoder()
        let signed =
            CodeVerifier.base64URL(try encoder.encode(header)) + "."
            + CodeVerifier.base64URL(try encoder.encode(claims))
        return signed + "." + CodeVerifier.base64URL(try proof(for: Data(signed.utf8)))
    }
}

private struct Header: Encodable {
    struct Key: Encodable {
        let kty = "EC"
        let crv = "P-256"
        let x: String
        let y: String
    }

    let typ = "dpop+jwt"
    let alg = "ES256"
    let jwk: Key
}

private struct Claims: Encodable {
    let jti: String
    let htm: String
    let htu: String
    let iat: Int64
    let ath: String?
}
