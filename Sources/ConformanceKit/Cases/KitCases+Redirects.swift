import CarrierSimulator
import SignIn

/// Authorization responses, and what an app or browser sends.
extension KitCases {
    private static let issuerRule = "If the response names an issuer, or must, it is that of the provider."
    private static let identification = "RFC 9207 section 2.4"
    private static let stateRule = "The response belongs to the browser that began the sign-in, once."
    private static let forgery = "RFC 9700 section 4.7"

    static let redirects = responses.map { $0.excluded(\.withoutRedirects) }

    private static let responses: [KitCase] = [
        .refused(
            "response-issuer-other", .redirect, .redirect, .fault(.authorizationOtherIssuer), rule: issuerRule,
            source: identification
        ).excluded(\.withSignedResponse),
        .refused(
            "response-issuer-missing", .redirect, .redirect, .fault(.authorizationMissingIssuer), rule: issuerRule,
            source: identification
        ).excluded(\.withSignedResponse).loosened(\.ignoredIssuer),
        .discouraged(
            "response-issuer-not-announced", .redirect, .redirect,
            .fault(.authorizationMissingIssuer, saying: "The authorization response has no iss."),
            .object(.discovery, "The metadata does not announce one.") {
                $0["authorization_response_iss_parameter_supported"] = nil
            }, rule: "A client of several providers should demand the issuer of the response.",
            source: "RFC 9700 section 4.4.2"
        ).excluded(\.withSignedResponse).loosened(\.optionalIssuer),
        .refused(
            "response-state-other", .redirect, .redirect, .fault(.authorizationOtherState), rule: stateRule,
            source: forgery),
        .refused(
            "response-state-missing", .redirect, .redirect, .fault(.authorizationMissingState), rule: stateRule,
            source: forgery),
        .refused(
            "response-denied", .redirect, .redirect, .fault(.authorizationDenied),
            rule: "An error of the provider ends the sign-in.", source: "RFC 6749 section 4.1.2.1"),
        .refused("response-other-browser", .redirect, .twist(.otherBrowser), rule: stateRule, source: forgery),
        .refused("response-repeated", .redirect, .twist(.repeatedResponse), rule: stateRule, source: forgery),
        .refused(
            "response-code-of-another", .redirect, .twist(.codeOfAnother),
            rule: "A code is bound to the sign-in that requested it.", source: "RFC 9700 section 4.5"
        ).loosened(\.stateAlone),
        .refused(
            "response-nonce-other", .redirect, .redirect, .fault(.idTokenWrongNonce),
            rule: "The nonce must be that of the request.", source: validation
        ).loosened { $0.stateAlone ?? $0.withoutNonce },
        .refused(
            "start-redirect-uri-unknown", .redirect, .twist(.startAtUnregisteredURI),
            rule: "Redirect URIs are compared with the registered ones.", source: "RFC 9700 section 2.1"),
        .discouraged(
            "start-without-challenge", .redirect, .twist(.startWithoutChallenge),
            rule: "An app's own code challenge keeps another app from taking its session.",
            source: "RFC 8252 section 8.1"
        ).loosened(\.optionalChallenge),
    ]

    private static let signed: [(name: String, fault: CarrierSimulator.Fault)] = [
        ("unsigned", .jarmUnsigned), ("beside-plain-parameters", .jarmMixed), ("alg-none", .jarmAlgNone),
        ("issuer-other", .jarmOtherIssuer), ("issuer-missing", .jarmMissingIssuer),
        ("audience-other", .jarmOtherAudience), ("audience-missing", .jarmMissingAudience), ("expired", .jarmExpired),
        ("expiry-missing", .jarmMissingExpiry), ("signature-changed", .jarmBadSignature),
    ]

    /// Authorization responses as signed JWTs.
    static let signedResponses: [KitCase] = signed.map { name, fault in
        KitCase.refused(
            "signed-response-\(name)", .redirect, .redirect, .fault(fault),
            rule: "Where signed responses are registered, iss, aud, exp and the signature are checked.",
            source: "JARM section 2.4"
        ).excluded(\.withoutSignedResponse).excluded(\.withoutRedirects)
    }

    static let requests = requestsOfApps.map { $0.excluded(\.withoutAppCodes) }

    private static let requestsOfApps: [KitCase] = [
        .discouraged(
            "code-without-verifier", .request, .twist(.withoutVerifier),
            rule: "PKCE keeps a stolen code from being redeemed; it is recommended for every client.",
            source: "RFC 9700 section 2.1.1"
        ).loosened(\.optionalPKCE),
        .refused(
            "code-other-verifier", .request, .twist(.otherVerifier),
            rule: "A code is redeemed only with its code verifier.", source: "RFC 7636 section 4.6"),
        .refused(
            "code-used", .request, .twist(.usedCode), rule: "A code is used once.", source: "RFC 6749 section 4.1.2"),
        .refused(
            "code-redirect-uri-unknown", .request, .twist(.unregisteredRedirectURI),
            rule: "Redirect URIs are compared with the registered ones.", source: "RFC 9700 section 2.1"
        ).loosened(\.withoutRedirectURIs),
        .discouraged(
            "code-without-nonce", .request, .twist(.withoutNonce),
            rule: "A nonce ties the ID token to the app's session; it is optional with a code.",
            source: core + " section 15.5.2"
        ).loosened(\.clientNonce),
        .discouraged(
            "nonce-repeated", .request, .twist(.repeatedNonce), rule: "A nonce is used once.",
            source: core + " section 15.5.2"
        ).loosened(\.clientNonce),
    ]
}
