import Primitives

/// A response that demands a nonce in the proof of the next request.
package enum DPoPChallenge {
    private static let error = "use_dpop_nonce"

    /// Whether a server demands one.
    /// - Parameter hasAccessToken: Whether the request had an access token, so that a resource server has responded.
    static func isIn(_ response: OutboundResponse, hasAccessToken: Bool) -> Bool {
        if hasAccessToken { return response.status == 401 && demandsNonce(response.wwwAuthenticate ?? "") }
        // RFC 9449 section 8 has 400. Some servers send 401.
        guard response.status == 400 || response.status == 401 else { return false }
        return ProviderResponse.object(response, maximumBytes: maximumBytes)?["error"]?.string == error
    }

    /// The longest body that is read as an error, in bytes.
    private static let maximumBytes = 64 * 1024

    /// Whether a `WWW-Authenticate` field has the challenge `DPoP error="use_dpop_nonce"` (RFC 9449 section 9).
    ///
    /// Reads the list of challenges (RFC 9110 section 11.6.1) once, from its beginning to the first fault. Schemes and
    /// names of parameters are compared without regard to case.
    package static func demandsNonce(_ field: String) -> Bool {
        var reader = Reader(rest: Array(field.utf8)[...])
        var isOfDPoP = false
        while let word = reader.word() {
            switch reader.value() {
            case .value(let value) where isOfDPoP && word == "error":
                if value == Array(error.utf8) { return true }
            case .value: break
            case .none: isOfDPoP = word == "dpop"
            case .fault: return false
            }
        }
        return false
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>

        enum Value {
            case value([UInt8])
            /// The word before is a scheme, or the credentials of one.
            case none
            case fault
        }

        /// The next token in lower case, after white space and commas; nil at the end and at another character.
        mutating func word() -> String? {
            rest = rest.drop { Self.isSpace($0) || $0 == UInt8(ascii: ",") }
            let word = rest.prefix(while: Self.isToken)
            rest = rest.dropFirst(word.count)
            // The characters of a token68 that no token has, such as Negotiate's.
            if rest.first == UInt8(ascii: "/") { rest = rest.drop { $0 == UInt8(ascii: "/") || Self.isToken($0) } }
            return word.isEmpty ? nil : String(decoding: word, as: UTF8.self).lowercased()
        }

        /// The value of a parameter: what follows an equals sign.
        mutating func value() -> Value {
            let after = rest.drop(while: Self.isSpace)
            guard after.first == UInt8(ascii: "=") else { return .none }
            rest = after.dropFirst().drop(while: Self.isSpace)
            guard rest.first == UInt8(ascii: "\"") else {
                let token = rest.prefix(while: Self.isToken)
                rest = rest.dropFirst(token.count)
                // The equals signs at the end of a token68.
                rest = rest.drop { $0 == UInt8(ascii: "=") }
                return .value(Array(token))
            }
            return quoted()
        }

        /// A quoted string (RFC 9110 section 5.6.4).
        private mutating func quoted() -> Value {
            rest = rest.dropFirst()
            var content: [UInt8] = []
            while let byte = rest.popFirst() {
                switch byte {
                case UInt8(ascii: "\""): return .value(content)
                case UInt8(ascii: "\\"):
                    guard let escaped = rest.popFirst() else { return .fault }
                    content.append(escaped)
                default: content.append(byte)
                }
            }
            return .fault
        }

        private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

        /// RFC 9110 section 5.6.2.
        private static func isToken(_ byte: UInt8) -> Bool {
            byte.isASCIILetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
