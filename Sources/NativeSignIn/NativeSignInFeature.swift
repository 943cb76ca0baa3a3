package import HTTPServer
import HTTPTypes
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn

/// What contradicts itself or is unsafe in `native_audiences`, `native_nonce` and `native_code`, which are the core's.
package struct NativeSignInSettings: FeatureSettings {
    package init() {}

    package func contradictions(in configuration: Configuration) -> [SettingNote] {
        Self.clients(in: configuration).compactMap { provider, client in
            let (rules, name) = (client.rules.native, "\(provider.path): the client \(client.id.text)")
            let found: (reason: String, remedy: String)? =
                if rules.audiences.isEmpty {
                    ("has native_nonce or native_code, but no native_audiences", "list them, or remove the others")
                } else if provider.kind == .oauth2, provider.rules.endpoints["jwks_uri"] == nil {
                    ("has native_audiences, but its provider has no jwks_uri", "give the URL of the ID tokens' keys")
                } else if rules.code == .redeem, !provider.rules.storesTokens {
                    ("has native_code: redeem, but stores no tokens", "set store_tokens to true")
                } else if rules.code == .redeem, rules.audiences != [client.id] {
                    (
                        "has native_code: redeem, but a code is good for the client alone that it was issued to",
                        "make it a client whose id is its only native_audiences"
                    )
                } else if rules.nonce != .issued,
                    let other = provider.clients.first(where: {
                        rules.audiences.contains($0.id) && !$0.redirectURIs.isEmpty
                    })
                {
                    (
                        "has native_nonce: \(rules.nonce.rawValue), but ID tokens of browser sign-ins of "
                            + "\(other.id.text) have the same audience, and would be accepted",
                        "set native_nonce to issued, or leave that audience out of native_audiences"
                    )
                } else {
                    nil
                }
            return found.map { ("providers", "\(name) \($0.reason)", $0.remedy) }
        }
    }

    package func warnings(in configuration: Configuration) -> [SettingNote] {
        Self.clients(in: configuration).filter { $1.rules.native.nonce != .issued }.map { provider, client in
            (
                "providers",
                "\(provider.path): native_nonce of the client \(client.id.text) is "
                    + "\(client.rules.native.nonce.rawValue), so that whoever finds an ID token of the app can "
                    + "sign in with it once",
                "set native_nonce to issued"
            )
        }
    }

    /// The clients that have any of the keys, with their providers.
    private static func clients(
        in configuration: Configuration
    ) -> [(provider: Configuration.Provider, client: Configuration.Client)] {
        configuration.providers.flatMap { provider in provider.nativeClients.map { (provider, $0) } }
    }
}

/// Sign-ins with ID tokens that apps get from the device or from a provider's SDK, without a browser
/// (docs/mobile-apps.md).
package struct NativeSignInFeature: Feature {
    package init(_ settings: NativeSignInSettings, in context: FeatureContext) {}

    package static let startPaths = ["/auth/{provider}/native"]

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        router.post(
            "/auth/{provider}/native",
            api.admitting(.enteringOrPage) { api, request, admission in
                let signIn = try read(
                    BodyFields(request, from: admission),
                    at: api.useCases.providers.find(withoutOperators: request.provider), of: api,
                    caller: admission.signInCaller, device: DeviceName.of(request))
                return try await api.complete(signIn, admission, request)
            })
    }

    /// Reads a sign-in.
    /// - Throws: 400 that names every missing or malformed field; `unauthorized_client` for a client without native
    ///   sign-ins.
    private func read(
        _ fields: BodyFields, at target: SignInTarget, of api: LatchkeyAPI, caller: Caller, device: String?
    ) throws -> SignInRequest {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let clientID = reader.clientID()
        let idToken = reader.visibleText(
            "id_token", ["idToken"], limit: target.relyingParty.idTokenRules.maximumBytes, required: true)
        let nonce = reader.text("nonce", limit: 512)
        let code = reader.visibleText("authorization_code", ["authorizationCode"], limit: 16 * 1024)
        guard reader.problems.isEmpty, let idToken else { throw reader.refusal(correlationID) }
        let client = try target.server.nativeClient(clientID)
        let verifier = NativeIDToken(
            code: code.map(Secret.init), rules: client.rules.native, oneTimeStore: api.useCases.oneTimeStore)
        return SignInRequest(
            provider: target.reference, clientID: client.id, code: Secret(idToken), verifiedBy: verifier,
            nonce: nonce.map(Secret.init), correlationID: correlationID,
            sentNames: reader.sentNames, caller: caller, device: device,
            unconfirmed: reader.raw("user").flatMap(UserInfo.init(beside:)))
    }
}

extension AuthorizationServer {
    /// The client of a native sign-in; without an id, the only one that has such sign-ins.
    func nativeClient(_ id: ClientID?) throws(SignInError) -> SignInConfiguration.Client {
        if let id {
            guard let client = clients[id] else { throw .unknownClient }
            guard !client.rules.native.audiences.isEmpty else { throw .noNativeSignIn }
            return client
        }
        let native = clients.values.lazy.filter { !$0.rules.native.audiences.isEmpty }
        guard let first = native.first else { throw .noNativeSignIn }
        guard native.dropFirst().isEmpty else { throw .nativeClientNotNamed }
        return first
    }
}

extension NativeSignInFeature {
    package static let operations: [APIOperation] = [
        APIOperation(
            .post, "/auth/{provider}/native", "signInNatively", .signIn, .keyOrPage,
            "Sign in with an ID token of the device",
            """
            For an app that gets an ID token without a browser: from Android's Credential Manager, Apple's \
            AuthenticationServices, or a provider's SDK. The token must be for one of the client's \
            `native_audiences`, at most ten minutes old, and have the nonce or its SHA-256 in hexadecimal digits. \
            Unless the client is configured otherwise, the nonce is one of `POST /auth/{provider}/attempts`. A token \
            signs in once: if the response is lost, get a new nonce and a new token. A page of this server's own \
            origin sends `client_type`, and gets cookies instead of tokens.
            """,
            body: APIOperation.Body(
                schema: "NativeSignIn",
                example: #"{"id_token": "eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl", "nonce": "\#(APIExample.nonce)"}"#),
            responses: [.session(.ok, "The user is signed in.")],
            refusals: [
                APIRefusal(.nativeTokenInvalid(.failed(.nonce)), as: "native_id_token_invalid"),
                APIRefusal(SignInError.nativeTokenUsed, as: "native_id_token_used"),
                APIRefusal(SignInError.noNativeSignIn, as: "no_native_sign_in"), .carrierError, .carrierTimeout,
                .mustRegister, .unlinkedUser, .otherClientAtSignIn, .providerUnknown,
            ])
    ]

    package static let schemas: KeyValuePairs<String, APISchema> = ["NativeSignIn": .ofNativeSignIn]
}

extension APISchema {
    fileprivate static let ofNativeSignIn = object(
        "A sign-in with an ID token that an app brings.",
        fields(
            ["id_token": visible("As the device or the SDK gave it. Also `idToken`.", upTo: 65_536)],
            optional: [
                "client_id": text(
                    "The client; required if several have native sign-ins. Also `clientId`.", pattern: "^[ -~]+$",
                    lengths: 1...255, example: "com.example.app"),
                "nonce": text(
                    "The nonce, also where the token has its SHA-256; required unless `native_nonce` is `none`.",
                    example: APIExample.nonce),
                "authorization_code": visible(
                    "The code that came with the token. It is redeemed if the client is configured so, and a failure "
                        + "of that does not end the sign-in. Also `authorizationCode`.", upTo: 16_384),
                "user": text(
                    "What Apple gives beside a user's first token, as text: only its name is used, and nothing "
                        + "confirms it.", example: #"{"name": {"firstName": "Ada", "lastName": "Lovelace"}}"#),
                "client_type": pageClientType, "correlation_id": correlationID,
            ]))
}
