public import Primitives

/// A provider's response to a ``BackchannelAuthenticationRequest`` that it accepted (CIBA Core section 7.3), or to a
/// ``ServerInitiatedAuthorizationRequest``.
public struct BackchannelAuthenticationResponse: Sendable, Hashable {
    /// The provider's id of the request: `auth_req_id`.
    public let requestID: Secret
    /// Seconds within which the user may approve: 1 to ``longestLifetime``.
    public let expiresIn: Int64
    /// Seconds that must be between two polls: 1 to ``longestLifetime``.
    public let interval: Int64

    /// The upper bound of ``expiresIn`` and ``interval``, in seconds.
    public static let longestLifetime: Int64 = 3600
    /// ``expiresIn`` if a provider names no time, in seconds.
    public static let usualLifetime: Int64 = 300
    /// ``interval`` if the provider names none, in seconds.
    public static let usualInterval: Int64 = 5

    /// - Parameter mayLackLifetime: Whether `expires_in` may be missing, which CIBA demands and ZenKey's carriers leave
    ///   out.
    /// - Throws: ``OIDCError/Code/carrierRefused`` or ``OIDCError/Code/clientRefused`` with the provider's error code;
    ///   ``OIDCError/Code/unusableResponse``.
    init(
        _ response: OutboundResponse, limits: OutboundLimits, mayLackLifetime: Bool = false
    ) throws(OIDCError) {
        guard let object = ProviderResponse.object(response, upTo: \.tokenBytes, of: limits) else {
            throw Self.unusable("is not a JSON object")
        }
        guard response.status == 200 else { throw Self.refusal(object, status: response.status) }
        // RFC 6749 section 3.1: an empty parameter counts as omitted.
        if let error = object["error"], !error.isNull, error != .string("") {
            guard object["auth_req_id"] == nil else {
                throw Self.unusable("has both an error and an auth_req_id", carrierError: error.string)
            }
            throw Self.refusal(object, status: 200)
        }
        guard let id = object["auth_req_id"]?.string, id.isVisibleASCII(upTo: 512) else {
            throw Self.unusable("has no auth_req_id of 1 to 512 visible ASCII characters")
        }
        requestID = Secret(id)
        expiresIn = try Self.lifetime(object["expires_in"], mayBeMissing: mayLackLifetime)
        // An interval of 0 is one of a second, so that polls have a pace.
        let seconds = try ProviderResponse.seconds(
            object["interval"], otherwise: Self.unusable("has an interval that is not a number of seconds"))
        interval = min(max(seconds ?? Self.usualInterval, 1), Self.longestLifetime)
    }

    private static func lifetime(_ value: JSONValue?, mayBeMissing: Bool) throws(OIDCError) -> Int64 {
        let fault = unusable("has an expires_in that is not a number of seconds")
        guard let seconds = try ProviderResponse.seconds(value, otherwise: fault) else {
            guard mayBeMissing else { throw unusable("has no expires_in") }
            return usualLifetime
        }
        guard seconds > 0 else { throw fault }
        return min(seconds, longestLifetime)
    }

    private static func refusal(_ object: JSONObject, status: Int) -> OIDCError {
        ProviderResponse.refusal(
            object, status: status, in: 200...499, by: "backchannel authentication endpoint", credential: "key")
            ?? unusable("has neither an auth_req_id nor an error", carrierError: object["error"]?.string)
    }

    private static func unusable(_ fault: String, carrierError: String? = nil) -> OIDCError {
        OIDCError(
            .unusableResponse, carrierError: carrierError,
            reason: "The response of the backchannel authentication endpoint \(fault).")
    }
}

/// The token endpoint's response to a poll (CIBA Core section 11).
public enum BackchannelTokenResponse: Sendable, Hashable {
    /// The user approved.
    case tokens(TokenResponse)
    /// The user has not decided yet (`authorization_pending`).
    case pending
    /// As ``pending``; and from now on the interval is at least ``slowDownSeconds`` longer (`slow_down`).
    case slowDown

    /// By how many seconds a ``slowDown`` lengthens the interval.
    public static let slowDownSeconds: Int64 = 5

    /// Whether an error of a poll means that the user has not decided; nil for every other error.
    init?(_ error: OIDCError) {
        guard error.code == .carrierRefused else { return nil }
        switch error.carrierError {
        case "authorization_pending": self = .pending
        case "slow_down": self = .slowDown
        default: return nil
        }
    }
}
