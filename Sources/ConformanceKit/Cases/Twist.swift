/// What the kit does wrong in the place of an app or browser.
enum Twist: Sendable {
    case none
    case withoutVerifier, otherVerifier, withoutNonce, repeatedNonce, usedCode, unregisteredRedirectURI
    case otherBrowser, repeatedResponse, codeOfAnother, startAtUnregisteredURI, startWithoutChallenge

    var flow: KitCase.Flow {
        switch self {
        case .otherBrowser, .repeatedResponse, .codeOfAnother, .startAtUnregisteredURI, .startWithoutChallenge:
            .redirect
        default: .code
        }
    }

    var summary: String {
        switch self {
        case .none: ""
        case .withoutVerifier:
            "The app posts a code without code_verifier, and the provider does not check the verifier."
        case .otherVerifier: "The app posts a code with a code_verifier that does not fit the code challenge."
        case .withoutNonce: "The app posts a code without the nonce of its authorization request."
        case .repeatedNonce: "The app posts a second code with the nonce of its first sign-in."
        case .usedCode: "The app posts a code a second time, in another sign-in."
        case .unregisteredRedirectURI: "The app posts a code with a redirect_uri that is not configured."
        case .otherBrowser: "Another browser brings the authorization response."
        case .repeatedResponse: "The browser brings the authorization response a second time."
        case .codeOfAnother: "The browser brings the code of another sign-in with its own state."
        case .startAtUnregisteredURI: "A sign-in by redirects starts with a redirect_uri that is not configured."
        case .startWithoutChallenge: "A sign-in of an app by redirects starts without code_challenge."
        }
    }
}
