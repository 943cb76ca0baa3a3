/// Whom an issuer says somebody is. Never the subject alone (OpenID Connect Core 1.0 section 5.7), never an e-mail
/// address.
public struct Identity: Sendable, Hashable {
    public let issuer: String
    public let subject: String

    public init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }
}

extension Identity: CustomStringConvertible {
    /// Without the subject, which stands in no log.
    public var description: String { "‹subject of \(issuer)›" }
}
