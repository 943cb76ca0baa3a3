package import Primitives

/// The compact form of a JWT (RFC 7515 section 7.1), part by part: what a reader sees before it checks anything.
package struct TokenForm: Sendable {
    /// One part.
    package enum Part: Sendable {
        case empty
        case notBase64URL
        /// Not strict JSON, and why.
        case notJSON(JSONSyntaxError)
        case json(JSONValue)

        /// The object; nil if the part is something else.
        package var object: JSONObject? {
            guard case .json(let value) = self else { return nil }
            return value.object
        }
    }

    /// Everything before the first dot.
    package let header: Part
    /// Everything between the first two dots.
    package let payload: Part
    /// The length of the signature in bytes, which is everything after the second dot; nil if it is not base64url.
    package let signatureBytes: Int?

    /// Nil if the text has more bytes than allowed, or fewer than two dots.
    package init?(_ text: Secret, maximumBytes: Int) {
        let bytes = Array(text.exposed.utf8)
        guard bytes.count <= maximumBytes else { return nil }
        let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        header = Self.part(parts[0])
        payload = Self.part(parts[1])
        signatureBytes = parts[2].isEmpty ? 0 : Base64URL.decode(parts[2])?.count
    }

    private static func part(_ text: ArraySlice<UInt8>) -> Part {
        guard !text.isEmpty else { return .empty }
        guard let bytes = Base64URL.decode(text) else { return .notBase64URL }
        do throws(JSONSyntaxError) {
            return .json(try JSONValue(parsing: bytes))
        } catch {
            return .notJSON(error)
        }
    }
}
