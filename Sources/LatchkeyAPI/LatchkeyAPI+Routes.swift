import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import Storage

/// What the routes do: read the request, ask the use case, write the answer.
extension LatchkeyAPI {
    func signIn(_ request: Request, _ admission: Admission, provider: String) async throws -> Response {
        let kind = try useCases.signIn.kind(ofProvider: provider)
        var signIn = try SignInRequest(BodyFields(request), provider: provider, kind: kind)
        try admission.check(signIn.clientID.text)
        signIn.device = DeviceName.of(request)
        switch try await useCases.signIn(signIn) {
        case .signedIn(let signedIn): return signedIn.response(.ok)
        case .mustRegister(let offer): throw APIError.mustRegister(offer)
        }
    }

    /// The body, if there is one, is not looked at.
    func issueAttempt(_ request: Request) async throws -> Response {
        try await useCases.attempts.issue(provider: request.parameters["provider"] ?? "").response
    }

    func register(_ request: Request, _ admission: Admission) async throws -> Response {
        var form = try RegistrationForm(BodyFields(request))
        form.device = DeviceName.of(request)
        form.clients = admission.clients
        return await hand(try await useCases.registration(form), .created, to: admission, request)
    }

    func showUser(_ request: Request) async throws -> Response {
        try await holder(of: request).user.response
    }

    /// The session that a request shows.
    func holder(of request: Request) async throws -> SessionAndUser {
        guard let found = try await useCases.sessions.authenticate(sessionToken(of: request)) else {
            throw APIError.sessionInvalid
        }
        return found
    }

    func eraseUser(_ request: Request) async throws -> Response {
        try await useCases.sessions.eraseUser(
            holding: sessionToken(of: request), requestID: request.id)
        return withoutSession(.emptyObject, request)
    }

    func refresh(_ request: Request, _ admission: Admission) async throws -> Response {
        guard !admission.isPage else { return try await refreshPage(request, admission) }
        var refresh = try RefreshRequest(BodyFields(request), caller: admission.caller())
        refresh.clients = admission.clients
        return try await useCases.refresh(refresh).response(.ok)
    }

    func signOut(_ request: Request) async throws -> Response {
        guard !isPage(request) else { return try await signOutPage(request) }
        try await useCases.sessions.signOut(sessionToken(of: request))
        return withoutSession(.emptyObject, request)
    }
}
