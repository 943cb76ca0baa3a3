internal import OpenIDConnect
package import Primitives
internal import SignIn

extension ValueType {
    /// A group of names and values; with `isText`, also a text of `name=value` pairs separated by commas.
    package static func group<Key: Hashable & Sendable, Element: Sendable>(
        _ description: String, isText: Bool = false, isSecret: Bool = false, of schema: ValueSchema = .text,
        text: @escaping @Sendable (Key, Element) -> String,
        key: @escaping @Sendable (String) throws(InvalidValueError) -> Key,
        element: @escaping @Sendable (ConfigurationEntry, inout ReadingContext) -> Element?
    ) -> ValueType<[Key: Element]> where Value == [Key: Element] {
        ValueType<[Key: Element]>(
            description: description, schema: .group(of: schema, isText: isText),
            show: { $0.map(text).sorted().joined(separator: ",") }
        ) {
            node, context in
            guard let entries = isText ? pairs(of: node, description, &context) : node.entries else {
                if !isText { context.refuse(node.origin, "is \(node.kind)", "give \(description)") }
                return nil
            }
            var values: [Key: Element] = [:]
            for (index, entry) in entries.enumerated() {
                // What is taken for a name can be the end of a value that has a comma.
                let word = isSecret ? "\(index)" : Printable.word(entry.name) ?? "?"
                let suffix = isText ? "[\(word)]" : "." + (Printable.name(entry.name) ?? "(unnamed)")
                context.beneath(suffix) { context in
                    do throws(InvalidValueError) {
                        let name = try key(entry.name)
                        guard values[name] == nil else { throw InvalidValueError("is given twice", "keep one of them") }
                        values[name] = element(entry, &context)
                    } catch {
                        context.refuse(entry.origin, error.reason, error.remedy ?? "give \(description)")
                    }
                }
            }
            return values.count == entries.count ? values : nil
        }
    }

    private static func pairs(
        of node: ConfigurationNode, _ description: String, _ context: inout ReadingContext
    ) -> [ConfigurationEntry]? {
        guard let node = ListText.structured(node, &context) else { return nil }
        if let entries = node.entries { return entries }
        guard case .text = node.value, let items = ListText.items(of: node, description, &context) else {
            if case .list = node.value { context.refuse(node.origin, "is a list", "give \(description)") }
            return nil
        }
        return items.map { item in
            guard case .text(let text) = item.value, let sign = text.firstIndex(of: "=") else {
                return ConfigurationEntry(name: "?", origin: item.origin, node: item)
            }
            let value = altered(item) { $0.value = .text(String(text[text.index(after: sign)...])) }
            return ConfigurationEntry(name: String(text[..<sign]), origin: item.origin, node: value)
        }
    }
}

extension ValueType {
    /// A group of keys, of which a list of a feature has some.
    /// - Parameters:
    ///   - definition: The name of such a group in the schema.
    ///   - value: Makes the value of keys that are valid.
    package static func keys<Draft: GroupDraft>(
        _ description: String, of definition: String, _ settings: [Setting<Draft>], defaults: Draft,
        show: @escaping @Sendable (Value) -> String, value: @escaping @Sendable (Draft) -> Value?
    ) -> ValueType {
        ValueType(description: description, schema: .definition(definition), show: show) { node, context in
            guard let entries = node.entries else {
                context.refuse(node.origin, "is \(node.kind)", "give \(description)")
                return nil
            }
            var draft = defaults
            SettingsReader.read(entries, at: node.origin, settings, into: &draft, &context)
            return draft.place.isBroken ? nil : value(draft)
        }.with { SettingGroup($0, definition, settings, defaults: defaults) }
    }
}

extension ValueType {
    /// `{"310410": "https://carrier.example.com"}`, or `310410=https://carrier.example.com`.
    static var issuers: ValueType<[MCCMNC: EndpointURL]> {
        .group("a group of mccmnc: issuer, or mccmnc=issuer,mccmnc=issuer", isText: true) {
            "\($0.text)=\($1.text)"
        } key: { (name) throws(InvalidValueError) in
            guard let network = MCCMNC(name) else {
                throw InvalidValueError("is not an mccmnc", "give its five or six digits")
            }
            return network
        } element: { entry, context in
            ValueType<EndpointURL>.carrierURL.read(entry.node, &context)
        }
    }

    /// The members of some attributes.
    static func attributes(_ known: [UserAttribute]) -> ValueType<[UserAttribute: UserEndpoint.Member]> {
        .group("a group of attribute: member") {
            "\($0.rawValue)=\($1.text)"
        } key: { (name) throws(InvalidValueError) in
            guard let attribute = known.first(where: { $0.rawValue == name }) else {
                let names = known.map(\.rawValue).joined(separator: ", ")
                throw InvalidValueError("there is no such attribute", "give one of \(names)")
            }
            return attribute
        } element: { entry, context in
            ValueType<UserEndpoint.Member>.member.read(entry.node, &context)
        }
    }

    /// Texts of up to 1024 printable ASCII characters by the names of parameters.
    static func parameters(
        name check: @escaping @Sendable (String) throws(InvalidValueError) -> String,
        value checkValue: @escaping @Sendable (String, String) throws(InvalidValueError) -> Void
    ) -> ValueType<[String: String]> {
        .group("a group of name: value, or name=value,name=value", isText: true) {
            "\($0)=\($1)"
        } key: { (name) throws(InvalidValueError) in
            try check(name)
        } element: { entry, context in
            ValueType<String>.scalar("a text", show: { $0 }) { (text, _) throws(InvalidValueError) in
                try require(
                    (1...1024).contains(text.utf8.count) && text.utf8.allSatisfy(\.isPrintableASCII),
                    else: "is not a text of up to 1024 ASCII characters")
                try checkValue(entry.name, text)
                return text
            }.read(entry.node, &context)
        }
    }

    /// Header fields of requests to a provider's APIs, by their names in lower case. Their values are secret.
    package static var headers: ValueType<[String: Secret]> {
        .group("a group of header fields, name: value, or name=value,name=value", isText: true, isSecret: true) {
            name, _ in
            "\(name)=‹redacted›"
        } key: { (name) throws(InvalidValueError) in
            let name = try checkHeaderName(name)
            // The access token is in Authorization.
            try require(
                !headersOfEachRequest.contains(name), else: "is a header field that each request has already",
                "give the one that the operator names for its key")
            return name
        } element: { entry, context in
            ValueType<Secret>.secret(
                "the value of a header field", "is not the value of a header field",
                "give up to 4096 ASCII characters, without a space at an end"
            ) { text in
                guard (1...4096).contains(text.utf8.count), text.utf8.allSatisfy(\.isPrintableASCII),
                    !text.hasPrefix(" "), !text.hasSuffix(" ")
                else { return nil }
                return Secret(text)
            }.read(entry.node, &context)
        }
    }

    /// The name of a header field, in lower case.
    static var headerName: ValueType<String> {
        .scalar("the name of an HTTP field", show: { $0 }) { (text, _) throws(InvalidValueError) in
            try checkHeaderName(text)
        }
    }

    private static func checkHeaderName(_ text: String) throws(InvalidValueError) -> String {
        try require(
            (1...128).contains(text.utf8.count) && text.utf8.allSatisfy(\.isToken),
            else: "is not the name of a header field")
        return text.lowercased()
    }

    /// Resources by name, each a group with `url`.
    static var resources: ValueType<[String: EndpointURL]> {
        .group("a group of name: {url: …}", of: .group([("url", ValueSchema.text.json)])) {
            "\($0)=\($1.text)"
        } key: { (name) throws(InvalidValueError) in
            try require(
                (1...32).contains(name.utf8.count) && name.consists(of: .lowerCaseAndDigits + "-_"),
                else: "is not the name of a resource", "use 1 to 32 lower-case letters, digits, hyphens and underscores"
            )
            return name
        } element: { entry, context in
            resourceURL(entry, &context)
        }
    }

    private static func resourceURL(_ entry: ConfigurationEntry, _ context: inout ReadingContext) -> EndpointURL? {
        guard let members = entry.node.entries else {
            context.refuse(entry.origin, "is \(entry.node.kind), but it is a group of keys", "write its url below it")
            return nil
        }
        if let other = members.first(where: { $0.name != "url" }) {
            context.beneath("." + (Printable.name(other.name) ?? "(unnamed)")) {
                $0.refuse(other.origin, "there is no such key", "give url and nothing else")
            }
            return nil
        }
        guard let member = members.first else {
            context.refuse(entry.origin, "has no url", "give it")
            return nil
        }
        return context.beneath(".url") { ValueType<EndpointURL>.carrierURL.read(member.node, &$0) }
    }

    /// Kinds of frontend by redirect URI.
    static var clientTypes: ValueType<[String: Set<ClientType>]> {
        .group("a group of redirect URI: [client types]", of: .list(of: ValueType<ClientType>.choice.schema)) {
            uri, types in
            "\(uri)=\(types.map(\.rawValue).sorted().joined(separator: "+"))"
        } key: { (uri) throws(InvalidValueError) in
            try RedirectURIText.check(uri)
        } element: { entry, context in
            ValueType<[ClientType]>.list(of: .choice, "a list of client types").read(entry.node, &context).map(Set.init)
        }
    }
}

/// The fields that requests to a provider's APIs have already, those of the connection, and those of traces.
private let headersOfEachRequest: Set<String> = [
    "accept", "accept-encoding", "authorization", "connection", "content-encoding", "content-length", "content-type",
    "dpop", "expect", "host", "keep-alive", "proxy-authorization", "proxy-connection", "te", "traceparent",
    "tracestate", "trailer", "transfer-encoding", "upgrade", "x-correlator",
]
