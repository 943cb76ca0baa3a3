import HTTPServer
import HTTPTypes
import OpenIDConnect
package import Primitives
package import SignIn

/// Sign-in with a code, and the nonces for it.
extension LatchkeyAPI {
    func signIn(_ request: Request, _ admission: Admission, provider: String) throws -> ValueOrTask<Response> {
        let signIn = try signInRequest(
            BodyFields(request, from: admission), at: provider, terms: terms(of: request, admission),
            caller: admission.signInCaller, device: DeviceName.of(request))
        return .task { try await self.complete(try await signIn.run(), admission, request) }
    }

    /// Reads a sign-in. At once, unless it is at a group of servers: the feature of its kind reads it, and may have to
    /// look the server up.
    /// - Parameters:
    ///   - terms: Who may choose a server of a group.
    ///   - caller: Who sent it, if that is not said by a session.
    ///   - device: A name for the user's device, of a session that starts.
    /// - Throws: `not_found` for an unknown provider; 400 that names every missing or malformed field.
    package func signInRequest(
        _ fields: BodyFields, at name: String, terms: @autoclosure () -> CallerTerms, caller: Caller? = nil,
        device: String? = nil
    ) throws -> ValueOrTask<SignInRequest> {
        guard useCases.providers.hasOperators(name) else {
            let target = try useCases.providers.find(withoutOperators: name)
            return .value(try SignInRequest(fields, at: target, caller: caller, device: device))
        }
        let (provider, terms) = (try useCases.providers.find(name), terms())
        return .task {
            for feature in self.features {
                let request = try await feature.signInRequest(
                    fields, at: provider, of: self, terms: terms, caller: caller, device: device)
                if let request { return request }
            }
            throw SignInError.internalFault
        }
    }

    private func complete(
        _ signIn: SignInRequest, _ admission: Admission, _ request: Request
    ) async throws -> Response {
        // At a group, the body may name another client than the administrator's.
        guard admission.allows(signIn.clientID.text) else { throw SignInError.clientNotAllowed }
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
