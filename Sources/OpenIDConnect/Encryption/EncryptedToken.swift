import Crypto
import Primitives

/// A JWT that is encrypted for this client (RFC 7516), in compact form, parsed and not decrypted.
///
/// Everything that cannot be decrypted is not such a token: a forger learns nothing from the difference.
struct EncryptedToken: Sendable {
    enum KeyManagement: Sendable {
        /// Encrypted with the client's RSA key.
        case rsaOAEP256(encryptedKey: [UInt8])
        /// Agreed on with the provider's ephemeral key. The other two are Agreement PartyUInfo and PartyVInfo.
        case ecdhES(ephemeral: P256.KeyAgreement.PublicKey, apu: [UInt8], apv: [UInt8])
    }

    /// More than any provider needs for its name and the client's.
    private static let maximumPartyBytes = 256

    let keyManagement: KeyManagement
    let encryption: ContentEncryption
    /// The `kid` of the client's key, if the header has one.
    let keyID: String?
    /// The protected header as it was sent, which the content's tag covers.
    let protectedHeader: [UInt8]
    let content: AES.GCM.SealedBox

    /// Nil for a text that is not five parts in strict base64url, or has more bytes than allowed; and for a header that
    /// is not a strict JSON object, has an algorithm that is not supported, or an extension or compression (`crit`,
    /// `zip`) that changes how the token is read.
    init?(_ text: Secret, maximumBytes: Int) {
        // Checked before anything is decoded, so that a large token costs nothing.
        guard text.exposed.utf8.count <= maximumBytes else { return nil }
        let parts = text.exposed.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 5 else { return nil }
        let decoded = parts.map { Base64URL.decode($0) ?? [] }
        let (encryptedKey, nonce, ciphertext, tag) = (decoded[1], decoded[2], decoded[3], decoded[4])
        guard !decoded[0].isEmpty, nonce.count == 12, !ciphertext.isEmpty, tag.count == 16,
            parts[1].isEmpty == encryptedKey.isEmpty,
            let header = (try? JSONValue(parsing: decoded[0]))?.object,
            header["crit"] == nil, header["zip"] == nil,
            let encryption = header["enc"]?.string.flatMap(ContentEncryption.init(rawValue:)),
            let keyManagement = Self.keyManagement(header, encryptedKey: encryptedKey),
            let content = try? AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: nonce), ciphertext: ciphertext, tag: tag)
        else { return nil }
        keyID = header["kid"]?.string
        guard keyID != nil || header["kid"] == nil else { return nil }
        self.keyManagement = keyManagement
        self.encryption = encryption
        self.content = content
        protectedHeader = Array(parts[0])
    }

    private static func keyManagement(_ header: JSONObject, encryptedKey: [UInt8]) -> KeyManagement? {
        switch header["alg"]?.string.flatMap(KeyManagementAlgorithm.init(rawValue:)) {
        case .rsaOAEP256: return encryptedKey.isEmpty ? nil : .rsaOAEP256(encryptedKey: encryptedKey)
        case .ecdhES:
            // RFC 7518 section 4.6: the agreed key is the content key, so there is no encrypted one.
            guard encryptedKey.isEmpty, let ephemeral = ephemeralKey(header["epk"]),
                let apu = party(header["apu"]), let apv = party(header["apv"])
            else { return nil }
            return .ecdhES(ephemeral: ephemeral, apu: apu, apv: apv)
        case nil: return nil
        }
    }

    /// A point on the curve (RFC 7518 section 4.6.1.1): the initialiser checks that it is on it.
    private static func ephemeralKey(_ value: JSONValue?) -> P256.KeyAgreement.PublicKey? {
        guard let key = value?.object, key["kty"]?.string == "EC", key["crv"]?.string == "P-256", key["d"] == nil,
            let x = key["x"]?.string.flatMap(Base64URL.decode), let y = key["y"]?.string.flatMap(Base64URL.decode),
            x.count == 32, y.count == 32
        else { return nil }
        return try? P256.KeyAgreement.PublicKey(rawRepresentation: x + y)
    }

    /// Absent is empty (RFC 7518 section 4.6.2).
    private static func party(_ value: JSONValue?) -> [UInt8]? {
        guard let value else { return [] }
        guard let bytes = value.string.flatMap(Base64URL.decode), bytes.count <= maximumPartyBytes else { return nil }
        return bytes
    }
}
