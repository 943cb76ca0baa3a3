import HTTPServer
import HTTPTypes
import Primitives

/// A valid token request (RFC 6749 section 4.1.3, RFC 7636 section 4.5) of an authenticated client.
struct TokenRequest: Sendable {
    typealias Refusal = CarrierSimulator.Refusal

    let client: CarrierSimulator.Client
    let code: String
    let redirectURI: String
    /// Nil only where the carrier does not check it.
    let codeVerifier: String?

    init(_ request: Request, form: Parameters, authenticator: ClientAuthenticator) throws(Refusal) {
        client = try authenticator.client(of: request, form: form)
        try form.requireUniqueNames()
        guard form["grant_type"] == "authorization_code"
        else { throw Refusal("unsupported_grant_type", "The grant_type must be authorization_code.") }
        guard let code = form["code"] else { throw .invalidRequest("There is no code.") }
        guard let redirectURI = form["redirect_uri"] else { throw .invalidRequest("There is no redirect_uri.") }
        let verifier = form["code_verifier"]
        if authenticator.site.carrier.checksCodeVerifier {
            guard let verifier else { throw .invalidRequest("There is no code_verifier.") }
            guard (43...128).contains(verifier.utf8.count), verifier.utf8.allSatisfy(PercentEncoding.isUnreserved)
            else { throw .invalidRequest("The code_verifier is not 43 to 128 unreserved characters.") }
        }
        self.code = code
        self.redirectURI = redirectURI
        self.codeVerifier = verifier
    }

    /// Whether the code verifier matches a code challenge (RFC 7636 section 4.6).
    func matches(codeChallenge: String) -> Bool {
        codeVerifier.map(Digest.codeChallenge) == codeChallenge
    }
}
