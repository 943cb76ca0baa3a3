import HTTPServer
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn

/// The routes of backchannel authentication (docs/approvals.md).
extension BackchannelAuthentication {
    static let path = "/auth/{provider}/backchannel"
    /// ZenKey's name for the former with its provider.
    static let carriersPath = "/auth/zenkey-async-signin"

    func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        add(Self.carriersPath, to: &router, of: api) { _ in "zenkey" }
        add(Self.path, to: &router, of: api, at: \.provider)
    }

    private func add(
        _ path: String, to router: inout Router, of api: LatchkeyAPI,
        at provider: @escaping @Sendable (Request) -> String
    ) {
        router.post(path, api.admitting(.entering) { try await start($0, $1, $2, at: provider($1)) })
        // For providers, which have no API key.
        router.post(path + "/notification") { try await receiveNotification($0, at: provider($0)) }
        let handle = path + "/{auth_req_id}"
        router.get(handle, api.admitting(.keyed) { try await poll($0, $1, $2, at: provider($1)) })
        router.post(handle, api.admitting(.entering) { try await retry($0, $1, $2, at: provider($1)) })
        router.delete(
            handle,
            api.admitting(.keyed) { _, request, admission in
                try await cancel(request.handle, at: provider(request), for: admission.caller)
                return .emptyObject
            })
    }

    private func start(
        _ api: LatchkeyAPI, _ request: Request, _ admission: Admission, at provider: String
    ) async throws -> Response {
        let signIn = try BackchannelAuthenticationParameters(
            BodyFields(request, from: admission), at: api.useCases.providers.find(withoutOperators: provider),
            random: api.useCases.environment.random)
        try admission.check(signIn.terms.clientID.text)
        return try await start(
            signIn, for: admission.caller, within: api.promptQuota(request, admission),
            notifiedAt: api.notificationEndpoint
        ).response
    }

    private func poll(
        _ api: LatchkeyAPI, _ request: Request, _ admission: Admission, at provider: String
    ) async throws -> Response {
        let handle = request.handle
        let outcome = try await poll(
            handle, at: provider, for: admission.caller, givingBackTo: api.allowance(.promptsPerCaller))
        switch outcome {
        case nil: return .json(.ok, capacity: 64) { $0.add("auth_req_id", handle.exposed) }
        case .signedIn(let signedIn):
            return signedIn.response(feature.settings.async302 ? .found : .ok) { json, _ in
                json.add("auth_req_id", handle.exposed)
            }
        case .mustRegister(let offer): throw APIError.mustRegister(offer, api.compatibility)
        }
    }

    private func retry(
        _ api: LatchkeyAPI, _ request: Request, _ admission: Admission, at provider: String
    ) async throws -> Response {
        try await retry(
            request.handle, at: provider, for: admission.caller, within: api.promptQuota(request, admission),
            notifiedAt: api.notificationEndpoint
        ).response
    }

    /// The provider's callback. The token is checked first, so that others learn nothing.
    private func receiveNotification(_ request: Request, at provider: String) async throws -> Response {
        let token: Secret
        do throws(APIError) {
            token = try request.bearerToken().secret
        } catch {
            throw APIError.notificationTokenMissing
        }
        let notifier = try await authenticate(token, at: provider, requestID: request.id)
        let notification: BackchannelNotification
        do throws(APIError) {
            let fields = try BodyFields(request)
            notification = try notifier.isPing ? .init(ping: fields) : .init(fields)
        } catch {
            await refuse(unreadable: error.description, from: notifier)
            throw error
        }
        do throws(SignInError) {
            try await receive(notification, from: notifier)
        } catch {
            guard error.code == .invalidIDToken else { throw error }
            throw APIError.notificationRefused(error)
        }
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }
}

extension LatchkeyAPI {
    /// Nil if the public URL is not configured.
    fileprivate var notificationEndpoint: EndpointURL? {
        baseURL.url.flatMap {
            EndpointURL($0 + BackchannelAuthentication.notificationPath, policy: .allowLoopbackHTTP)
        }
    }

    /// Pages without a key share an origin, so prompts count for each address.
    fileprivate func promptQuota(_ request: Request, _ admission: Admission) -> PromptQuota {
        PromptQuota(
            caller: caller(of: request, admission).hash, perUser: allowance(.promptsPerUser),
            perCaller: allowance(.promptsPerCaller))
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
