package import Crypto
package import Primitives

/// A JWT in compact form (RFC 7515 section 7.1), split at its first two dots, with each part as far as it can be read.
package struct CompactToken: Sendable {
    /// One part.
    package enum Part: Sendable {
        case empty
        /// For instance because of a further dot.
        case notBase64URL
        case bytes([UInt8])

        fileprivate init(_ text: Slice<UnsafeBufferPointer<UInt8>>) {
            let bytes = text.isEmpty ? [] : Base64URL.decode(UnsafeBufferPointer(rebasing: text))
            self = bytes.map { $0.isEmpty ? .empty : .bytes($0) } ?? .notBase64URL
        }

        /// Nil if the part is empty or not base64url.
        package var bytes: [UInt8]? {
            guard case .bytes(let bytes) = self else { return nil }
            return bytes
        }

        /// Nil if the part is not base64url of a strict JSON object.
        package var object: JSONObject? { bytes.flatMap { (try? JSONValue(parsing: $0))?.object } }
    }

    package let headerPart: Part
    /// ``Part/object`` of ``headerPart``.
    package let header: JSONObject?
    /// Not to be trusted before the signature verifies.
    package let payload: Part
    package let signature: Part
    /// Everything before the second dot, as the algorithm of the header needs it; nil if there is no known one.
    let signed: SignedContent?

    /// Nil if the header cannot be read, or names no known algorithm.
    let algorithm: SigningAlgorithm?

    /// Nil if the text has more bytes than allowed, or fewer than two dots.
    package init?(_ text: Secret, maximumBytes: Int) {
        let text = text.exposed
        // Checked before anything is decoded, so that a large token costs nothing.
        guard text.utf8.count <= maximumBytes else { return nil }
        guard let token = text.withBytes({ CompactToken($0) }) else { return nil }
        self = token
    }

    private init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        let dot = UInt8(ascii: ".")
        guard let first = bytes.firstIndex(of: dot), let second = bytes[(first + 1)...].firstIndex(of: dot) else {
            return nil
        }
        headerPart = Part(bytes[..<first])
        header = headerPart.object
        payload = Part(bytes[(first + 1)..<second])
        signature = Part(bytes[(second + 1)...])
        algorithm = header?["alg"]?.string.flatMap(SigningAlgorithm.init(rawValue:))
        signed = algorithm.map {
            SignedContent(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[..<second]), signedBy: $0)
        }
    }
}

extension CompactToken {
    /// The claims of a token that this server signed with ES256; nil for any other token.
    /// - Parameter type: The header's `typ`, which no other kind of signed text has (RFC 8725 section 3.11).
    package func claims(ofType type: String, signedBy key: P256.Signing.PublicKey) -> JSONObject? {
        guard let header, header["typ"]?.string == type, header["crit"] == nil, algorithm == .es256,
            case .sha256(let digest) = signed, let bytes = signature.bytes,
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes),
            key.isValidSignature(signature, for: digest)
        else { return nil }
        return payload.object
    }
}
