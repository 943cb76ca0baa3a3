import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn

/// Sign-in with a code, and the nonces for it.
extension LatchkeyAPI {
    func signIn(_ request: Request, _ admission: Admission, provider: String) throws -> ValueOrTask<Response> {
        guard !useCases.providers.hasOperators(provider) else {
            return .task { try await self.signInAtGroup(request, admission, provider: provider) }
        }
        let signIn = try SignInRequest(
            BodyFields(request, from: admission), at: try useCases.providers.find(withoutOperators: provider),
            caller: admission.signInCaller, device: DeviceName.of(request))
        guard admission.allows(signIn.clientID.text) else { throw SignInError.clientNotAllowed }
        return .task { try await self.complete(signIn, admission, request) }
    }

    /// The server may have to be looked up before the client is known.
    private func signInAtGroup(
        _ request: Request, _ admission: Admission, provider: String
    ) async throws -> Response {
        let signIn = try await groupRequest(
            BodyFields(request, from: admission), at: provider, terms: terms(of: request, admission),
            caller: admission.signInCaller, device: DeviceName.of(request))
        // The body may name another client than the administrator's.
        guard admission.allows(signIn.clientID.text) else { throw SignInError.clientNotAllowed }
        return try await complete(signIn, admission, request)
    }

    /// A sign-in at a group of servers, as the feature of its kind reads it.
    func groupRequest(
        _ fields: BodyFields, at name: String, terms: CallerTerms, caller: Caller? = nil, device: String? = nil
    ) async throws -> SignInRequest {
        let provider = try useCases.providers.find(name)
        for feature in features {
            let request = try await feature.signInRequest(
                fields, at: provider, of: self, terms: terms, caller: caller, device: device)
            if let request { return request }
        }
        throw SignInError.internalFault
    }

    private func complete(
        _ signIn: SignInRequest, _ admission: Admission, _ request: Request
    ) async throws -> Response {
        switch try await useCases.signIn(signIn) {
        case .signedIn(let signedIn): return await respond(signedIn, .ok, to: admission, request)
        case .mustRegister(let offer):
            var error = APIError.mustRegister(offer, compatibility)
            if admission.isPage, let url = baseURL.url, let pageRegistration {
                let location = url + "/?action=login&status=success"
                error.headers.append(try await pageRegistration.cookie(for: offer, endingAt: location, self))
            }
            throw error
        }
    }

    /// A body is ignored.
    func issueNonce(_ request: Request, _ admission: Admission) async throws -> Response {
        try await useCases.nonceIssuer.issue(provider: request.provider, for: terms(of: request, admission)).response
    }
}
