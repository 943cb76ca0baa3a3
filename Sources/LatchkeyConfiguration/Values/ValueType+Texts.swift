internal import OpenIDConnect
internal import Primitives
internal import SignIn

extension ValueType where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
    /// One of a type's words.
    public static var choice: ValueType { choice(of: Array(Value.allCases)) }

    static func choice(of values: [Value]) -> ValueType {
        let words = values.map(\.rawValue)
        return .scalar(
            "one of \(words.joined(separator: ", "))", schema: .words(words), show: { $0.rawValue }
        ) {
            (text, _) throws(InvalidValueError) in
            guard let value = values.first(where: { $0.rawValue == text }) else {
                let meant = Suggestion.nearest(to: text, among: words).map { " (did you mean \($0)?)" } ?? ""
                throw InvalidValueError("\(Printable.word(text) ?? "the value") is not one of its words\(meant)")
            }
            return value
        }
    }
}

extension ValueType {
    /// A switch, shown as `true` and `false` or as `on` and `off`; all of them are read.
    public static func flag(_ on: String = "true", _ off: String = "false") -> ValueType<Bool> {
        .scalar("\(on) or \(off)", schema: .flag, show: { $0 ? on : off }) { (text, _) throws(InvalidValueError) in
            switch text.lowercased() {
            case "true", "on", "yes": return true
            case "false", "off", "no": return false
            default: throw InvalidValueError("\(Printable.word(text) ?? "the value") is neither \(on) nor \(off)")
            }
        }
    }

    /// A URL of a provider: https, or http where `allow_loopback_http` or `plain_http_hosts` allow it.
    static var carrierURL: ValueType<EndpointURL> {
        .scalar("an https URL", show: { $0.text }) { (text, policy) throws(InvalidValueError) in
            if let url = EndpointURL(text, policy: policy) { return url }
            if let url = EndpointURL(text, policy: .allowHTTP) {
                let other =
                    url.isLoopback
                    ? "set allow_loopback_http for development"
                    : "in a private network, list its host in plain_http_hosts"
                throw InvalidValueError("is plain http", "give an https URL, or \(other)")
            }
            if text.contains(where: \.isWhitespace) { throw InvalidValueError("has a space in the URL", "remove it") }
            throw InvalidValueError("is not a usable URL", "give an https URL without user name and fragment")
        }
    }

    /// An issuer (OpenID Connect Discovery section 3): such a URL without a query.
    static var issuer: ValueType<EndpointURL> {
        .init(description: "the https URL of an issuer", show: { $0.text }) { node, context in
            guard let url = ValueType<EndpointURL>.carrierURL.read(node, &context) else { return nil }
            guard !url.text.utf8.contains(UInt8(ascii: "?")) else {
                context.refuse(node.origin, "has a query", "give the issuer as the provider's metadata spells it")
                return nil
            }
            let path = "/.well-known/openid-configuration"
            guard !url.text.hasSuffix(path) else {
                context.refuse(
                    node.origin, "is the address of the metadata", "give the issuer, which is before \(path)")
                return nil
            }
            return url
        }
    }

    /// The URL of this server: https, or http on loopback.
    static var publicURL: ValueType<EndpointURL> {
        .parsed(
            "an https URL", show: { $0.text }, "is not the base URL of an https server",
            "give one such as https://login.example.com; plain http is for loopback addresses only"
        ) { $0.utf8.contains(UInt8(ascii: "?")) ? nil : EndpointURL($0, policy: .allowLoopbackHTTP) }
    }

    /// Single values that a failable initialiser makes.
    /// - Parameters:
    ///   - reason: Why a text is refused.
    ///   - remedy: Nil to give the description.
    fileprivate static func parsed(
        _ description: String, show: @escaping @Sendable (Value) -> String, _ reason: String, _ remedy: String? = nil,
        _ parse: @escaping @Sendable (String) -> Value?
    ) -> ValueType {
        .scalar(description, show: show) { (text, _) throws(InvalidValueError) in
            guard let value = parse(text) else { throw InvalidValueError(reason, remedy) }
            return value
        }
    }

    /// As ``parsed(_:show:_:_:_:)``, for secrets.
    static func secret(
        _ description: String, _ reason: String, _ remedy: String? = nil,
        _ parse: @escaping @Sendable (String) -> Value?
    ) -> ValueType { .parsed(description, show: { _ in "‹redacted›" }, reason, remedy, parse) }

    /// A name or address to bind.
    static var bindAddress: ValueType<String> {
        .parsed(
            "an address or host name", show: { $0 }, "is not an address",
            "give one such as 127.0.0.1, 0.0.0.0, :: or a host name"
        ) { text in
            let host = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
            // A host name, or a numeric address with its zone.
            return (1...253).contains(host.utf8.count) && host.consists(of: .alphanumerics + ".:-%_") ? host : nil
        }
    }

    static var hostName: ValueType<String> {
        .parsed("a host name", show: { $0 }, "is not a host name", "give one such as keycloak, without a port") {
            text in
            EndpointURL("https://\(text)/", policy: .httpsOnly).flatMap { $0.host == text.lowercased() ? $0.host : nil }
        }
    }

    static var hostPattern: ValueType<String> {
        .parsed(
            "a host pattern", show: { $0 }, "is not a host pattern",
            "write login.example.com, or *.example.com for all hosts below a name"
        ) { TrustedHosts.Pattern($0) == nil ? nil : $0.lowercased() }
    }

    static var emailDomain: ValueType<String> {
        .parsed(
            "a domain name", show: { $0 }, "is not a domain name",
            "write the part after the @, such as example.com"
        ) { DomainName.canonical($0).flatMap { TrustedHosts.Pattern($0) == nil ? nil : $0 } }
    }

    static var redirectURI: ValueType<String> {
        .scalar("a redirect URI", show: { $0 }) { (text, _) throws(InvalidValueError) in try RedirectURIText.check(text)
        }
    }

    /// A scope (RFC 6749 section 3.3).
    static var scope: ValueType<String> {
        .parsed("a scope", show: { $0 }, "is not a scope", "write each scope as one item, such as openid") { text in
            let isScope = text.utf8.allSatisfy { $0.isVisibleASCII && $0 != 0x22 && $0 != 0x5C }
            return isScope && (1...64).contains(text.utf8.count) ? text : nil
        }
    }

    /// The name of a mobile operator.
    static var operatorName: ValueType<String> {
        .parsed(
            "a name", show: { $0 }, "is not the name of a mobile operator",
            "use 1 to 32 lower-case letters, digits and hyphens"
        ) { (1...32).contains($0.utf8.count) && $0.consists(of: .lowerCaseAndDigits + "-") ? $0 : nil }
    }

    /// The number of a project at Google.
    static var projectNumber: ValueType<String> {
        .parsed("a project number", show: { $0 }, "is not a project number", "give its digits, in quotes") {
            (1...20).contains($0.utf8.count) && $0.isDecimal ? $0 : nil
        }
    }

    /// The id of a project at Google; one of an organization's domain has a colon.
    static var projectID: ValueType<String> {
        .parsed(
            "a project id", show: { $0 }, "is not a project id", "give 4 to 64 lower-case letters, digits and . : -"
        ) { text in
            let isID = (4...64).contains(text.utf8.count) && text.consists(of: .lowerCaseAndDigits + ".:-")
            return isID && !text.isDecimal ? text : nil
        }
    }

    /// The name of an API key.
    static var apiKeyName: ValueType<String> {
        .parsed("a name", show: { $0 }, "is not a name", "give 1 to 64 letters, digits and . _ -") {
            APIKey.isName($0) ? $0 : nil
        }
    }

    /// A name that users see.
    public static var shownName: ValueType<String> {
        .parsed("a name of up to 64 characters", show: Printable.line, "is not a name that can be shown") {
            (1...64).contains($0.count) && Printable.line($0) == $0 ? $0 : nil
        }
    }

    static var color: ValueType<String> {
        .parsed("a color", show: { $0 }, "is not a color", "write # and six hexadecimal digits, in quotes") { text in
            let digits = text.lowercased().dropFirst()
            let isColor = text.first == "#" && digits.utf8.count == 6 && String(digits).consists(of: "0123456789abcdef")
            return isColor ? "#\(digits)" : nil
        }
    }

    /// The path of a file.
    static var path: ValueType<String> { path(of: "file") }

    static var folder: ValueType<String> { path(of: "folder") }

    private static func path(of kind: String) -> ValueType<String> {
        .parsed("the path of a \(kind)", show: Printable.line, "is not a path") { text in
            let isText = text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
            return isText && (1...4096).contains(text.utf8.count) ? text : nil
        }
    }

    /// A `kid` (RFC 7517 section 4.5).
    static var keyID: ValueType<String> {
        .parsed("a key id", show: Printable.line, "is not a key id", "give 1 to 255 visible ASCII characters") { text in
            let isVisible = text.utf8.allSatisfy(\.isVisibleASCII)
            return isVisible && (1...255).contains(text.utf8.count) ? text : nil
        }
    }

    static var addressRange: ValueType<IPAddressRange> {
        .parsed(
            "an address or range", show: { $0.description }, "is not an address or range",
            "write 10.0.0.7, 10.0.0.0/8 or 2001:db8::/32"
        ) { IPAddressRange($0) }
    }

    static var origin: ValueType<Origin> {
        .parsed(
            "an origin", show: { $0.text }, "is not an origin",
            "write https://app.example.com, without a path; http is for loopback only"
        ) { Origin($0) }
    }

    static var databaseURL: ValueType<DatabaseURL> {
        .scalar("a database URL", show: { Printable.line($0.description) }) { (text, _) throws(InvalidValueError) in
            try DatabaseURL(Secret(text))
        }
    }

    static var apiKey: ValueType<APIKey> {
        .init(
            description: "an API key", schema: .definition("api_key"), show: { _ in "‹redacted›" },
            read: APIKeyDraft.read)
    }

    static var apiKeyProof: ValueType<APIKey.Proof> {
        .scalar("an API key", show: { _ in "‹redacted›" }) { (text, _) throws(InvalidValueError) in
            try APIKey.Proof.parse(text)
        }
    }

    static var clientID: ValueType<ClientID> {
        .parsed("a client id", show: { $0.text }, "is not a client id", "give 1 to 255 ASCII characters") {
            ClientID($0)
        }
    }

    static var networks: ValueType<Set<MCCMNC>> {
        ValueType<[MCCMNC]>.list(of: .network, "a list of mccmnc").mapped(
            Set.init, back: { $0.sorted { $0.text < $1.text } })
    }

    static var network: ValueType<MCCMNC> {
        .parsed("an mccmnc", show: { $0.text }, "is not an mccmnc", "give its five or six digits, in quotes") {
            MCCMNC($0)
        }
    }

    static var purpose: ValueType<Purpose> {
        .parsed(
            "a purpose of the W3C Data Privacy Vocabulary", show: { $0.scope }, "is not a purpose",
            "write dpv: and its name, such as dpv:FraudPreventionAndDetection"
        ) { Purpose($0) }
    }

    static var apiVersion: ValueType<String> {
        .parsed("a version", show: { $0 }, "is not a version", "give v0, v1 or v2, or one such as v031") { text in
            let isKnown = ["v0", "v1", "v2"].contains(text.prefix(2)) && String(text.dropFirst()).isDecimal
            return isKnown && [2, 4].contains(text.utf8.count) ? text : nil
        }
    }

    /// The origin that a wallet names as the audience of a credential: of a page, or of an app on Android.
    static var credentialOrigin: ValueType<String> {
        .parsed(
            "an origin", show: { $0 }, "is not the origin of a page or of an app",
            "write one such as https://app.example.com, or android:apk-key-hash: and 43 characters of base64url"
        ) { text in
            let prefix = "android:apk-key-hash:"
            if text.hasPrefix(prefix) {
                return Base64URL.decode(String(text.dropFirst(prefix.count)))?.count == 32 ? text : nil
            }
            return Origin(text)?.text
        }
    }

    /// The beginning of a path; empty for none.
    static var pathPrefix: ValueType<String> {
        .parsed("a path", show: { $0 }, "is not the beginning of a path", "write one such as /aggregator/v031") {
            text in
            let segments = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
            let isPath =
                text.hasPrefix("/") && text.utf8.count <= 256
                && segments.allSatisfy { segment in
                    String(segment).consists(of: .alphanumerics + "-._~") && !["", ".", ".."].contains(segment)
                }
            return text.isEmpty || isPath ? text : nil
        }
    }

    /// What is before a token; empty for nothing. After those of numbers and addresses, a token would be one.
    static var tokenPrefix: ValueType<String> {
        .parsed(
            "a prefix", show: { $0 }, "is not a prefix of tokens",
            "give up to 64 visible ASCII characters that do not begin with tel:, phone:, ipport: or +"
        ) { text in
            let isOther = ["tel:", "phone:", "ipport:", "+"].contains { text.lowercased().hasPrefix($0) }
            return !isOther && text.utf8.allSatisfy(\.isVisibleASCII) && text.utf8.count <= 64 ? text : nil
        }
    }

    /// A public key that phones encrypt for, as JSON: of P-256, for ECDH-ES (RFC 7518 section 4.6).
    static var publicEncryptionKey: ValueType<String> {
        .parsed(
            "a JSON Web Key", show: { $0 }, "is not a public JSON Web Key of P-256",
            #"write one such as '{"kty": "EC", "crv": "P-256", "x": "…", "y": "…", "kid": "k-1"}'"#
        ) { text in
            guard let given = (try? JSONValue(parsing: Array(text.utf8)))?.object, given["d"] == nil else { return nil }
            let members = ["kty", "crv", "x", "y", "kid"].map { (name: $0, value: given[$0]) }
            guard let object = JSONValue.object(of: members).object,
                (try? PublicKey(object))?.algorithms == [.es256]
            else { return nil }
            return JSONValue.object(of: members + [(name: "use", value: "enc"), (name: "alg", value: "ECDH-ES")]).text
        }
    }

    /// The private key of a certificate. Whether it is valid shows with the certificate.
    static var certificateKey: ValueType<Secret> {
        .secret("a private key in PEM", "is not a private key in PEM", "name its file in certificate_key_file") {
            $0.contains("PRIVATE KEY-----") ? Secret($0) : nil
        }
    }

    /// A client secret (RFC 6749 appendix A.2: visible ASCII characters and spaces).
    static var clientSecret: ValueType<Secret> {
        .secret(
            "a client secret", "is not a client secret", "give 1 to 1024 ASCII characters, without line breaks"
        ) { text in
            let isVisible = text.utf8.allSatisfy(\.isPrintableASCII)
            return isVisible && (1...1024).contains(text.utf8.count) ? Secret(text) : nil
        }
    }

    static var proxyURL: ValueType<Secret> {
        .scalar("the URL of a proxy", show: { _ in "‹redacted›" }) { (text, _) throws(InvalidValueError) in
            do throws(ProxyURL.Fault) {
                _ = try ProxyURL(text)
                return Secret(text)
            } catch {
                throw InvalidValueError(error.rawValue, "give one such as http://proxy.example.com:3128")
            }
        }
    }

    static var encryptionKey: ValueType<EncryptionKey> {
        .secret(
            "an encryption key", "is not a key", "give 64 hexadecimal digits, such as openssl rand -hex 32 prints"
        ) { EncryptionKey(hexadecimal: $0) }
    }

    /// A private key to sign with.
    static var clientKey: ValueType<ClientKey> {
        .privateKey("give an RSA key of 2048 bits or more, or one of P-256 or Ed25519, in PEM or as a JSON Web Key") {
            (text) throws(ClientKeyError) in try ClientKey(parsing: text)
        }
    }

    /// A private key to decrypt with.
    static var decryptionKey: ValueType<DecryptionKey> {
        .privateKey("give an RSA key of 2048 bits or more, or one of P-256, in PEM or as a JSON Web Key") {
            (text) throws(ClientKeyError) in try DecryptionKey(parsing: text)
        }
    }

    fileprivate static func privateKey(
        _ remedy: String, _ parse: @escaping @Sendable (Secret) throws(ClientKeyError) -> Value
    ) -> ValueType {
        .scalar("a private key in PEM or as a JSON Web Key", show: { _ in "‹redacted›" }) {
            (text, _) throws(InvalidValueError) in
            do throws(ClientKeyError) {
                return try parse(Secret(text))
            } catch {
                throw InvalidValueError(error.reason, remedy)
            }
        }
    }

    static var member: ValueType<UserEndpoint.Member> {
        .parsed(
            "the name of a member", show: { $0.text }, "is not the name of a member",
            "write one such as id, or data.id for one in an object"
        ) { UserEndpoint.Member($0) }
    }
}
