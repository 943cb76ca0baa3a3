import HTTPServer
import LatchkeyAPI
import Logging
import OpenIDConnect
import Primitives
import SignIn

/// The parameters that a browser brings back from the provider or from carrier discovery, or one JWT that has them
/// (JARM).
struct AuthorizationResponse: Sendable {
    var provider: String
    var state: Secret?
    var code: Secret?
    /// From carrier discovery.
    var network: MCCMNC?
    /// From carrier discovery on a secondary device.
    var loginHintToken: String?
    var error: String?
    /// The `iss` of the response, if it has one (RFC 9207).
    var issuer: String?
    /// The client that a signed response is for; nil if the response is not signed.
    var clientID: ClientID?
    /// The JWT that has the parameters, not verified yet; they are nil then.
    var signed: Secret?
    /// The name that the provider's form has beside the code.
    var user: UserInfo?
    /// What is malformed; nil if nothing is.
    var problems: String?

    /// A form has 24 KiB at most, with the parameter's name.
    static let maximumSignedBytes = 24_000
}

/// Signed authorization responses (JWT Secured Authorization Response Mode, JARM).
extension RedirectSignIn {
    /// The parameters of a response: of a verified JWT where the provider's response mode demands one, otherwise plain.
    ///
    /// A response of the other kind is refused before its `state` is looked up, so that it cannot end the sign-in that
    /// it names.
    func opened(
        _ received: AuthorizationResponse, _ failedCheck: inout AuthorizationResponseCheck?
    ) async throws(SignInError) -> AuthorizationResponse {
        let provider = received.provider
        let mustBeSigned = environment.providers[provider]?.server?.rules.responseMode.isSigned ?? false
        guard let signed = received.signed else {
            guard !mustBeSigned else { throw refusing(.responseNotSigned, of: provider) }
            return received
        }
        guard mustBeSigned else { throw refusing(.responseSigned, of: provider) }
        let server = try environment.providers.find(ProviderReference(provider: provider)).server
        let verified: VerifiedAuthorizationResponse
        do throws(AuthorizationResponseError) {
            verified = try await server.relyingParty.verify(
                authorizationResponse: signed, for: server.clients.mapValues(\.responseSigningAlgorithm))
        } catch {
            if case .failed(let check) = error { failedCheck = check }
            throw refusing(SignInError(error), of: provider)
        }
        var response = AuthorizationResponse(provider: provider)
        response.state = verified.state
        switch verified.outcome {
        case .code(let code): response.code = code
        case .error(let error): response.error = error
        }
        response.issuer = verified.issuer
        response.clientID = verified.clientID
        return response
    }

    /// Logs a refusal. It belongs to no sign-in, because the `state` is not believed.
    private func refusing(_ error: SignInError, of provider: String) -> SignInError {
        environment.refusals.log(error, "authorization response refused", at: provider, [:], to: environment.logger)
        return error
    }
}

extension AuthorizationResponse {
    /// The parameters that a provider may send. Others are ignored (RFC 6749 section 4.1.2).
    static let names = namesOnce + ["user"]
    /// Those of which a response has each once. A repeated `user` ends no sign-in.
    private static let namesOnce = plainNames + [signedName]
    private static let plainNames = ["state", "code", "error", "iss", "mccmnc", "login_hint_token"]
    /// The parameter that has all others, as a signed JWT.
    private static let signedName = "response"
    /// The parameter that a form has which this server's page has sent again.
    static let sentAgain = "sent_again"

    /// Reads the authorization response in a browser's query or form.
    ///
    /// What is malformed besides is kept as ``problems``, so that the frontend of the sign-in is told.
    /// - Parameter query: Only parameters of ``names``.
    /// - Throws: 400 if the sign-in cannot be found by it: a parameter is repeated, `state` or the JWT is malformed, or
    ///   there are other parameters of a response beside the JWT.
    init(_ query: Query, provider: String) throws(APIError) {
        var reader = FieldReader(.form(query))
        for name in Self.namesOnce where query.repeats(name) { reader.refuse(name, "is repeated") }
        try reader.check()
        self.init(provider: provider)
        if reader.has(Self.signedName) {
            if Self.plainNames.contains(where: { reader.has($0) }) {
                reader.refuse(Self.signedName, "is beside other parameters of an authorization response")
            }
            signed = reader.visibleText(Self.signedName, limit: Self.maximumSignedBytes, required: true).map {
                Secret($0)
            }
            try reader.check()
            return
        }
        state = reader.visibleText("state", limit: 256).map { Secret($0) }
        try reader.check()
        code = reader.visibleText("code", limit: 16 * 1024, allowingSpaces: true).map { Secret($0) }
        network = reader.has("mccmnc") ? reader.network(required: false) : nil
        loginHintToken = reader.visibleText("login_hint_token", limit: 4096)
        // Too long a text is no error code that is known, as others are.
        error = reader.has("error") ? query["error"].map { String($0.prefix(256)) } : nil
        issuer = reader.text("iss", limit: 2048)
        if !reader.problems.isEmpty { problems = reader.problems.joined(separator: "; ") }
    }
}
