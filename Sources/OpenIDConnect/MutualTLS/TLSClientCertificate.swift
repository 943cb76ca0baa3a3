import Crypto
public import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension TLSClientCertificate {
    /// A certificate that the TLS library accepts with its key; nil if the chain has no certificate.
    public init?(
        chain: [UInt8], privateKey: Secret, subject: String, validity: ClosedRange<Timestamp>, isSelfIssued: Bool
    ) {
        let certificates = Self.certificates(in: chain)
        guard let first = certificates.first else { return nil }
        let thumbprint = Base64URL.encode(Array(SHA256.hash(data: first)))
        let publicKey = (try? ClientKey(parsing: privateKey))?.publicJWK
        self.init(
            chain: chain, privateKey: privateKey, subject: subject, validity: validity, isSelfIssued: isSelfIssued,
            thumbprint: thumbprint,
            identifier: Base64URL.encode(Array(SHA256.hash(data: chain + [0] + Array(privateKey.exposed.utf8)))),
            writePublicKey: publicKey.map { publicKey in
                { @Sendable (json: inout JSONObjectWriter) in
                    publicKey.write(to: &json)
                    json.add("kid", thumbprint)
                    json.add("x5t#S256", thumbprint)
                    json.add("x5c", certificates.map { $0.base64EncodedString() })
                }
            })
    }

    /// In DER.
    private static func certificates(in chain: [UInt8]) -> [Data] {
        PEMBlock.all(in: String(decoding: chain, as: UTF8.self)).filter { $0.label.hasSuffix("CERTIFICATE") }
            .compactMap(\.bytes)
    }

    /// A JWT that the certificate's key signs, and whose header has the chain (`x5c`, RFC 7515 section 4.1.6).
    /// - Throws: ``OIDCError/Code/clientRefused`` if the key cannot sign.
    package func token(type: String, claims: [UInt8]) throws(OIDCError) -> Secret {
        let key: ClientKey
        do { key = try ClientKey(parsing: privateKey) } catch {
            throw OIDCError(.clientRefused, reason: "The certificate's private key cannot sign.")
        }
        let chain = Self.certificates(in: chain).map { $0.base64EncodedString() }
        return try key.token(type: type, naming: .certificates(chain), claims: claims)
    }
}
