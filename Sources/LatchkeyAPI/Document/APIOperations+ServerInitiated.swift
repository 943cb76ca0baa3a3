import HTTPTypes
import SignIn

extension APIOperation {
    static let ofBackchannel: [APIOperation] = [
        APIOperation(
            .post, "/auth/zenkey-async-signin", "startBackchannelAuthentication", .serverInitiated, .key,
            "Ask a user on their phone",
            "The carrier asks the user; nobody is sent to a browser. The outcome is there for whoever polls.",
            body: Body(
                schema: "BackchannelAuthentication",
                example: """
                    {"client_id": "ccid-example", "login_hint": "+12025550123", "scope": "openid email", \
                    "mccmnc": "310410", "redirect_uri": "com.example.app://callback"}
                    """),
            answers: [started],
            refusals: ofAsking + [.otherClient, .providerUnknown]),
        APIOperation(
            .get, handlePath, "pollBackchannelAuthentication", .serverInitiated, .key, "Ask how it stands",
            "Once a second at most. The outcome stays for a minute after the first poll that got it.",
            parameters: [handle],
            answers: [
                .json(
                    .ok, "The session; or the handle alone while the user is being asked.",
                    .anyOf(
                        "The one or the other.", [.named("TokenResponse"), .named("BackchannelAuthenticationWaiting")]),
                    example: APIExample.tokens),
                .tokens(.found, "The session, where `compat.async302` is set. There is no `Location`."),
            ],
            refusals: APIRefusal.ofCarriers + [
                unknown, .mustRegister, answered,
                APIRefusal(
                    .expired, .requestTimeout,
                    "The user did not answer in time. Retry this sign-in with POST, or start a new one."),
            ]),
        APIOperation(
            .post, handlePath, "retryBackchannelAuthentication", .serverInitiated, .key, "Ask the user again",
            "Three times at most, under the same handle. The body, if there is one, is not looked at.",
            parameters: [handle], answers: [started], refusals: ofAsking + [unknown, answered]),
        APIOperation(
            .delete, handlePath, "cancelBackchannelAuthentication", .serverInitiated, .key, "Cancel it",
            "What the carrier tells after that changes nothing.", parameters: [handle], answers: [.done],
            refusals: [unknown, answered]),
        APIOperation(
            .post, "/auth/zenkey-async-signin/notification", "notifyBackchannelAuthentication", .serverInitiated,
            .notification,
            "Tell how it ended",
            "For carriers only, with the bearer token that came with the request. The first notification counts.",
            body: Body(
                schema: "BackchannelNotification",
                example: #"{"auth_req_id": "carrier-request-1", "error": "access_denied"}"#),
            answers: [Answer(status: .noContent, description: "Taken.", headers: ["Cache-Control"])],
            refusals: [
                APIRefusal(
                    APIError(
                        .badRequest, "invalid_id_token", .unknownError,
                        "The ID token does not hold. Start again with a new authorization request.")),
                .carrierError,
            ]),
    ]

    private static let handlePath = "/auth/zenkey-async-signin/{auth_req_id}"
    private static let handle = Parameter.path(
        "auth_req_id", .text("The handle that the start was answered with.", example: APIExample.handle))

    private static let started = Answer.json(
        .ok, "The user is being asked.", .named("BackchannelAuthenticationStarted"),
        example: """
            {"auth_req_id": "\(APIExample.handle)", "expires_in": 300, "correlation_id": "\(APIExample.correlationID)"}
            """)

    private static let unknown = APIRefusal(
        .notFound, .invalidRequest, "auth_req_id is unknown, or is over. Start a new sign-in.",
        as: "auth_req_id_unknown")
    private static let answered = APIRefusal(
        .invalidRequest, .requestDenied, "This sign-in was cancelled. Start a new sign-in.", as: "cancelled")

    private static let ofAsking: [APIRefusal] = [
        APIRefusal(
            .refusedByCarrier("user_unsupported"), .discoveryStateError, "The carrier does not serve this user here.",
            as: "code_of_the_carrier", isCarriersOwn: true),
        .carrierError,
        APIRefusal(.carrierTimeout, .requestTimeout, "The carrier did not answer in time. Try again."),
    ]
}
