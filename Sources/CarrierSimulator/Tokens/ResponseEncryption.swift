import Crypto
import CryptoExtras
import FoundationEssentials
import Primitives

extension CarrierSimulator.Client {
    /// How one kind of response is encrypted for a client, as it is registered (RFC 7516, RFC 7518 sections 4 and 5).
    public struct ResponseEncryption: Sendable, Hashable {
        /// How the content key reaches the client.
        public enum KeyManagement: String, Sendable, CaseIterable {
            case rsaOAEP256 = "RSA-OAEP-256"
            case ecdhES = "ECDH-ES"
        }

        /// How the content is encrypted.
        public enum Content: String, Sendable, CaseIterable {
            case a128GCM = "A128GCM"
            case a256GCM = "A256GCM"

            fileprivate var bytes: Int { self == .a128GCM ? 16 : 32 }
        }

        public var keyManagement: KeyManagement
        public var content: Content
        /// The client's public key: SubjectPublicKeyInfo in PEM, of RSA or P-256.
        public var publicKeyPEM: String
        /// The header's `kid`; nil leaves it out.
        public var keyID: String?

        public init(_ keyManagement: KeyManagement, _ content: Content, publicKeyPEM: String, keyID: String? = nil) {
            self.keyManagement = keyManagement
            self.content = content
            self.publicKeyPEM = publicKeyPEM
            self.keyID = keyID
        }

        /// A text encrypted for the client, in compact form.
        /// - Parameter isSigned: Whether the text is a signed JWT (RFC 7519 section 5.2).
        func encrypted(_ text: String, isSigned: Bool = true) throws -> String {
            var header: JSONMembers = ["alg": .string(keyManagement.rawValue), "enc": .string(content.rawValue)]
            if isSigned { header["cty"] = "JWT" }
            if let keyID { header["kid"] = .string(keyID) }
            let key: SymmetricKey
            var encryptedKey: [UInt8] = []
            switch keyManagement {
            case .rsaOAEP256:
                key = SymmetricKey(size: .init(bitCount: content.bytes * 8))
                encryptedKey = Array(
                    try _RSA.Encryption.PublicKey(pemRepresentation: publicKeyPEM).encrypt(
                        key.withUnsafeBytes { Array($0) }, padding: .PKCS1_OAEP_SHA256))
            case .ecdhES:
                let ephemeral = P256.KeyAgreement.PrivateKey()
                let point = Array(ephemeral.publicKey.rawRepresentation)
                let epk: JSONMembers = [
                    "kty": "EC", "crv": "P-256", "x": .string(Base64URL.encode(point.prefix(32))),
                    "y": .string(Base64URL.encode(point.suffix(32))),
                ]
                header["epk"] = epk.value
                let secret = try ephemeral.sharedSecretFromKeyAgreement(
                    with: P256.KeyAgreement.PublicKey(pemRepresentation: publicKeyPEM))
                // RFC 7518 section 4.6.2, without parties: four bytes of zeros for each.
                let (name, bits) = (Array(content.rawValue.utf8), content.bytes * 8)
                let info =
                    [0, 0, 0, UInt8(name.count)] + name + [UInt8](repeating: 0, count: 8)
                    + [0, 0, UInt8(bits >> 8), UInt8(bits & 0xFF)]
                let hash = SHA256.hash(data: [0, 0, 0, 1] + secret.withUnsafeBytes { Array($0) } + info)
                key = SymmetricKey(data: Array(hash).prefix(content.bytes))
            }
            let protected = Base64URL.encode(header.serialized)
            let box = try AES.GCM.seal(Array(text.utf8), using: key, authenticating: Array(protected.utf8))
            return [
                protected, Base64URL.encode(encryptedKey), Base64URL.encode(Array(box.nonce)),
                Base64URL.encode(Array(box.ciphertext)), Base64URL.encode(Array(box.tag)),
            ].joined(separator: ".")
        }
    }
}
