import HTTPTypes
import OpenIDConnect
import SignIn

extension APIOperation {
    static let ofBackchannel = ofCarriers + ofProviders

    /// The same calls for any provider.
    private static let ofProviders =
        [
            APIOperation(
                .post, "/auth/{provider}/backchannel", "startBackchannelAuthentication", .backchannelAuthentication,
                .key,
                "Ask a user of a provider on their phone",
                "The provider asks the user, without a browser. Poll for the outcome. For `zenkey` the body is that of "
                    + "`POST /auth/zenkey-async-signin`.",
                parameters: [.provider],
                body: Body(
                    schema: "ProviderBackchannelAuthentication",
                    example: #"{"login_hint": "jane@example.com", "binding_message": "W4SCT"}"#),
                responses: [started], refusals: ofAsking + [.otherClient, .providerUnknown])
        ]
        + ofCarriers.dropFirst().map { operation in
            operation.also(
                at: operation.path.replacing("/auth/zenkey-async-signin", with: "/auth/{provider}/backchannel"),
                operation.id.replacing("AsyncSignIn", with: "BackchannelAuthentication"), added: [.provider],
                note(on: operation.id))
        }

    private static func note(on id: String) -> String {
        switch id {
        case "pollAsyncSignIn": "The provider is asked for the outcome when its interval has passed."
        case "retryAsyncSignIn": "For carriers only: other providers are asked by a new start."
        case "notifyAsyncSignIn":
            "A provider other than a carrier sends `auth_req_id` alone (CIBA's mode ping); other members are ignored."
        default: "At any provider."
        }
    }

    private static let ofCarriers: [APIOperation] = [
        APIOperation(
            .post, "/auth/zenkey-async-signin", "startAsyncSignIn", .backchannelAuthentication, .key,
            "Ask a user on their phone",
            "The carrier asks the user, without a browser. Poll for the outcome.",
            body: Body(
                schema: "BackchannelAuthentication",
                example: """
                    {"client_id": "ccid-example", "login_hint": "+12025550123", "scope": "openid email", \
                    "mccmnc": "310410", "redirect_uri": "com.example.app://callback"}
                    """),
            responses: [started],
            refusals: ofAsking + [.otherClient, .providerUnknown]),
        APIOperation(
            .get, handlePath, "pollAsyncSignIn", .backchannelAuthentication, .key, "Poll the outcome",
            "At most once a second. The outcome stays available for a minute after the first poll that got it.",
            parameters: [handle],
            responses: [
                .json(
                    "The session; or the handle alone while the user is being asked.",
                    .anyOf(
                        "Either.", [.named("BackchannelTokenResponse"), .named("BackchannelAuthenticationWaiting")]),
                    example: session),
                .json(
                    "The session, where `compat.async302` is set. There is no `Location`.",
                    .named("BackchannelTokenResponse"), status: .found, example: session),
            ],
            refusals: APIRefusal.ofCarriers + [
                unknown, .mustRegister, .unlinkedUser, cancelled,
                APIRefusal(SignInError.backchannelExpired),
            ]),
        APIOperation(
            .post, handlePath, "retryAsyncSignIn", .backchannelAuthentication, .key, "Ask the user again",
            "At most three times, under the same handle. A body is ignored.",
            parameters: [handle], responses: [started], refusals: ofAsking + [unknown, cancelled]),
        APIOperation(
            .delete, handlePath, "cancelAsyncSignIn", .backchannelAuthentication, .key, "Cancel it",
            "Later notifications of the carrier change nothing.", parameters: [handle], responses: [.done],
            refusals: [unknown, cancelled]),
        APIOperation(
            .post, "/auth/zenkey-async-signin/notification", "notifyAsyncSignIn", .backchannelAuthentication,
            .notification,
            "Report the outcome",
            "For carriers only, with the bearer token that came with the request. The first notification counts.",
            body: Body(
                schema: "BackchannelNotification",
                example: #"{"auth_req_id": "carrier-request-1", "error": "access_denied"}"#),
            responses: [Response(status: .noContent, description: "Accepted.")],
            refusals: [
                APIRefusal(
                    APIError.notificationRefused(SignInError(.failed(.signature))), as: "notification_refused"),
                .carrierError,
            ]),
    ]

    private static let handlePath = "/auth/zenkey-async-signin/{auth_req_id}"
    private static let handle = Parameter.path(
        "auth_req_id", .text("The handle from the start.", example: APIExample.handle))

    private static let started = Response.json(
        "The user is being asked.", .named("BackchannelAuthenticationStarted"),
        example: """
            {"auth_req_id": "\(APIExample.handle)", "expires_in": 300, "correlation_id": "\(APIExample.correlationID)"}
            """)

    private static let session = APIExample.tokenResponse(#", "auth_req_id": "\#(APIExample.handle)""#)

    private static let unknown = APIRefusal(SignInError.backchannelUnknown, as: "auth_req_id_unknown")
    private static let cancelled = APIRefusal(SignInError.backchannelCancelled, as: "cancelled")

    private static let ofAsking: [APIRefusal] = [.providersOwnCode, .carrierError, .carrierTimeout]
}
