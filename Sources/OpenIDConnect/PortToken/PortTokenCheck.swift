/// The checks a port token must pass before it moves an account, in the order in which they are made. The raw values
/// are stable names for logs and metrics.
public enum PortTokenCheck: String, Sendable, Hashable, CaseIterable {
    /// Strict compact form, of at most the allowed size.
    case format
    /// No header extension that changes how the token is read.
    case criticalHeader = "critical_header"
    /// `typ` is `port_token+jwt`, or absent if ``PortTokenRules/requiresType`` is off.
    case type
    /// An allowed algorithm.
    case algorithm
    /// A `kid`, which selects the key.
    case keyID = "key_id"
    /// A strict JSON object.
    case claims
    /// A URL on a trusted carrier's host.
    case issuer
    /// 1 to 255 visible ASCII characters.
    case subject
    /// Our client alone.
    case audience
    /// Not in the future, and not older than carriers' port tokens can be.
    case issuedAt = "issued_at"
    /// Not over, if the token has an `exp`.
    case expiry
    /// Begun, if the token has an `nbf`.
    case notBefore = "not_before"
    /// Not of more issuers than are asked for one sign-in.
    case issuerCount = "issuer_count"
    /// The issuer's OpenID configuration is available and names the issuer.
    case metadata
    /// The issuer's keys are available.
    case keys
    /// One of them has the token's `kid` and fits its algorithm.
    case key
    /// The signature verifies.
    case signature
}

/// Why a port token moves no account. Names no subject and shows nothing of the token.
public struct PortTokenRefusal: Error, Sendable, Hashable {
    /// The check that failed.
    public let check: PortTokenCheck
    /// The carrier that the token names as its issuer, if it is a trusted one.
    public let issuer: String?

    init(_ check: PortTokenCheck, issuer: String? = nil) {
        self.check = check
        self.issuer = issuer
    }

    /// For a check of the header, which all kinds of token have in common.
    init(header error: OIDCError) {
        self.init(error.check.flatMap { PortTokenCheck(rawValue: $0.rawValue) } ?? .format)
    }
}
