import Primitives

/// Redirect URIs of apps.
enum RedirectURIText {
    /// Schemes with which a browser runs or opens something instead of returning to an app.
    private static let refusedSchemes: Set<String> = ["javascript", "data", "vbscript", "file", "blob", "about"]

    /// The text, if it can be a redirect URI (RFC 6749 section 3.1.2, RFC 8252 section 7): absolute, without fragment;
    /// https, http to loopback, or a scheme of the app's own.
    static func check(_ text: String) throws(InvalidValueError) -> String {
        let example = "give one such as https://app.example.com/callback or com.example.app://callback"
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon != text.startIndex,
            text.utf8.count <= 2000, text.utf8.allSatisfy(\.isVisibleASCII)
        else { throw InvalidValueError("is not an absolute URI", example) }
        guard !text.utf8.contains(UInt8(ascii: "#")) else { throw InvalidValueError("has a fragment", example) }
        // Sign-ins compare redirect URIs byte by byte (RFC 9700 section 4.1.3).
        try require(
            !text.utf8.contains(UInt8(ascii: "*")), else: "has a *, but redirect URIs have no wildcards",
            "list each redirect URI")
        let scheme = text[..<colon].lowercased()
        try require(
            isScheme(scheme) && text.utf8.index(after: colon) < text.utf8.endIndex, else: "is not an absolute URI",
            example)
        guard !refusedSchemes.contains(scheme) else { throw InvalidValueError("does not lead back to an app", example) }
        try require(
            scheme != "https" && scheme != "http" || EndpointURL(text, policy: .allowLoopbackHTTP) != nil,
            else: "is not an https URL; plain http is for loopback only", example)
        return text
    }

    /// RFC 3986 section 3.1, in lower case.
    private static func isScheme(_ text: String) -> Bool {
        text.utf8.first?.isASCIILetter == true && text.consists(of: .lowerCaseAndDigits + "+-.")
    }
}
