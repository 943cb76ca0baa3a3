import CarrierSimulator
import OpenIDConnect
import Primitives

extension KitCases {
    private static let discoveryCore = "OpenID Connect Discovery 1.0"
    private static let noRedirect = "Redirects to other addresses are not followed."

    static let discovery: [KitCase] = [
        .refused(
            "metadata-issuer-other", .discovery, .fault(.discoveryOtherIssuer),
            rule: "The issuer of the metadata must be the one that was asked for.",
            source: discoveryCore + " section 4.3"),
        .refused(
            "metadata-incomplete", .discovery, .fault(.discoveryMissingFields),
            rule: "token_endpoint and jwks_uri are required.", source: discoveryCore + " section 3"),
        .refused(
            "metadata-relative-urls", .discovery, .fault(.discoveryRelativeURLs),
            rule: "Endpoints are absolute URLs.", source: discoveryCore + " section 3"),
        .refused(
            "metadata-plain-http", .discovery,
            .object(.discovery, "token_endpoint is a plain http URL of another host.") {
                $0["token_endpoint"] = "http://provider.invalid/token"
            }, rule: "Requests to the token endpoint must use TLS.", source: core + " section 3.1.3"),
        .refused(
            "metadata-algorithm-none", .discovery,
            .object(.discovery, "The only algorithm of ID tokens is none.") {
                $0["id_token_signing_alg_values_supported"] = ["none"]
            }, rule: "ID tokens are signed.", source: core + " section 2"),
        .refused(
            "metadata-not-json", .discovery, .fault(.discoveryNotJSON), rule: "The metadata is a JSON object.",
            source: discoveryCore + " section 4.2"),
        .discouraged(
            "metadata-redirect", .discovery, .fault(.discoveryRedirect), rule: noRedirect,
            source: "RFC 9700 section 4.12"),
    ]

    private static let tokenResponse = "RFC 6749 section 5.1"

    static let token: [KitCase] = [
        .refused(
            "token-without-id-token", .token, .fault(.tokenMissingIDToken), rule: "id_token is required.",
            source: core + " section 3.1.3.3"),
        .refused(
            "token-without-access-token", .token, .fault(.tokenMissingAccessToken),
            rule: "access_token is required.", source: tokenResponse),
        .refused(
            "token-type-unknown", .token, .fault(.tokenWrongType),
            rule: "A token of a type that is not understood must not be used.", source: "RFC 6749 section 7.1"),
        .accepted(
            "token-type-capitals", .token, .fault(.tokenTypeUppercase), rule: "The case of token_type does not matter.",
            source: tokenResponse),
        .accepted(
            "token-without-expires-in", .token, .fault(.tokenMissingExpiresIn), rule: "expires_in is optional.",
            source: tokenResponse),
        .refused(
            "token-not-an-object", .token, .fault(.tokenNotObject), rule: "The response is a JSON object.",
            source: tokenResponse),
        .refused(
            "token-trailing-text", .token, .fault(.tokenTrailingGarbage), rule: "The response is one JSON object.",
            source: tokenResponse),
        .discouraged(
            "token-member-twice", .token, .fault(.tokenDuplicateMember),
            rule: "The names of members should be unique.", source: "RFC 8259 section 4"),
        .refused(
            "token-not-json", .token, .fault(.tokenNotJSON), rule: "The response is a JSON object.",
            source: tokenResponse),
        .refused(
            "token-error", .token, .fault(.tokenInvalidGrant), rule: "An error of the provider ends the sign-in.",
            source: "RFC 6749 section 5.2"),
        .discouraged(
            "token-redirect", .token, .fault(.tokenRedirect), rule: noRedirect, source: "RFC 9700 section 4.12"),
        .discouraged(
            "token-2-mib", .token, .fault(.tokenHuge), rule: "Input has limits.", source: "RFC 8725 section 2.3"),
        .refused(
            "token-not-bound", .token, .fault(.dpopRequired), .fault(.dpopBearer),
            rule: "If a bound token was asked for, a bearer token is refused.", source: "RFC 9449 section 5"
        ).excluded { $0.dpop == .never ? "dpop is never, and the provider demands it" : nil },
    ]

    private static let subjectRule = "The sub of the userinfo response must be exactly that of the ID token."
    private static let userInfoCore = core + " section 5.3.2"

    static let userInfo: [KitCase] = [
        .refused(
            "userinfo-subject-other", .userInfo, .fault(.userInfoWrongSubject), rule: subjectRule,
            source: userInfoCore),
        .refused(
            "userinfo-subject-missing", .userInfo, .fault(.userInfoMissingSubject), rule: subjectRule,
            source: userInfoCore
        ).excluded(\.optionalUserInfo),
        .refused(
            "userinfo-subject-array", .userInfo, .fault(.userInfoSubjectArray), rule: subjectRule,
            source: userInfoCore),
        .refused(
            "userinfo-not-json", .userInfo, .fault(.userInfoNotJSON), rule: "The response is a JSON object or a JWT.",
            source: userInfoCore
        ).excluded(\.optionalUserInfo),
        .accepted(
            "userinfo-error", .userInfo, .fault(.userInfo500),
            rule: "The ID token identifies the user. Userinfo that fails is left out.", source: userInfoCore
        ).excluded(\.requiredUserInfo),
        .discouraged(
            "userinfo-redirect", .userInfo, .fault(.userInfoRedirect), rule: noRedirect,
            source: "RFC 9700 section 4.12"
        ).excluded(\.optionalUserInfo),
    ]
}
