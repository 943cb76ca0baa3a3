import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
package import SignIn
import StorageModel

/// An error response of a call: the rendering of an error that the server throws.
///
/// The errors are made where they are thrown, so that no text of one is here.
public struct APIRefusal: Sendable {
    /// The name of the example: the `error`, unless two statuses or texts share it.
    let name: String
    let status: HTTPResponse.Status
    let example: JSONValue
    /// The same as problem details (RFC 9457).
    let problem: JSONValue
    /// Whether `error` may also be any other code of the provider.
    let isProvidersOwn: Bool

    package init(_ error: APIError, as name: String? = nil, isProvidersOwn: Bool = false) {
        self.name = name ?? error.code
        status = error.status
        example = Self.example(error, asProblem: false)
        problem = Self.example(error, asProblem: true)
        self.isProvidersOwn = isProvidersOwn
    }

    package init(_ error: SignInError, as name: String? = nil, isProvidersOwn: Bool = false) {
        var error = APIError(error)
        error.correlationID = Self.correlationID
        self.init(error, as: name, isProvidersOwn: isProvidersOwn)
    }

    /// A provider's error, after the code was posted.
    private init(_ error: OIDCError, as name: String? = nil, isProvidersOwn: Bool = false) {
        self.init(SignInError(error, codeWasPosted: true), as: name, isProvidersOwn: isProvidersOwn)
    }

    private init(_ error: RequestError) {
        self.init(APIError(error.httpError))
    }

    private static func example(_ error: APIError, asProblem: Bool) -> JSONValue {
        let body = error.response(requestID: "k3x9ab-1f", asProblem: asProblem).body
        return (try? JSONValue(parsing: body)) ?? .null
    }

    private static let correlationID = CorrelationID(APIExample.correlationID) ?? .random(from: .system)

    /// The refusals of any request: sizes, timeouts, malformed HTTP, overload.
    static let ofAnyRequest: [APIRefusal] = [
        .invalidRequest, APIRefusal(.bodyTimeout), APIRefusal(.bodyTooLarge), APIRefusal(.requestLineTooLong),
        APIRefusal(.expectation), .rateLimited, APIRefusal(.fieldsTooLarge),
        APIRefusal(APIError(HTTPError.internalServerError)), APIRefusal(APIError.overloaded),
        APIRefusal(.unsupportedVersion),
    ]

    static let invalidRequest: APIRefusal = {
        var reader = FieldReader(.form(Query("mccmnc=31") ?? Query()))
        _ = reader.text("code", limit: 1, required: true)
        _ = reader.network()
        return APIRefusal(reader.refusal(correlationID))
    }()
    static let rateLimited = APIRefusal(
        APIError.rateLimited("address", RequestLimits.Quota(count: 60, seconds: 60), retryAfter: 1))
    static let methodNotAllowed = APIRefusal(
        APIError(HTTPError.methodNotAllowed(allowing: "DELETE, GET, HEAD, OPTIONS, PATCH")))
    static let pathUnknown = APIRefusal(APIError.nothingThere)
    static let unsupportedMediaType = APIRefusal(APIError.unsupportedMediaType)

    package static let providerUnknown = APIRefusal(.unknownProvider(among: ["zenkey"]), as: "provider_unknown")
    package static let otherClient = APIRefusal(APIError.clientNotAllowed)
    package static let otherClientAtSignIn = APIRefusal(
        SignInError.clientNotAllowed, as: "unauthorized_client_at_sign_in")
    package static let mustRegister = mustRegister(Compatibility())
    /// With `compat.android`.
    package static let unlinkedUser: APIRefusal = {
        var compatibility = Compatibility()
        compatibility.android = true
        return mustRegister(compatibility)
    }()
    package static let emailDomainBlocked = APIRefusal(SignInError.emailDomainBlocked)

    private static func mustRegister(_ compatibility: Compatibility) -> APIRefusal {
        var profile = Profile()
        (profile[.name], profile[.givenName], profile[.familyName]) = ("Jane Doe", "Jane", "Doe")
        let offer = RegistrationOffer(
            handle: Secret(APIExample.handle), profile: profile, missing: [.init(.email)], expiresIn: 600,
            correlationID: correlationID)
        return APIRefusal(APIError.mustRegister(offer, compatibility))
    }

    package static let ofCarriers: [APIRefusal] = [
        APIRefusal(OIDCError.failed(.nonce)),
        APIRefusal(OIDCError(.carrierRefused, carrierError: "invalid_grant", reason: "")),
        providersOwnCode, carrierError, carrierTimeout,
    ]
    package static let operatorUnknown = APIRefusal(SignInError.operatorUnknown)
    package static let ofOperators: [APIRefusal] =
        ofAggregators + [
            operatorUnknown, APIRefusal(SignInError.notOnMobileNetwork), APIRefusal(.simSwapped(withinHours: 72)),
            APIRefusal(SignInError.numberOfNoAccount, as: "number_of_no_account"),
            APIRefusal(SignInError.numberOfOtherAccount, as: "number_of_other_account"),
            APIRefusal(SignInError.numberNotVerified, as: "number_not_verified"),
        ]
    package static let ofAggregators: [APIRefusal] = [
        APIRefusal(.credentialInvalid("The nonce of the key-binding JWT must be that of this request", "nonce")),
        APIRefusal(.aggregatorError()),
    ]
    package static let providersOwnCode = APIRefusal(
        OIDCError(.carrierRefused, carrierError: "user_unsupported", reason: ""), as: "code_of_the_carrier",
        isProvidersOwn: true)
    package static let carrierTimeout = APIRefusal(OIDCError(.timedOut, reason: ""))
    package static let invalidAPIKey = APIRefusal(APIError.invalidAPIKey)
    private static let keyNotProved = APIRefusal(SignInError.keyNotProved)
    private static let tokenIsBound = APIRefusal(APIError.boundTokenInvalid, as: "token_is_bound")
    private static let proofRefused = APIRefusal(
        APIError.proofRefused(.keyProof("has another ath")), as: "proof_of_token_refused")
    package static let crossSite = APIRefusal(APIError.crossSiteRequest, as: "cross_site_request")
    package static let carrierError = APIRefusal(OIDCError.idTokenMissing)

    package static let ofAdministratorPages = [
        pathUnknown, invalidAPIKey,
        APIRefusal(APIError.notForAdministrators, as: "not_for_operators"),
    ]

    static func ofAccess(_ access: APIOperation.Access, _ method: HTTPRequest.Method) -> [APIRefusal] {
        switch access {
        case .open, .browser, .notification: []
        case .key: [invalidAPIKey, keyNotProved]
        case .service: [APIRefusal(APIError.invalidServiceKey, as: "invalid_api_key_of_service")]
        case .keyOrPage, .refresh: [invalidAPIKey, keyNotProved, crossSite]
        case .session, .browserSession:
            [invalidAPIKey, APIRefusal(APIError.sessionInvalid), tokenIsBound, proofRefused, otherClient]
                + (method == .get ? [] : [crossSite])
        }
    }
}
