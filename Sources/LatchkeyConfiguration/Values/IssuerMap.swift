internal import OpenIDConnect

extension ValueType where Value == [MCCMNC: EndpointURL] {
    /// `{"310410": "https://carrier.example.com"}`, or in a text `310410=https://carrier.example.com`, with commas.
    static var issuers: ValueType<[MCCMNC: EndpointURL]> {
        let description = "a group of mccmnc: issuer, or mccmnc=issuer,mccmnc=issuer"
        return ValueType(description, show: show) { node, context in
            guard let pairs = pairs(of: node, description, &context) else { return nil }
            var issuers: [MCCMNC: EndpointURL] = [:]
            for pair in pairs {
                let name = Printable.word(pair.name) ?? "?"
                context.beneath("[\(name)]") { context in
                    guard let network = MCCMNC(pair.name) else {
                        return context.refuse(pair.origin, "is not an mccmnc", "give its five or six digits")
                    }
                    guard issuers[network] == nil else {
                        return context.refuse(pair.origin, "is given twice", "keep one of them")
                    }
                    issuers[network] = ValueType<EndpointURL>.carrierURL.read(pair.node, &context)
                }
            }
            return issuers.count == pairs.count ? issuers : nil
        }
    }

    private static func show(_ issuers: [MCCMNC: EndpointURL]) -> String {
        issuers.map { "\($0.key.text)=\($0.value.text)" }.sorted().joined(separator: ",")
    }

    private static func pairs(
        of node: ConfigurationNode, _ description: String, _ context: inout ReadingContext
    ) -> [ConfigurationEntry]? {
        if case .mapping(let entries) = node.value { return entries }
        guard case .text = node.value, let items = ListText.items(of: node, description, &context) else {
            if case .list = node.value { context.refuse(node.origin, "is a list", "give \(description)") }
            return nil
        }
        return items.map { item in
            guard case .text(let text) = item.value, let sign = text.firstIndex(of: "=") else {
                return ConfigurationEntry(name: "?", origin: item.origin, node: item)
            }
            var value = item
            value.value = .text(String(text[text.index(after: sign)...]))
            return ConfigurationEntry(name: String(text[..<sign]), origin: item.origin, node: value)
        }
    }
}
