import Primitives

/// A response that demands a nonce in the proof of the next request.
package enum DPoPChallenge {
    private static let error = "use_dpop_nonce"

    /// Whether a server demands one.
    /// - Parameter hasAccessToken: Whether the request had an access token, so that a resource server has responded.
    static func isIn(_ response: OutboundResponse, _ limits: OutboundLimits, hasAccessToken: Bool) -> Bool {
        if hasAccessToken { return response.status == 401 && demandsNonce(response.wwwAuthenticate ?? "") }
        // RFC 9449 section 8 has 400. Some servers send 401.
        guard response.status == 400 || response.status == 401 else { return false }
        return ProviderResponse.object(response, upTo: \.tokenBytes, of: limits)?["error"]?.string == error
    }

    /// Whether a `WWW-Authenticate` field has the challenge `DPoP error="use_dpop_nonce"` (RFC 9449 section 9).
    ///
    /// Reads the list of challenges (RFC 9110 section 11.6.1) once, from its beginning to the first fault. Schemes and
    /// names of parameters are compared without regard to case.
    package static func demandsNonce(_ field: String) -> Bool {
        var scanner = FieldScanner(field)
        var isOfDPoP = false
        while let word = word(&scanner) {
            scanner.skipSpace()
            guard scanner.take(UInt8(ascii: "=")) else {
                // The word is a scheme, or the credentials of one.
                isOfDPoP = word == "dpop"
                continue
            }
            guard let value = value(&scanner) else { return false }
            if isOfDPoP, word == "error", value == error { return true }
        }
        return false
    }

    /// The next token in lower case, after white space and commas; nil at the end and at another character.
    private static func word(_ scanner: inout FieldScanner) -> String? {
        repeat { scanner.skipSpace() } while scanner.take(UInt8(ascii: ","))
        let word = scanner.text(while: \.isToken)
        // The characters of a token68 that no token has, such as Negotiate's.
        if scanner.rest.first == UInt8(ascii: "/") {
            scanner.rest = scanner.rest.drop { $0 == UInt8(ascii: "/") || $0.isToken }
        }
        return word.isEmpty ? nil : word.lowercased()
    }

    /// The value of a parameter, after its equals sign; nil for a quoted one without end.
    private static func value(_ scanner: inout FieldScanner) -> String? {
        scanner.skipSpace()
        if scanner.rest.first == UInt8(ascii: "\"") { return scanner.quoted() }
        let token = scanner.text(while: \.isToken)
        // The equals signs at the end of a token68.
        scanner.rest = scanner.rest.drop { $0 == UInt8(ascii: "=") }
        return token
    }
}
