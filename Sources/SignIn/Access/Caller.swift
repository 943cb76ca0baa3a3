import OpenIDConnect
package import Primitives
package import StorageModel

/// Identifies the caller of a request by a hash of its API key or of its origin.
package struct Caller: Sendable, Hashable {
    package let hash: TokenHash
    /// Whether it has no API key. Anyone can send the origin of a page.
    package let isKeyless: Bool

    package init(apiKey: String) {
        hash = TokenHash(sha256Of: "key " + apiKey)
        isKeyless = false
    }

    package init(apiKeyHash hash: TokenHash) {
        self.hash = hash
        isKeyless = false
    }

    package init(origin: String) {
        hash = TokenHash(sha256Of: "origin " + origin)
        isKeyless = true
    }

    /// The same caller with the key of an app, whose other apps get nothing of what that one gets.
    package func proving(_ key: String) -> Caller {
        Caller(hash: TokenHash(sha256Of: "\(Base64URL.encode(hash.bytes)) \(key)"), isKeyless: isKeyless)
    }

    private init(hash: TokenHash, isKeyless: Bool) { (self.hash, self.isKeyless) = (hash, isKeyless) }

    /// One user of an origin, as far as an address tells users apart.
    package init(address: IPAddress) {
        hash = TokenHash(sha256Of: "address \(address.high) \(address.low)")
        isKeyless = true
    }
}

/// What a caller may use of the configured providers.
package struct CallerTerms: Sendable {
    /// The clients that it may use; nil for all. Without an API key they are all.
    package var clients: Set<String>?
    /// The network of its address, whose callers share what is limited for all; nil if it is not known.
    package var subnet: IPAddress?

    /// Its address and port as far as they are known; the port only with the address.
    package var address: IPAddress?
    package let port: UInt16?

    private var key: TokenHash?
    private var user: UserID?

    /// A caller without limits.
    package init() { self.init(clients: nil, key: nil, address: nil) }

    /// - Parameters:
    ///   - key: By which the caller was admitted; nil for a browser without an API key.
    ///   - address: The caller's; nil if it is not known. With the key it tells the users of an app apart.
    package init(clients: Set<String>?, key: TokenHash?, address: IPAddress?, port: UInt16? = nil) {
        self.clients = clients
        subnet = address?.subnet
        (self.key, self.address, self.port) = (key, address, port)
    }

    /// Whose part of the limits of a phone number it uses; nil if the caller is not known.
    package var id: TokenHash? {
        if let user { return TokenHash(sha256Of: "user \(user.number)") }
        guard key != nil || address != nil else { return nil }
        let place = address.map { "\($0.network.high) \($0.network.low)" } ?? ""
        return TokenHash(sha256Of: "caller \(key.map { Base64URL.encode($0.bytes) } ?? "") \(place)")
    }

    /// The same for a signed-in user, who is the caller then, wherever they are.
    package func of(_ user: UserID) -> CallerTerms {
        var terms = self
        terms.user = user
        return terms
    }

    func allows(_ client: SignInConfiguration.Client) -> Bool { clients?.contains(client.id.text) ?? true }

    /// - Throws: `unauthorized_client` if the caller may not use the client.
    package func check(_ client: SignInConfiguration.Client) throws(SignInError) {
        guard allows(client) else { throw .clientNotAllowed }
    }

    /// - Throws: `unauthorized_client` if the caller may use none of the clients.
    package func check<Clients: Sequence<SignInConfiguration.Client>>(
        mayUseOneOf clients: @autoclosure () -> Clients
    ) throws(SignInError) {
        guard mayUseOneOf(clients()) else { throw .clientNotAllowed }
    }

    package func mayUseOneOf<Clients: Sequence<SignInConfiguration.Client>>(
        _ clients: @autoclosure () -> Clients
    ) -> Bool { self.clients == nil || clients().contains(where: allows) }
}

extension SignInError {
    /// A sign-in, its start, or a verification for another client than the caller's. 400, as RFC 6749 section 5.2 says,
    /// because the published apps read any 403 of a sign-in as the offer of a registration.
    package static let clientNotAllowed = SignInError(
        .unauthorizedClient, .configurationError,
        "This API key or origin is not for this client. The administrator must add the client to it.")
}

/// The origin of a web page (RFC 6454), as browsers write it in `Origin`: scheme, host and, if it is not the scheme's
/// own, port.
public struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// The serialized origin, such as `https://app.example.com`.
    public let text: String

    public var description: String { text }

    /// Parses an origin. Nil if the text has a path or query, or is neither https (or http to loopback) nor the origin
    /// of an app's shell or of a browser's extension, which is kept byte for byte, but for the port of http.
    public init?(_ text: String) {
        guard let url = EndpointURL(text, policy: .allowLoopbackHTTP) else {
            guard Self.isOfShell(text) else { return nil }
            self.text = text.hasPrefix("http:") && text.hasSuffix(":80") ? String(text.dropLast(3)) : text
            return
        }
        let authority = text.utf8.dropFirst(url.scheme.rawValue.utf8.count + 3)
        guard !authority.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }) else { return nil }
        self.text = "\(url.scheme.rawValue)://\(url.authority)"
    }

    /// Whether a text is an origin such as `capacitor://localhost` or `chrome-extension://…`, or http at a name below
    /// `localhost`, which browsers connect to this machine only (Secure Contexts section 3.1).
    private static func isOfShell(_ text: String) -> Bool {
        guard let separator = text.firstRange(of: "://") else { return false }
        let (scheme, authority) = (text[..<separator.lowerBound], text[separator.upperBound...])
        let parts = authority.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        let host = Substring(parts[0])
        guard (1...253).contains(host.utf8.count), host.utf8.allSatisfy(PercentEncoding.isUnreserved),
            parts.count == 1 || parts.count == 2 && UInt16(Substring(parts[1])) != nil
        else { return false }
        if scheme == "http" { return host.hasSuffix(".localhost") }
        return !schemesOfOthers.contains(String(scheme)) && scheme.utf8.first?.isASCIILetter == true
            && scheme.utf8.allSatisfy {
                $0.isASCIILetterOrDigit && $0 == $0.lowercasedASCII || "+-.".utf8.contains($0)
            }
    }

    /// The schemes of other pages than an app's own.
    private static let schemesOfOthers: Set = [
        "https", "ws", "wss", "ftp", "file", "filesystem", "blob", "data", "about", "javascript",
    ]
}
