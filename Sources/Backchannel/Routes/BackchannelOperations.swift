import HTTPTypes
package import LatchkeyAPI
import OpenIDConnect
import SignIn

extension BackchannelFeature {
    package static let operations = ofCarriers + ofProviders

    /// The same calls for any provider.
    private static let ofProviders: [APIOperation] =
        [
            APIOperation(
                .post, "/auth/{provider}/backchannel", "startBackchannelAuthentication", .backchannelAuthentication,
                .key,
                "Ask a user of a provider on their phone",
                "The provider asks the user, without a browser. Poll for the outcome. For `zenkey` the body is that of "
                    + "`POST /auth/zenkey-async-signin`.",
                body: APIOperation.Body(
                    schema: "ProviderBackchannelAuthentication",
                    example: #"{"login_hint": "jane@example.com", "binding_message": "W4SCT"}"#),
                responses: [started], refusals: ofAsking + [.otherClient, .providerUnknown])
        ]
        + ofCarriers.dropFirst().map { operation in
            operation.also(
                at: operation.path.replacing("/auth/zenkey-async-signin", with: "/auth/{provider}/backchannel"),
                operation.id.replacing("AsyncSignIn", with: "BackchannelAuthentication"), note(on: operation.id))
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
            body: APIOperation.Body(
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
            refusals: [unknown, APIRefusal(SignInError.backchannelCompleted, as: "completed")]),
        APIOperation(
            .post, "/auth/zenkey-async-signin/notification", "notifyAsyncSignIn", .backchannelAuthentication,
            .notification,
            "Report the outcome",
            "For carriers only, with the bearer token that came with the request. The first notification counts.",
            body: APIOperation.Body(
                schema: "BackchannelNotification",
                example: #"{"auth_req_id": "carrier-request-1", "error": "access_denied"}"#),
            responses: [.noContent("Accepted.")],
            refusals: [
                APIRefusal(SignInError.notificationTokenUnknown, as: "notification_token_unknown"),
                APIRefusal(
                    APIError.notificationRefused(SignInError(.failed(.signature))), as: "notification_refused"),
                .carrierError,
            ]),
    ]

    private static let handlePath = "/auth/zenkey-async-signin/{auth_req_id}"
    private static let handle = APIOperation.Parameter.path(
        "auth_req_id", .text("The handle from the start.", example: APIExample.handle))

    private static let started = APIOperation.Response.json(
        "The user is being asked.", .named("BackchannelAuthenticationStarted"),
        example: """
            {"auth_req_id": "\(APIExample.handle)", "expires_in": 300, "correlation_id": "\(APIExample.correlationID)"}
            """)

    private static let session = APIExample.tokenResponse(#", "auth_req_id": "\#(APIExample.handle)""#)

    private static let unknown = APIRefusal(SignInError.backchannelUnknown, as: "auth_req_id_unknown")
    private static let cancelled = APIRefusal(SignInError.backchannelCancelled, as: "cancelled")

    private static let ofAsking: [APIRefusal] = [.providersOwnCode, .carrierError, .carrierTimeout]

    package static let schemas = APISchema.ofBackchannel
}

extension APISchema {
    fileprivate static let ofBackchannel: KeyValuePairs<String, APISchema> = [
        "BackchannelTokenResponse": object(
            "A Latchkey session, and the handle of the backchannel authentication that it ends.",
            tokenFields + sessionFields + fields(["auth_req_id": backchannelHandle])),
        "BackchannelAuthenticationStarted": object(
            "The user is being asked.",
            [
                "auth_req_id": backchannelHandle, "expires_in": span("Time left for the user", example: 300),
                "correlation_id": correlationID,
            ],
            optional: [
                "interval": span(
                    "The time after which a poll can bring something new, where the provider is asked by polls",
                    example: 5)
            ]),
        "BackchannelAuthenticationWaiting": object(
            "The user has not answered yet: poll again after a second or more.", ["auth_req_id": backchannelHandle]),
        "BackchannelAuthentication": object(
            "The user to ask, and the purpose.", backchannelFields + networkFields,
            oneGroupOf: [["mccmnc"], ["mcc", "mnc"]]),
        "ProviderBackchannelAuthentication": object(
            "The user to ask: exactly one of the hints.", providerBackchannelFields,
            oneGroupOf: [["login_hint"], ["login_hint_token"], ["id_token_hint"]]),
        "BackchannelNotification": object(
            "The outcome of a backchannel authentication: `id_token`, or `error`.",
            fields(
                ["auth_req_id": visible("The provider's own id.", upTo: 512, example: "carrier-request-1")],
                optional: [
                    "state": text("The `state` of the request."),
                    "error": text("Why the sign-in failed.", example: "access_denied"),
                    "id_token": visible("The ID token.", upTo: 32_768),
                    "access_token": visible("For userinfo.", upTo: 8192),
                ]), oneGroupOf: [["id_token"], ["error"]]),
    ]

    private static let backchannelHandle = text(
        "The server's handle; valid for this API key only.", example: APIExample.handle)

    private static let providerBackchannelFields = fields(optional: [
        "client_id": clientID,
        "login_hint": text(
            "What the provider knows the user by, such as an email address. Also `loginHint`.",
            example: "jane@example.com"),
        "login_hint_token": visible("A token about the user, of the provider's own form.", upTo: 8192),
        "id_token_hint": visible("An ID token that the provider issued for the user.", upTo: 16_384),
        "scope": words("`openid` and further scopes; by default the client's.", upTo: 1024, example: "openid email"),
        "binding_message": text(
            "What the user compares on both devices: at most 64 letters, digits, signs and single spaces.",
            example: "W4SCT"),
        "requested_expiry": span("How long the request shall be valid, at most 3600", example: 120),
        "user_code": visible("The user's secret against unwanted prompts.", upTo: 128),
        "acr_values": acrValues, "correlation_id": correlationID,
    ])

    private static let backchannelFields = fields(
        [
            "client_id": clientID,
            "login_hint": visible(
                "The user's phone number with `+` and country code, or the provider's subject. Also `loginHint`.",
                upTo: 255,
                example: "+12025550123"),
            "scope": words("`openid` and further scopes.", upTo: 1024, example: "openid email"),
            "redirect_uri": redirectURI("One of the client's."),
        ],
        optional: [
            "acr_values": acrValues, "context": context,
            "prompt": words("`none`, or `login` and `consent`.", upTo: 64, example: "login"),
            "options": text("Passed on to the provider.", pattern: "^[ -~]*$", lengths: 0...255),
            "correlation_id": correlationID,
        ])
}
