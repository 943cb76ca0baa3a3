import Primitives

/// One rule for the header of a token.
struct HeaderRule: Sendable {
    let check: IDTokenCheck
    let isMet: @Sendable (_ header: JSONObject, _ allows: (SigningAlgorithm) -> Bool) -> Bool
    /// What the header has, for an explanation.
    let found: @Sendable (_ header: JSONObject) -> String

    fileprivate static func all(of type: TokenType) -> [HeaderRule] {
        [
            // RFC 7515 section 4.1.11: crit lists extensions that must be understood, and none is supported. RFC 7797's
            // b64 changes what is signed.
            HeaderRule(check: .criticalHeader) { header, _ in
                header["crit"] == nil && header["b64"] == nil
            } found: { header in
                let present = ["crit", "b64"].filter { header[$0] != nil }
                return present.isEmpty
                    ? "neither crit nor b64 is present" : present.joined(separator: " and ") + " is present"
            },
            // RFC 8725 section 3.11: a token of another kind (logout+jwt, at+jwt) is not accepted as this one.
            HeaderRule(check: .type) { header, _ in
                type.isNamed(by: header["typ"])
            } found: { header in
                "typ is \(DisplayText.value(header["typ"]))"
            },
            HeaderRule(check: .algorithm) { header, allows in
                header["alg"]?.string.flatMap(SigningAlgorithm.init(rawValue:)).map(allows) ?? false
            } found: { header in
                "alg is \(DisplayText.value(header["alg"]))"
            },
        ]
    }
}

extension TokenType {
    /// The rules for the header of a token of this kind, in the order in which it is refused by them.
    var headerRules: [HeaderRule] {
        switch self {
        case .idToken: Self.idTokenRules
        case .portToken: Self.portTokenRules
        case .logoutToken: Self.logoutTokenRules
        }
    }

    private static let idTokenRules = HeaderRule.all(of: .idToken)
    private static let portTokenRules = HeaderRule.all(of: .portToken)
    private static let logoutTokenRules = HeaderRule.all(of: .logoutToken)
}
