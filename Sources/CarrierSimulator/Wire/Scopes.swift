/// The scopes of carriers.
enum Scopes {
    /// ZenKey's names, each with the text of the consent page.
    static let known: [(name: String, meaning: String)] = [
        ("openid", "Proof that it is you"),
        ("name", "Your name"),
        ("profile", "Your name"),
        ("email", "Your e-mail address"),
        ("phone", "Your phone number"),
        ("address", "Your postal address"),
        ("birthdate", "Your date of birth"),
        ("postal_code", "Your postal code"),
        ("last_4_social", "The end of your social security number"),
        ("proofing", "Whether your carrier has checked who you are"),
        ("is_adult", "Whether you are an adult"),
        ("is_adult_18", "Whether you are 18 or older"),
        ("is_adult_21", "Whether you are 21 or older"),
        ("is_over_13", "Whether you are 13 or older"),
    ]

    static var names: [String] { known.map(\.name) }

    static func meaning(of scope: String) -> String { known.first { $0.name == scope }?.meaning ?? scope }

    /// The scopes of a space-separated list, each once.
    /// - Parameter ofOpenID: Whether only the known scopes are allowed; a provider without ID tokens allows any.
    /// - Throws: `invalid_scope` if `openid` is missing or a scope is unknown.
    static func parse(_ text: String, ofOpenID: Bool) throws(CarrierSimulator.Refusal) -> [String] {
        var scopes: [String] = []
        for scope in text.split(separator: " ").map(String.init) where !scopes.contains(scope) {
            guard !ofOpenID || names.contains(scope) else { throw .init("invalid_scope", "A scope is unknown.") }
            scopes.append(scope)
        }
        guard !ofOpenID || scopes.contains("openid") else {
            throw .init("invalid_scope", "The scope must contain openid.")
        }
        return scopes
    }
}
