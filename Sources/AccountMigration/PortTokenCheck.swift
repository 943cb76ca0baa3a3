import OpenIDConnect
import Primitives

/// The checks a port token must pass before it moves an account, in the order in which they are made. The raw values
/// are stable names for logs and metrics.
enum PortTokenCheck: String, Sendable, Hashable, CaseIterable {
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
struct PortTokenError: Error, Sendable, Hashable {
    let check: PortTokenCheck
    /// The carrier that the token names as its issuer, if it is a trusted one.
    var issuer: String?
}

/// What is demanded of port tokens beside ``SigningAlgorithm/standard`` and ``IDTokenRules/clockSkewSeconds``.
package struct PortTokenRules: Sendable, Hashable {
    /// Whether `typ` must be `port_token+jwt`. Otherwise it may also be absent; such a token must have neither `exp`
    /// nor `events`, because every ID token and access token has the one, and every logout token the other.
    package var requiresType = true
    /// How long ago a port token may have been issued, in seconds, beside the clock skew: carriers issue them for 180
    /// days.
    package var maximumAgeSeconds: Int64 = 180 * 86_400
    /// The longest port token that is read, in bytes.
    package var maximumBytes = 8 * 1024
    /// How many issuers are asked for their keys during one sign-in.
    package var maximumIssuers = 4

    /// The defaults.
    package init() {}
}
