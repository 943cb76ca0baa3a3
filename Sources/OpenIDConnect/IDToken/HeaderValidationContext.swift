import Primitives

/// The header of a token and what it is checked against.
struct HeaderValidationContext {
    let header: JSONObject
    let type: TokenType
    /// What the token may be signed with.
    let algorithms: Set<SigningAlgorithm>

    /// The rules for the header of a token of any kind, in the order in which it is refused by them.
    static let headerRules: [TokenRule<IDTokenCheck, Self>] = [
        // RFC 7515 section 4.1.11: crit lists extensions that must be understood, and none is supported. RFC 7797's
        // b64 changes what is signed.
        .init(.criticalHeader, { $0.extensions.isEmpty }) { context in
            context.extensions.isEmpty
                ? "neither crit nor b64 is present" : context.extensions.joined(separator: " and ") + " is present"
        },
        // RFC 8725 section 3.11: a token of another kind (logout+jwt, port_token+jwt) is not accepted as this one.
        .init(.type, { $0.type.isNamed(by: $0.header["typ"]) }) { context in
            "typ is \(DisplayText.value(context.header["typ"])); accepted: \(context.type.accepted)"
        },
        .init(.algorithm, { $0.hasAlgorithm }, found: { "alg is \(DisplayText.value($0.header["alg"]))" }),
    ]

    private var extensions: [String] { ["crit", "b64"].filter { header[$0] != nil } }

    private var hasAlgorithm: Bool {
        header["alg"]?.string.flatMap(SigningAlgorithm.init(rawValue:)).map(algorithms.contains) ?? false
    }
}
