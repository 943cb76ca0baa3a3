import Crypto
import HTTPServer
import HTTPTypes
import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Forms and HTTP Basic in a client's encoding.
enum Forms {
    static func encode(_ form: [(String, String)]) -> String {
        form.map { "\(encode($0.0))=\(encode($0.1))" }.joined(separator: "&")
    }

    static func encode(_ text: String) -> String {
        text.utf8.map { byte in
            let character = Character(Unicode.Scalar(byte))
            if byte == 0x20 { return "+" }
            if byte < 0x80, character.isLetter || character.isNumber || "-._~".contains(character) {
                return String(character)
            }
            return "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    static func basic(id: String, secret: String) -> String {
        basic(encoded: "\(encode(id)):\(encode(secret))")
    }

    static func basic(encoded: String) -> String { "Basic " + Data(encoded.utf8).base64EncodedString() }
}

enum Digests {
    static func sha256(_ text: String) -> [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }

    static func challenge(of verifier: String) -> String { Base64URL.encode(sha256(verifier)) }
}

extension Response {
    var text: String { String(decoding: body, as: UTF8.self) }

    /// The content as a JSON object.
    func object() throws -> JSONObject {
        try JSONValue(parsing: body, limits: JSONLimits(bytes: 4 << 20)).object.required
    }

    /// The target of a redirect without its query, and the query.
    func destination() throws -> (address: String, query: Query) {
        let location = try headers[.location].required
        let parts = location.split(separator: "?", maxSplits: 1)
        return (String(parts[0]), try Query(parts.count == 2 ? String(parts[1]) : "").required)
    }
}

struct Missing: Error {}

extension Optional {
    /// The value, or ``Missing``.
    var required: Wrapped {
        get throws {
            guard let self else { throw Missing() }
            return self
        }
    }
}
