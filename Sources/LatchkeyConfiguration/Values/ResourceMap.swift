internal import OpenIDConnect

extension ValueType where Value == [String: EndpointURL] {
    /// A group of name: {url}.
    static var resources: ValueType<[String: EndpointURL]> {
        let description = "a group of name: {url: …}"
        return ValueType(description, show: show) { node, context in
            guard case .mapping(let entries) = node.value else {
                context.refuse(node.origin, "is \(node.kind)", "give \(description)")
                return nil
            }
            var resources: [String: EndpointURL] = [:]
            for entry in entries {
                context.beneath("." + (Printable.name(entry.name) ?? "(unnamed)")) { context in
                    guard isName(entry.name) else {
                        return context.refuse(
                            entry.origin, "is not the name of a resource",
                            "use 1 to 32 small letters, digits, hyphens and underscores")
                    }
                    resources[entry.name] = url(of: entry, &context)
                }
            }
            return resources.count == entries.count ? resources : nil
        }
    }

    private static func url(of entry: ConfigurationEntry, _ context: inout ReadingContext) -> EndpointURL? {
        guard case .mapping(let members) = entry.node.value else {
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

    private static func isName(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    private static func show(_ resources: [String: EndpointURL]) -> String {
        resources.map { "\($0.key)=\($0.value.text)" }.sorted().joined(separator: ",")
    }
}
