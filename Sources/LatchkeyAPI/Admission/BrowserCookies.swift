package import HTTPServer
package import HTTPTypes
package import Primitives
package import SignIn

/// The cookies of a browser: the two tokens of its session, and those of features.
///
/// Under https all have the `__Host-` prefix (RFC 6265bis section 4.1.3.2), so that no other host, and no page over
/// plain http, can set them. Under plain http, which is for loopback only, browsers refuse the prefix.
package struct BrowserCookies: Sendable {
    let isSecure: Bool

    package var prefix: String { isSecure ? "__Host-" : "" }
    var sessionName: String { prefix + "latchkey_session" }
    var refreshName: String { prefix + "latchkey_refresh" }

    package func session(of request: Request) -> Secret? { value(sessionName, of: request) }

    /// The refresh token, which outlives the session token.
    package func refresh(of request: Request) -> Secret? { value(refreshName, parts: 1...2, of: request) }

    /// Whether a browser sends a session, valid or not.
    func hasSession(_ request: Request) -> Bool { session(of: request) != nil || refresh(of: request) != nil }

    package func setSession(_ tokens: SessionTokens) -> [HTTPField] {
        [
            field(sessionName, tokens.token.exposed, maximumAge: tokens.expiresIn),
            field(refreshName, tokens.refreshToken.exposed, maximumAge: tokens.refreshExpiresIn),
        ]
    }

    var clearSession: [HTTPField] { [sessionName, refreshName].map { field($0, "", maximumAge: 0) } }

    package func field(_ name: String, _ value: String, maximumAge: Int64) -> HTTPField {
        HTTPField(
            name: .setCookie,
            value: "\(name)=\(value); Path=/; HttpOnly; SameSite=Lax; Max-Age=\(maximumAge)"
                + (isSecure ? "; Secure" : ""))
    }

    /// The value of a cookie; nil if it is repeated, or malformed: a token in base64url, or two such texts with a
    /// dot between them.
    package func value(_ name: String, parts: ClosedRange<Int> = 1...1, of request: Request) -> Secret? {
        guard let found = text(name, of: request) else { return nil }
        let texts = found.utf8.split(
            separator: UInt8(ascii: "."), maxSplits: parts.upperBound, omittingEmptySubsequences: false)
        guard parts.contains(texts.count), texts.allSatisfy(Self.isToken) else { return nil }
        return Secret(String(found))
    }

    /// The text of a cookie; nil if it is repeated.
    package func text(_ name: String, of request: Request) -> Substring? {
        var found: [Substring] = []
        for line in request.headers.values(of: .cookie) {
            line.withBytes { Self.addValues(of: name, in: $0, to: &found) }
            guard found.count <= 1 else { return nil }
        }
        return found.first
    }

    /// Adds the first two values of a cookie in a line. It makes no text of all the others.
    private static func addValues(
        of name: String, in line: UnsafeBufferPointer<UInt8>, to values: inout [Substring]
    ) {
        var start = 0
        while start < line.count, values.count <= 1 {
            let rest = line[start...]
            let end = rest.firstIndex(of: UInt8(ascii: ";")) ?? line.count
            start = end + 1
            let pair = rest[..<end].drop { $0 == UInt8(ascii: " ") }
            let value = pair.dropFirst(name.utf8.count)
            guard value.first == UInt8(ascii: "="), pair.starts(with: name.utf8) else { continue }
            values.append(Substring(decoding: value.dropFirst(), as: UTF8.self))
        }
    }

    package static func isToken(_ text: Substring.UTF8View) -> Bool {
        (43...48).contains(text.count)
            && text.allSatisfy { $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    }
}
