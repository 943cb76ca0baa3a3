public import Primitives

/// A carrier's answer to a ``BackchannelAuthenticationRequest`` that it took on.
public struct BackchannelAuthenticationResponse: Sendable, Hashable {
    /// The carrier's name for the request: `auth_req_id`.
    public let requestID: Secret
    /// Seconds within which the user may approve: 1 to ``longestLifetime``.
    public let expiresIn: Int64

    /// Where a carrier names a longer time, or none.
    public static let longestLifetime: Int64 = 3600
    public static let usualLifetime: Int64 = 300

    /// - Throws: ``OIDCError/Code/carrierRefused`` or ``OIDCError/Code/clientRefused`` with the carrier's error code;
    ///   ``OIDCError/Code/unusableResponse``.
    init(_ response: OutboundResponse, limits: OutboundLimits) throws(OIDCError) {
        guard let object = ProviderResponse.object(response, maximumBytes: limits.tokenBytes) else {
            throw Self.unusable("did not answer with a JSON object")
        }
        if response.status != 200 || (object["auth_req_id"] == nil && object["error"] != nil) {
            throw Self.refusal(object, status: response.status)
        }
        guard let id = object["auth_req_id"]?.string, (1...512).contains(id.utf8.count),
            id.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw Self.unusable("answered without an auth_req_id") }
        requestID = Secret(id)
        expiresIn = try Self.lifetime(object["expires_in"])
    }

    /// A number, or one in a text as some carriers write it.
    private static func lifetime(_ value: JSONValue?) throws(OIDCError) -> Int64 {
        let seconds: Int64?
        switch value {
        case nil, .null: return usualLifetime
        case .string(let text): seconds = text.utf8.allSatisfy { (48...57).contains($0) } ? Int64(text) : nil
        case .some(let number): seconds = number.integer
        }
        guard let seconds, seconds > 0 else { throw unusable("answered with an expires_in that is no time") }
        return min(seconds, longestLifetime)
    }

    private static func refusal(_ object: JSONObject, status: Int) -> OIDCError {
        guard let code = object["error"]?.string, (200...499).contains(status) else {
            return unusable("answered with neither an auth_req_id nor a proper error")
        }
        guard !ProviderResponse.concernsClient(code) else {
            return OIDCError(
                .clientRefused, carrierError: code,
                reason: "The server-initiated endpoint does not accept this client: check its id, key and registration."
            )
        }
        return OIDCError(
            .carrierRefused, carrierError: code, reason: "The server-initiated endpoint refused the request.")
    }

    private static func unusable(_ fault: String) -> OIDCError {
        OIDCError(.unusableResponse, reason: "The server-initiated endpoint \(fault).")
    }
}
