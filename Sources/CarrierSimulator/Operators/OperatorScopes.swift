/// The scopes of operators with CAMARA's APIs.
struct OperatorScopes: Sendable {
    typealias Refusal = CarrierSimulator.Refusal

    static let numberVerify = "number-verification:verify"
    static let numberShare = "number-verification:device-phone-number:read"
    static let simSwap = "sim-swap"
    static let simSwapCheck = "sim-swap:check"
    static let simSwapDate = "sim-swap:retrieve-date"
    static let telcoFinder = "telcofinder"

    static let ofNumberVerification = [numberVerify, numberShare]
    static let known =
        ["openid", "offline_access"] + ofNumberVerification + [simSwap, simSwapCheck, simSwapDate, telcoFinder]

    let names: [String]

    var hasNumberVerification: Bool { names.contains(where: Self.ofNumberVerification.contains) }

    /// The scopes of a space-separated list with exactly one purpose (CAMARA Security and Interoperability Profile,
    /// Purpose as a scope).
    /// - Throws: `invalid_scope`.
    init(_ text: String?) throws(Refusal) {
        let names = (text ?? "").split(separator: " ").map(String.init)
        guard !names.isEmpty else { throw Refusal("invalid_scope", "There is no scope.") }
        guard Set(names).count == names.count else { throw Refusal("invalid_scope", "A scope occurs twice.") }
        // Telco Finder is no CAMARA API, and has no purposes.
        guard names != [Self.telcoFinder] else {
            self.names = names
            return
        }
        let purposes = names.filter { $0.hasPrefix("dpv:") }
        guard names.allSatisfy({ Self.known.contains($0) || $0.hasPrefix("dpv:") })
        else { throw Refusal("invalid_scope", "A scope is unknown.") }
        guard purposes.count == 1, let purpose = purposes.first,
            purpose.utf8.dropFirst(4).count > 0, purpose.dropFirst(4).allSatisfy({ $0.isASCII && $0.isLetter })
        else { throw Refusal("invalid_scope", "There must be exactly one purpose, in the form dpv:PurposeOfDPV.") }
        self.names = names
    }
}
