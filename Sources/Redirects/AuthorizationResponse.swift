import Logging
import OpenIDConnect
import Primitives
import SignIn

/// The parameters that a browser brings back from the provider or from carrier discovery.
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
}

/// What a browser brings back: the parameters, or one JWT that has them (JARM).
enum ReceivedAuthorizationResponse: Sendable {
    case plain(AuthorizationResponse)
    /// The JWT, which is not verified yet.
    case signed(Secret, provider: String)
}

extension AuthorizationResponse {
    init(_ verified: VerifiedAuthorizationResponse, provider: String) {
        self.init(provider: provider)
        state = verified.state
        switch verified.outcome {
        case .code(let code): self.code = code
        case .error(let error): self.error = error
        }
        issuer = verified.issuer
        clientID = verified.clientID
    }
}

/// Signed authorization responses (JWT Secured Authorization Response Mode, JARM).
extension RedirectSignIn {
    /// The parameters of a response: of a verified JWT where the provider's response mode demands one, otherwise plain.
    ///
    /// A response of the other kind is refused before its `state` is looked up, so that it cannot end the sign-in that
    /// it names.
    /// - Parameter failedCheck: The check that the JWT fails.
    func opened(
        _ received: ReceivedAuthorizationResponse, _ failedCheck: inout AuthorizationResponseCheck?
    ) async throws(SignInError) -> AuthorizationResponse {
        switch received {
        case .plain(let response):
            guard !isSigned(at: response.provider) else {
                throw refusing(.responseNotSigned, of: response.provider)
            }
            return response
        case .signed(let text, let provider):
            guard isSigned(at: provider) else { throw refusing(.responseSigned, of: provider) }
            return AuthorizationResponse(try await verified(text, provider, &failedCheck), provider: provider)
        }
    }

    private func isSigned(at provider: String) -> Bool {
        environment.providers[provider]?.server?.rules.responseMode.isSigned ?? false
    }

    private func verified(
        _ text: Secret, _ provider: String, _ failedCheck: inout AuthorizationResponseCheck?
    ) async throws(SignInError) -> VerifiedAuthorizationResponse {
        let server = try environment.providers.find(ProviderReference(provider: provider)).server
        do throws(AuthorizationResponseError) {
            return try await server.relyingParty.verify(
                authorizationResponse: text, for: server.clients.mapValues(\.responseSigningAlgorithm))
        } catch {
            if case .failed(let check) = error { failedCheck = check }
            throw refusing(SignInError(error), of: provider)
        }
    }

    /// Logs a refusal. It belongs to no sign-in, because the `state` is not believed.
    private func refusing(_ error: SignInError, of provider: String) -> SignInError {
        environment.refusals.log(error, "authorization response refused", at: provider, [:], to: environment.logger)
        return error
    }
}
