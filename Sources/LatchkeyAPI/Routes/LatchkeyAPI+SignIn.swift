import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn

/// Sign-in with a code, the nonces for it, and registration.
extension LatchkeyAPI {
    func signIn(_ request: Request, _ admission: Admission, provider: String) async throws -> Response {
        let fields = try BodyFields(request)
        var signIn =
            useCases.redirectSignIn.hasOperators(provider)
            ? try SignInRequest(operatorTokenIn: fields, provider: provider, useCases.signIn)
            : try SignInRequest(fields, provider: provider, try useCases.signIn.provider(named: provider))
        guard admission.allows(signIn.clientID.text) else { throw APIError.clientNotAllowedToSignIn }
        signIn.device = DeviceName.of(request)
        signIn.caller = admission.signInCaller
        switch try await useCases.signIn(signIn) {
        case .signedIn(let signedIn): return signedIn.response(.ok)
        case .mustRegister(let offer): throw APIError.mustRegister(offer, compatibility)
        }
    }

    /// A body is ignored.
    func issueNonce(_ request: Request) async throws -> Response {
        try await useCases.nonceIssuer.issue(provider: request.provider).response
    }

    func register(_ request: Request, _ admission: Admission) async throws -> Response {
        var form = try RegistrationForm(BodyFields(request))
        form.device = DeviceName.of(request)
        form.clients = admission.clients
        return await respond(try await useCases.registration(form), .created, to: admission, request)
    }
}
