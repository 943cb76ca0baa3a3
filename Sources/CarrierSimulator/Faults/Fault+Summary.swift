extension CarrierSimulator.Fault {
    private static let byName = Dictionary(allCases.map { ($0.name, $0) }) { first, _ in first }

    /// The fault with this name, if there is one.
    public init?(named name: String) {
        guard let fault = Self.byName[name] else { return nil }
        self = fault
    }

    /// Its name on the command line and on the wire.
    public var name: String {
        let given = rawValue.prefix { $0 != ":" }
        guard given.contains(" ") || !given.contains("-") else { return String(given) }
        let letters = Array("\(self)")
        return letters.indices.dropFirst().reduce(into: "\(letters[0])") { name, index in
            let (before, letter) = (letters[index - 1], letters[index])
            // The first letter after an acronym begins a word, too.
            let endsAcronym = letter.isUppercase && letters.dropFirst(index + 1).first?.isLowercase ?? false
            if endsAcronym || before.isLowercase && !letter.isLowercase { name += "-" }
            name += letter.lowercased()
        }
    }

    /// One sentence that describes the fault.
    public var summary: String {
        let text = rawValue.hasPrefix(name + ": ") ? String(rawValue.dropFirst(name.count + 2)) : rawValue
        return text.contains(" ") ? text : endpointSummary ?? portTokenSummary ?? ""
    }

    /// The summary of a defect that ID tokens can have too.
    private var portTokenSummary: String? {
        guard name.hasPrefix("port-token-") else { return nil }
        return Self(named: "id-token-" + name.dropFirst(11)).map { "Port token: \($0.summary)" }
    }

    /// The summary of a fault that every endpoint can have.
    private var endpointSummary: String? {
        guard let endpoint = Self.endpoints.first(where: { name.hasPrefix($0.prefix) }) else { return nil }
        return Self.endpointDefects["\(name.dropFirst(endpoint.prefix.count))"].map { "\(endpoint.name) \($0)" }
    }

    private static let endpoints: [(prefix: String, name: String)] = [
        ("token-", "The token endpoint"), ("userinfo-", "The userinfo endpoint"),
        ("server-initiated-", "The backchannel authentication endpoint"), ("resource-", "The resource endpoint"),
        ("discovery-", "The discovery endpoint"), ("jwks-", "The key set endpoint"),
        ("par-", "The pushed authorization request endpoint"), ("operator-number-", "Number Verification"),
        ("operator-finder-", "Telco Finder"),
        ("ciba-", "The provider's backchannel authentication endpoint"),
    ]

    private static let endpointDefects = [
        "500": "responds with 500 and an HTML page.", "not-json": "responds with 200 and an HTML page.",
        "slow": "waits for the carrier's delay before it responds.",
        "redirect": "redirects to an address that must not be followed.",
    ]
}
