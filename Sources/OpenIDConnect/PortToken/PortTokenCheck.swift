/// The checks a port token must pass before it moves an account, in the order in which they are made. The raw values are
/// stable names for logs and metrics.
public enum PortTokenCheck: String, Sendable, Hashable, CaseIterable {
    /// Strict compact form, of at most the allowed size.
    case format
    /// No header extension that changes how the token is read.
    case criticalHeader = "critical_header"
    /// `typ` is `port_token+jwt`.
    case type
    /// An allowed algorithm.
    case algorithm
    /// A `kid`, which picks the key.
    case keyID = "key_id"
    /// A strict JSON object.
    case claims
    /// A URL on a trusted carrier's host.
    case issuer
    /// 1 to 255 visible ASCII characters.
    case subject
    /// Our client, and nobody else.
    case audience
    /// Not from the future, and no older than carriers give port tokens for.
    case issuedAt = "issued_at"
    /// Not over, where the token says when it ends.
    case expiry
    /// Begun, where the token says when it begins.
    case notBefore = "not_before"
    /// Not of more issuers than are asked for one sign-in.
    case issuerCount = "issuer_count"
    /// The issuer's OpenID configuration can be had and is its own.
    case metadata
    /// The issuer's keys can be had.
    case keys
    /// One of them has the token's `kid` and fits its algorithm.
    case key
    /// The signature holds.
    case signature
}

/// Why a port token moves no account. Names no subject and shows nothing of the token.
public struct PortTokenRefusal: Error, Sendable, Hashable {
    /// The check that failed.
    public let check: PortTokenCheck
    /// The carrier that is said to have issued the token, if it is one that is trusted.
    public let issuer: String?

    init(_ check: PortTokenCheck, issuer: String? = nil) {
        self.check = check
        self.issuer = issuer
    }

    /// For a check of the header, which is made of all tokens alike.
    init(header error: OIDCError) {
        self.init(error.check.flatMap { PortTokenCheck(rawValue: $0.rawValue) } ?? .format)
    }
}
