import Primitives

/// Reads the fields of a discovery document, each by its rule.
struct MetadataReader {
    let document: JSONObject
    let requirements: ProviderMetadata.Requirements

    /// An issuer is a URL without query and fragment (Discovery section 3), on a trusted host. Where there are several
    /// tenants, it is their template.
    func issuer() throws(OIDCError) -> String {
        if let tenants = requirements.tenants, document["issuer"]?.string.map(tenants.mayBeNamed) == true {
            return tenants.template
        }
        let url = try endpoint("issuer")
        guard !url.text.utf8.contains(UInt8(ascii: "?")) else { throw Self.refused("issuer") }
        return url.text
    }

    /// The configured endpoint of a name, or the one of the document.
    func endpoint(_ name: String) throws(OIDCError) -> EndpointURL {
        if let configured = requirements.endpoints[name] { return configured }
        guard let text = document[name]?.string, let url = EndpointURL(text, policy: requirements.urlPolicy),
            requirements.trustedHosts.contains(url.host)
        else { throw Self.refused(name) }
        return url
    }

    /// Required unless the provider supports no grant type that uses it (RFC 8414 section 2). Without a list, it
    /// supports `authorization_code`.
    func authorizationEndpoint() throws(OIDCError) -> EndpointURL? {
        let isUsed = ["authorization_code", "implicit"].contains { mayList($0, in: "grant_types_supported") }
        return isUsed ? try endpoint("authorization_endpoint") : try optionalEndpoint("authorization_endpoint")
    }

    /// Nil if the field is absent or null.
    /// - Throws: ``OIDCError/Code/metadataRefused`` if it is there and not valid.
    func optionalEndpoint(_ name: String) throws(OIDCError) -> EndpointURL? {
        if document[name]?.isNull ?? true { return requirements.endpoints[name] }
        return try endpoint(name)
    }

    /// The supported algorithms that the provider signs with; all of them if it lists none. One of them must be
    /// accepted.
    func signingAlgorithms() throws(OIDCError) -> Set<SigningAlgorithm> {
        let name = "id_token_signing_alg_values_supported"
        guard let listed = try list(name) else { return Set(SigningAlgorithm.allCases) }
        let known = Set(listed.compactMap(SigningAlgorithm.init(rawValue:)))
        guard !known.isDisjoint(with: requirements.signingAlgorithms) else { throw Self.refused(name) }
        return known
    }

    /// The known values of a list; nil if there is no list. Which value is needed depends on the client.
    func known<Value: RawRepresentable & Hashable>(_ name: String) throws(OIDCError) -> Set<Value>?
    where Value.RawValue == String { try list(name).map { Set($0.compactMap(Value.init(rawValue:))) } }

    func flag(_ name: String) -> Bool { document[name]?.bool ?? false }

    /// A list, if there is one, must contain the value.
    func checkList(_ name: String, includes value: String) throws(OIDCError) {
        guard let listed = try list(name) else { return }
        guard listed.contains(value) else { throw Self.refused(name) }
    }

    /// Whether a value is in a list, or there is no well-formed list.
    func mayList(_ value: String, in name: String) -> Bool {
        (try? list(name))?.contains(value) ?? true
    }

    /// A carrier may name its network as a text, or as a number without leading zeros.
    func checkNetwork(_ network: MCCMNC) throws(OIDCError) {
        switch document["mccmnc"] {
        case nil, .null: return
        case .string(let text) where text == network.text: return
        case .some(let value):
            guard let number = value.integer, number == Int64(network.text) else { throw Self.refused("mccmnc") }
        }
    }

    /// A list of texts, or a bare text (which some providers write for a list of one); nil if absent or null.
    private func list(_ name: String) throws(OIDCError) -> [String]? {
        switch document[name] {
        case nil, .null: return nil
        case .string(let single): return [single]
        case .array(let elements):
            let texts = elements.compactMap(\.string)
            guard texts.count == elements.count else { throw Self.refused(name) }
            return texts
        default: throw Self.refused(name)
        }
    }

    static func refused(_ name: String) -> OIDCError {
        OIDCError(.metadataRefused, reason: "In the provider's metadata, \(name) is missing or not acceptable.")
    }
}
