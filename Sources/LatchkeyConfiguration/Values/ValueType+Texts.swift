internal import OpenIDConnect
internal import Primitives

extension ValueType where Value == Bool {
    /// A switch that is shown as `true` and `false`, or as `on` and `off`; all of them are read.
    static func flag(_ on: String = "true", _ off: String = "false") -> ValueType<Bool> {
        .scalar("\(on) or \(off)", show: { $0 ? on : off }) { (text, _) throws(ValueRefusal) in
            switch text.lowercased() {
            case "true", "on", "yes": return true
            case "false", "off", "no": return false
            default: throw ValueRefusal("\(Printable.word(text) ?? "the value") is neither \(on) nor \(off)")
            }
        }
    }
}

extension ValueType where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
    /// One of a few words.
    static var choice: ValueType {
        let words = Value.allCases.map(\.rawValue)
        return .scalar("one of \(words.joined(separator: ", "))", show: { $0.rawValue }) {
            (text, _) throws(ValueRefusal) in
            guard let value = Value(rawValue: text) else {
                let meant = Suggestion.nearest(to: text, among: words).map { " (did you mean \($0)?)" } ?? ""
                throw ValueRefusal("\(Printable.word(text) ?? "the value") is not one of its words\(meant)")
            }
            return value
        }
    }
}

extension ValueType where Value == EndpointURL {
    /// A URL of a carrier: https, or http to loopback where `allow_loopback_http` is set.
    static var carrierURL: ValueType<EndpointURL> {
        .scalar("an https URL", show: { $0.text }) { (text, policy) throws(ValueRefusal) in
            if let url = EndpointURL(text, policy: policy) { return url }
            if EndpointURL(text, policy: .allowLoopbackHTTP) != nil {
                throw ValueRefusal("is plain http", "give an https URL, or set allow_loopback_http for development")
            }
            throw ValueRefusal("is not a URL that may be called", "give an https URL without user name and fragment")
        }
    }

    /// An issuer (OpenID Connect Discovery section 3): such a URL without a query.
    static var issuer: ValueType<EndpointURL> {
        ValueType("the https URL of an issuer", show: { $0.text }) { node, context in
            guard let url = ValueType<EndpointURL>.carrierURL.read(node, &context) else { return nil }
            guard !url.text.utf8.contains(UInt8(ascii: "?")) else {
                context.refuse(node.origin, "has a query", "give the issuer as the provider's metadata spells it")
                return nil
            }
            return url
        }
    }

    /// The URL of this server: https, or http on loopback.
    static var publicURL: ValueType<EndpointURL> {
        .scalar("an https URL", show: { $0.text }) { (text, _) throws(ValueRefusal) in
            guard let url = EndpointURL(text, policy: .allowLoopbackHTTP), !text.utf8.contains(UInt8(ascii: "?")) else {
                throw ValueRefusal(
                    "is not the base URL of an https server",
                    "give one such as https://login.example.com; plain http is for loopback addresses only")
            }
            return url
        }
    }
}

extension ValueType where Value == String {
    /// A name or address to bind.
    static var bindAddress: ValueType<String> {
        .scalar("an address or host name", show: { $0 }) { (text, _) throws(ValueRefusal) in
            let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
            let host = isBracketed ? String(text.dropFirst().dropLast()) : text
            guard (1...253).contains(host.utf8.count), host.utf8.allSatisfy(HostText.isAddressByte) else {
                throw ValueRefusal("is not an address", "give one such as 127.0.0.1, 0.0.0.0, :: or a host name")
            }
            return host
        }
    }

    static var hostPattern: ValueType<String> {
        .scalar("a host pattern", show: { $0 }) { (text, _) throws(ValueRefusal) in
            guard TrustedHosts.Pattern(text) != nil else {
                throw ValueRefusal(
                    "is not a host pattern", "write login.example.com, or *.example.com for all hosts below a name")
            }
            return text.lowercased()
        }
    }

    static var emailDomain: ValueType<String> {
        .scalar("a domain name", show: { $0 }) { (text, _) throws(ValueRefusal) in
            guard !text.hasPrefix("*"), text.utf8.contains(UInt8(ascii: ".")), TrustedHosts.Pattern(text) != nil else {
                throw ValueRefusal("is not a domain name", "write what stands behind the @, such as example.com")
            }
            return text.lowercased()
        }
    }

    static var redirectURI: ValueType<String> {
        .scalar("a redirect URI", show: { $0 }) { (text, _) throws(ValueRefusal) in try RedirectURIText.check(text) }
    }

    /// A scope (RFC 6749 section 3.3).
    static var scope: ValueType<String> {
        .scalar("a scope", show: { $0 }) { (text, _) throws(ValueRefusal) in
            let isScope = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
            guard isScope, (1...64).contains(text.utf8.count) else {
                throw ValueRefusal("is not a scope", "write each scope as an item of its own, such as openid")
            }
            return text
        }
    }

    /// What an API key is called.
    static var apiKeyName: ValueType<String> {
        .scalar("a name", show: { $0 }) { (text, _) throws(ValueRefusal) in
            guard APIKey.isName(text) else {
                throw ValueRefusal("is not a name", "give 1 to 64 letters, digits and signs of . _ -")
            }
            return text
        }
    }

    /// A name that people are shown.
    static var shownName: ValueType<String> {
        .scalar("a name of up to 64 characters", show: Printable.line) { (text, _) throws(ValueRefusal) in
            guard (1...64).contains(text.count), Printable.line(text) == text else {
                throw ValueRefusal("is not a name that can be shown")
            }
            return text
        }
    }

    /// The path of a file.
    static var path: ValueType<String> {
        .scalar("the path of a file", show: Printable.line) { (text, _) throws(ValueRefusal) in
            guard (1...4096).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw ValueRefusal("is not a path")
            }
            return text
        }
    }
}

extension ValueType where Value == IPAddressRange {
    static var addressRange: ValueType<IPAddressRange> {
        .scalar("an address or range", show: { $0.description }) { (text, _) throws(ValueRefusal) in
            guard let range = IPAddressRange(text) else {
                throw ValueRefusal("is not an address or range", "write 10.0.0.7, 10.0.0.0/8 or 2001:db8::/32")
            }
            return range
        }
    }
}

extension ValueType where Value == Origin {
    static var origin: ValueType<Origin> {
        .scalar("an origin", show: { $0.text }) { (text, _) throws(ValueRefusal) in
            guard let origin = Origin(text) else {
                throw ValueRefusal(
                    "is not an origin", "write https://app.example.com, without a path; http is for loopback only")
            }
            return origin
        }
    }
}

extension ValueType where Value == DatabaseURL {
    static var databaseURL: ValueType<DatabaseURL> {
        .scalar("a database URL", show: { Printable.line($0.description) }) { (text, _) throws(ValueRefusal) in
            try DatabaseURL.parse(text)
        }
    }
}

extension ValueType where Value == APIKey {
    static var apiKey: ValueType<APIKey> {
        ValueType("an API key", show: { _ in "‹redacted›" }, read: APIKeyDraft.read)
    }
}

extension ValueType where Value == APIKey.Proof {
    static var apiKeyProof: ValueType<APIKey.Proof> {
        .scalar("an API key", show: { _ in "‹redacted›" }) { (text, _) throws(ValueRefusal) in
            try APIKey.Proof.parse(text)
        }
    }
}

extension ValueType where Value == ClientID {
    static var clientID: ValueType<ClientID> {
        .scalar("a client id", show: { $0.text }) { (text, _) throws(ValueRefusal) in
            guard let id = ClientID(text) else {
                throw ValueRefusal("is not a client id", "give 1 to 255 ASCII characters")
            }
            return id
        }
    }
}

extension ValueType where Value == Secret {
    /// A client secret (RFC 6749 appendix A.2: visible ASCII characters and spaces).
    static var clientSecret: ValueType<Secret> {
        .scalar("a client secret", show: { _ in "‹redacted›" }) { (text, _) throws(ValueRefusal) in
            guard (1...1024).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
                throw ValueRefusal("is not a client secret", "give 1 to 1024 ASCII characters, without line breaks")
            }
            return Secret(text)
        }
    }

    /// A key of 256 bits.
    static var encryptionKey: ValueType<Secret> {
        .scalar("an encryption key", show: { _ in "‹redacted›" }) { (text, _) throws(ValueRefusal) in
            guard text.utf8.count == 64, Hexadecimal.decode(text.utf8) != nil else {
                throw ValueRefusal("is not a key", "give 64 hexadecimal digits, such as openssl rand -hex 32 prints")
            }
            return Secret(text)
        }
    }

    static var proxyURL: ValueType<Secret> {
        .scalar("the URL of a proxy", show: { _ in "‹redacted›" }) { (text, _) throws(ValueRefusal) in
            try ProxyText.check(text)
        }
    }
}

extension ValueType where Value == ClientKey {
    /// A private key to sign with.
    static var clientKey: ValueType<ClientKey> {
        .scalar("a private key in PEM or as a JSON Web Key", show: { _ in "‹redacted›" }) {
            (text, _) throws(ValueRefusal) in
            do throws(ClientKeyError) {
                return try ClientKey(parsing: Secret(text))
            } catch {
                throw ValueRefusal(
                    error.reason, "give an RSA key of 2048 bits or more, or one of P-256, in PEM or as a JSON Web Key")
            }
        }
    }
}

extension ValueType where Value == String {
    /// A `kid` (RFC 7517 section 4.5).
    static var keyID: ValueType<String> {
        .scalar("a key id", show: Printable.line) { (text, _) throws(ValueRefusal) in
            guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw ValueRefusal("is not a key id", "give 1 to 255 visible ASCII characters")
            }
            return text
        }
    }
}

extension ValueType where Value == UserEndpoint.Member {
    static var member: ValueType<UserEndpoint.Member> {
        .scalar("the name of a member", show: { $0.text }) { (text, _) throws(ValueRefusal) in
            guard let member = UserEndpoint.Member(text) else {
                throw ValueRefusal(
                    "is not the name of a member", "write one such as id, or data.id for one in an object")
            }
            return member
        }
    }
}

extension ValueType where Value == [UserAttribute: UserEndpoint.Member] {
    /// A group of attribute: member.
    static var attributes: ValueType<[UserAttribute: UserEndpoint.Member]> {
        let description = "a group of attribute: member"
        return ValueType(description, show: show) { node, context in
            guard case .mapping(let entries) = node.value else {
                context.refuse(node.origin, "is \(node.kind)", "give \(description)")
                return nil
            }
            var attributes: [UserAttribute: UserEndpoint.Member] = [:]
            for entry in entries {
                context.beneath("." + (Printable.name(entry.name) ?? "(unnamed)")) { context in
                    guard let attribute = UserAttribute(rawValue: entry.name), attribute != .username else {
                        let names = UserAttribute.claims.map(\.rawValue).joined(separator: ", ")
                        return context.refuse(entry.origin, "there is no such attribute", "give one of \(names)")
                    }
                    attributes[attribute] = ValueType<UserEndpoint.Member>.member.read(entry.node, &context)
                }
            }
            return attributes.count == entries.count ? attributes : nil
        }
    }

    private static func show(_ attributes: [UserAttribute: UserEndpoint.Member]) -> String {
        attributes.map { "\($0.key.rawValue)=\($0.value.text)" }.sorted().joined(separator: ",")
    }
}
