import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn

/// Backchannel authentication (docs/approvals.md).
extension LatchkeyAPI {
    private var notificationEndpoint: EndpointURL? {
        baseURL.url.flatMap {
            EndpointURL($0 + BackchannelAuthentication.notificationPath, policy: .allowLoopbackHTTP)
        }
    }

    /// Pages without a key share an origin, so prompts count for each address.
    private func quota(_ request: Request, _ admission: Admission) -> PromptQuota {
        var caller = admission.caller
        if case .origin = admission.ground, let address = rates.proxies.client(of: request) {
            caller = Caller(address: address.network)
        }
        return PromptQuota(of: caller, perUser: rates.promptsPerUser, perCaller: rates.promptsPerCaller)
    }

    func startBackchannelAuthentication(
        _ request: Request, _ admission: Admission, at provider: String
    ) async throws -> Response {
        let signIn = try BackchannelAuthenticationParameters(
            BodyFields(request, from: admission), at: useCases.providers.find(withoutOperators: provider))
        try admission.check(signIn.clientID.text)
        return try await useCases.backchannelAuthentication.start(
            signIn, for: admission.caller, within: quota(request, admission), notifiedAt: notificationEndpoint
        ).response
    }

    func pollBackchannelAuthentication(
        _ request: Request, _ admission: Admission, at provider: String
    ) async throws -> Response {
        let handle = request.handle
        let progress = try await useCases.backchannelAuthentication.poll(
            handle, at: provider, for: admission.caller, givingBackTo: rates.promptsPerCaller)
        switch progress {
        case .pending:
            return .json(.ok, capacity: 64) { json in
                json.add("auth_req_id", handle.exposed)
            }
        case .ended(.signedIn(let signedIn)):
            return signedIn.response(compatibility.async302 ? .found : .ok, authRequestID: handle)
        case .ended(.mustRegister(let offer)): throw APIError.mustRegister(offer, compatibility)
        }
    }

    func retryBackchannelAuthentication(
        _ request: Request, _ admission: Admission, at provider: String
    ) async throws -> Response {
        try await useCases.backchannelAuthentication.retry(
            request.handle, at: provider, for: admission.caller, within: quota(request, admission),
            notifiedAt: notificationEndpoint
        ).response
    }

    func cancelBackchannelAuthentication(
        _ request: Request, _ admission: Admission, at provider: String
    ) async throws -> Response {
        try await useCases.backchannelAuthentication.cancel(request.handle, at: provider, for: admission.caller)
        return .emptyObject
    }

    /// The provider's callback. The token is checked first, so that others learn nothing.
    func receiveNotification(_ request: Request, at provider: String) async throws -> Response {
        let token: Secret
        do throws(APIError) {
            token = try request.bearerToken().secret
        } catch {
            throw APIError.notificationTokenMissing
        }
        let notifier = try await useCases.backchannelAuthentication.authenticate(
            token, at: provider, requestID: request.id)
        let notification: BackchannelNotification
        do throws(APIError) {
            let fields = try BodyFields(request)
            notification = try notifier.isPing ? .init(ping: fields) : .init(fields)
        } catch {
            await useCases.backchannelAuthentication.refuse(unreadable: error.description, from: notifier)
            throw error
        }
        do throws(SignInError) {
            try await useCases.backchannelAuthentication.receive(notification, from: notifier)
        } catch {
            guard error.code == .invalidIDToken else { throw error }
            throw APIError.notificationRefused(error)
        }
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }
}

extension Request { fileprivate var handle: Secret { Secret(parameters["auth_req_id"] ?? "") } }

extension BackchannelAuthenticationStarted {
    fileprivate var response: Response {
        return .json(.ok, capacity: 160) { json in
            json.add("auth_req_id", handle.exposed)
            json.add("expires_in", expiresIn)
            if let interval { json.add("interval", interval) }
            json.add("correlation_id", correlationID.text)
        }
    }
}

extension APIError {
    /// 400: the ID token is invalid, not the provider's credentials.
    static func notificationRefused(_ error: SignInError) -> APIError {
        APIError(.badRequest, error.codeText, error.errorType, error.description)
    }

    fileprivate static let notificationTokenMissing = APIError(
        .unauthorized, "invalid_token", .invalidRequest,
        "The notification token is missing or malformed. Send Authorization: Bearer and the token of the request.",
        headers: [.wwwAuthenticate: "Bearer"])
}
