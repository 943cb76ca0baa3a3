import Primitives

/// A JWT in compact form (RFC 7515 section 7.1), split at its first two dots, with each part as far as it can be read.
struct CompactToken: Sendable {
    /// Nil if the part is not base64url of a strict JSON object.
    let header: JSONObject?
    /// Nil if the part is empty or not base64url. Not to be read before the signature verifies.
    let payload: [UInt8]?
    /// Nil if the part is empty or not base64url, for instance because of a further dot.
    let signature: [UInt8]?
    /// Everything before the second dot, as the algorithm of the header needs it; nil if there is no known one.
    let signed: SignedContent?

    /// Nil if the header cannot be read, or names no known algorithm.
    let algorithm: SigningAlgorithm?

    /// Nil if the text has more bytes than allowed, or fewer than two dots.
    init?(_ text: Secret, maximumBytes: Int) {
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
        header = Self.decode(bytes[..<first]).flatMap { (try? JSONValue(parsing: $0))?.object }
        payload = Self.decode(bytes[(first + 1)..<second])
        signature = Self.decode(bytes[(second + 1)...])
        algorithm = header?["alg"]?.string.flatMap(SigningAlgorithm.init(rawValue:))
        signed = algorithm.map {
            SignedContent(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[..<second]), signedBy: $0)
        }
    }

    private static func decode(_ part: Slice<UnsafeBufferPointer<UInt8>>) -> [UInt8]? {
        part.isEmpty ? nil : Base64URL.decode(UnsafeBufferPointer(rebasing: part))
    }
}
