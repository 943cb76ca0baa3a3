/// Why a step of the protocol failed. Two errors are equal when code and check are.
///
/// Its texts are safe to log and to answer: no secret, code, token, subject or claim value is ever in them.
public struct OIDCError: Error, Sendable {
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// Discovery knows no carrier for the network, or sends the user to choose one.
        case unknownNetwork = "unknown_network"
        /// Discovery answered with an error of its own, named by ``OIDCError/carrierError``.
        case discoveryRefused = "discovery_refused"
        /// The provider's metadata cannot be used or must not be trusted.
        case metadataRefused = "metadata_refused"
        /// The provider's signing keys cannot be had.
        case keysUnavailable = "keys_unavailable"
        /// The token endpoint refused the code, with ``OIDCError/carrierError``.
        case carrierRefused = "carrier_refused"
        /// The provider does not accept us as a client, or says in its metadata that it will not: our configuration is at
        /// fault, not the user.
        case clientRefused = "client_refused"
        /// The ID token, or the userinfo answer beside it, failed the check named by ``OIDCError/check``.
        case invalidIDToken = "invalid_id_token"
        /// The provider's answer is not what the protocol prescribes.
        case unusableResponse = "unusable_answer"
        case timedOut = "timed_out"
        case unreachable
        /// Too much is under way with this provider, or this process is shutting down.
        case overloaded
        /// The provider has not answered lately, and is not asked for a while.
        case suspended
    }

    public let code: Code
    /// The check that failed, when ``code`` is ``Code/invalidIDToken``.
    public let check: IDTokenCheck?
    /// The provider's error code, if it sent one that reads like one: 1 to 64 of letters, digits, `_`, `.`, `-`.
    public let carrierError: String?
    /// True if the authorization code may have been used up, so that it must not be sent again.
    public let codeMayBeSpent: Bool
    /// Seconds after which another try makes sense, if that is known.
    public let retryAfter: Int64?
    /// A sentence without values.
    public let reason: String

    public init(
        _ code: Code, check: IDTokenCheck? = nil, carrierError: String? = nil, codeMayBeSpent: Bool = false,
        retryAfter: Int64? = nil, reason: String
    ) {
        self.code = code
        self.check = check
        self.carrierError = carrierError.flatMap { Self.isErrorToken($0) ? $0 : nil }
        self.codeMayBeSpent = codeMayBeSpent
        self.retryAfter = retryAfter
        self.reason = reason
    }

    /// The failure of one check of the ID token.
    public static func failed(_ check: IDTokenCheck) -> OIDCError {
        OIDCError(.invalidIDToken, check: check, codeMayBeSpent: true, reason: check.demand)
    }

    private static func isErrorToken(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { PercentEncoding.isUnreserved($0) && $0 != UInt8(ascii: "~") }
    }
}

extension OIDCError: Equatable {
    public static func == (left: OIDCError, right: OIDCError) -> Bool {
        left.code == right.code && left.check == right.check
    }
}

extension OIDCError: CustomStringConvertible {
    public var description: String {
        var text = code.rawValue
        if let check { text += " (\(check.rawValue))" }
        if let carrierError { text += " [\(carrierError)]" }
        return text + ": " + reason
    }
}
