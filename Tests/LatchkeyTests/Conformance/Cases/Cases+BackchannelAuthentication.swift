import CarrierSimulator
import Primitives

/// Faults of backchannel authentication: the carrier's endpoint and its notifications.
extension ConformanceCases {
    static let backchannelAuthentication: [ConformanceCase] = [
        .ok("server-initiated", .phone),
        .configuration("server-initiated-500", .phone, .fault(.backchannel500)),
        .configuration("server-initiated-slow", .phone, .fault(.backchannelSlow)),
        .configuration("server-initiated-not-json", .phone, .fault(.backchannelNotJSON)),
        .configuration("server-initiated-redirect", .phone, .fault(.backchannelRedirect)),
        .configuration("server-initiated-missing-id", .phone, .fault(.backchannelMissingID)),
        .rejected("server-initiated-user-unsupported", "", .phone, .fault(.backchannelUserUnsupported)),
        .configuration(
            "discovery-no-server-initiated", .phone, .fault(.discoveryNoBackchannel), .elsewhere),
        .ok("notification-before-answer", .phone, .fault(.notificationBeforeResponse)),
        .ok("notification-twice", .phone, .fault(.notificationTwice), .notified(204, 204)),
        waiting("notification-wrong-token", 401, .notificationWrongToken),
        waiting("notification-other-id", 400, .notificationOtherID),
        waiting("notification-other-state", 400, .notificationOtherState),
        waiting("notification-missing-id-token", 400, .notificationMissingIDToken),
        waiting("notification-jwks-500", 503, .keys500),
        waiting("notification-userinfo-500", 503, .userInfo500),
        refused("id-token-other-auth-req-id", .idTokenOtherRequestID),
        refused("notification-id-token:other-issuer", .idTokenOtherIssuer),
        refused("notification-id-token:other-audience", .idTokenOtherAudience),
        refused("notification-id-token:expired", .idTokenExpired),
        refused("notification-id-token:wrong-nonce", .idTokenWrongNonce),
        refused("notification-id-token:bad-signature", .idTokenBadSignature),
        refused("notification-id-token:alg-none", .idTokenAlgNone),
        refused("notification-id-token:stranger", .idTokenStrangerKey),
        refused("notification-id-token:wrong-at-hash", .idTokenWrongAccessTokenHash),
        refused("notification-userinfo:wrong-subject", .userInfoWrongSubject),
    ]

    /// The notification is refused, and the sign-in stays pending.
    private static func waiting(_ id: String, _ status: Int, _ fault: CarrierSimulator.Fault) -> ConformanceCase {
        ConformanceCase(id, .waiting, [.phone, .fault(fault), .notified(status)])
    }

    /// The notification ends the sign-in, because its tokens are invalid.
    private static func refused(_ id: String, _ fault: CarrierSimulator.Fault) -> ConformanceCase {
        .rejected(id, "", .phone, .fault(fault), .notified(400))
    }
}
