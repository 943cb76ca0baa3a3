package import HTTPServer
import HTTPTypes
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
import Logging
package import Observability
import OpenIDConnect
import OutboundHTTP
import Primitives
import SignIn
import Storage
import StorageModel
import Synchronization

/// Security events that providers send of their users (docs/security-events.md): pushed (RFC 8935), or polled (RFC
/// 8936).
package final class SecurityEventsFeature: Feature {
    private struct State {
        /// From ``attach(to:)`` on.
        var pollers: [EventPoller] = []
        /// From the start to the shutdown.
        var polling: [Task<Void, Never>] = []
    }

    private let store: SQLStore
    private let providers: [Configuration.Provider]
    private let counts = EventCounts()
    /// Nil if no provider is polled.
    private let client: OutboundHTTPClient?
    private let state = Mutex(State())

    package init(_ settings: SecurityEventSettings, in context: FeatureContext) throws {
        store = context.store
        providers = context.configuration.providers.filter { $0.events.transmitter != .off }
        let polls = providers.contains { $0.events.pollEndpoint != nil }
        client = polls ? try LatchkeyService.makeClient(context.configuration.outboundHTTP) : nil
    }

    package static var kinds: ProviderKinds? { ProviderDraft.eventKinds }

    package static func note(
        at provider: Configuration.Provider, in configuration: Configuration
    ) -> String? {
        let events = provider.events
        guard events.transmitter != .off else { return nil }
        if let endpoint = events.pollEndpoint { return "security events are polled at \(endpoint.text)" }
        let base = BaseURL(configuration.publicURL?.text).url ?? "{public_url}"
        return "security events are accepted at \(base)/events/\(provider.path), if the provider knows this address"
    }

    package static func metrics(of feature: SecurityEventsFeature?) -> [any Metric] {
        (feature?.counts ?? EventCounts()).metrics
    }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        let push = EventPush(receiver: receiver(with: api.useCases))
        // A provider has no API key: the signature of its event authenticates it.
        router.post(EventPush.path) { request in
            // A signature is the dearest thing that a stranger can have checked here.
            try api.countSignIn(of: request)
            return try await push.take(request)
        }
    }

    private func receiver(with useCases: UseCases) -> EventReceiver {
        EventReceiver(providers, with: useCases, store: store, counts: counts)
    }

    package func attach(to service: LatchkeyService) {
        guard let client else { return }
        let receiver = receiver(with: service.useCases)
        let pollers = receiver.sources.values.compactMap { EventPoller($0, through: client, receiver) }
        state.withLock { $0.pollers = pollers }
    }

    package func start() {
        state.withLock { state in
            state.polling = state.pollers.map { poller in Task { await poller.run() } }
        }
    }

    package func shutdown() async {
        let polling = state.withLock { $0.polling }
        for task in polling { task.cancel() }
        await client?.shutdown()
        for task in polling { await task.value }
    }

    package static let operations: [APIOperation] = [
        APIOperation(
            .post, EventPush.path, "receiveEvent", .sessions, .open, "Receive a security event",
            """
            For OpenID providers (RFC 8935). The token's signature authenticates the sender. What its events lead to \
            is committed before the response; 202 also if they are unknown, or were received before. Apple's form is \
            JSON, `{"payload": "…"}`, and the response to it is 200.
            """,
            body: APIOperation.Body(
                schema: "SecurityEventToken", example: #""\#(APIExample.jwt)""#, as: EventPush.contentType),
            responses: [
                .noContent("Received.", status: .accepted), .done,
                .json(
                    "The token is refused, or the request is malformed.",
                    .anyOf("The latter before the token is read.", [.named("EventRefusal"), .named("Error")]),
                    status: .badRequest,
                    example:
                        #"{"err": "invalid_audience", "description": "\#(EventTokenCheck.audience.demand) (audience)"}"#
                ),
            ],
            refusals: [.providerUnknown, .carrierError, .carrierTimeout])
    ]

    package static let schemas: KeyValuePairs<String, APISchema> = [
        "SecurityEventToken": .visible("A JWT (RFC 8417).", upTo: EventTokenRules.maximumBytes),
        "EventRefusal": .object(
            "RFC 8935 section 2.3.",
            [
                "err": .text(
                    "A code of RFC 8935 section 2.4.",
                    choices: [
                        "invalid_request", "invalid_key", "invalid_issuer", "invalid_audience",
                        "authentication_failed", "access_denied",
                    ]), "description": .text("What is wrong."),
            ]),
    ]
}

/// `POST /events/{provider}`.
struct EventPush: Sendable {
    static let path = "/events/{provider}"
    static let contentType = "application/secevent+jwt"

    let receiver: EventReceiver

    func take(_ request: Request) async throws -> Response {
        guard let source = receiver.sources[request.provider] else {
            throw SignInError.unknownProvider(in: receiver.environment.providers)
        }
        guard source.settings.pollEndpoint == nil else {
            receiver.counts.count(.polled)
            return Self.refusal("access_denied", "The events of this provider are polled.")
        }
        if let expected = source.settings.authorization {
            guard request.headers[.authorization]?.hasSameBytesInConstantTime(as: expected.exposed) == true else {
                let reason = "Authorization is missing or wrong."
                receiver.counts.count(.authorization)
                receiver.noteRefusal(.info, "authorization", reason, from: source, request.id)
                return Self.refusal("authentication_failed", reason)
            }
        }
        let isApple = source.settings.transmitter == .apple
        let expected = isApple ? "application/json" : Self.contentType
        guard request.headers[.contentType].flatMap(MediaTypeText.essence) == expected else {
            throw APIError.unsupportedMediaType
        }
        let text =
            isApple
            ? JSONObject(claims: request.body)?["payload"]?.string : String(decoding: request.body, as: UTF8.self)
        do throws(EventRefusal) {
            // A text that is no token is refused by its form.
            try await receiver.receive(Secret(text ?? ""), from: source, requestID: request.id)
        } catch {
            switch error {
            case .failed(let check): return Self.refusal(check.code, "\(check.demand) (\(check.rawValue))")
            case .unavailable(let error): throw error
            }
        }
        // Apple sends again what is not answered with 200.
        return isApple ? .emptyObject : Response(status: .accepted, headers: [.cacheControl: "no-store"])
    }

    /// RFC 8935 section 2.3.
    private static func refusal(_ code: String, _ description: String) -> Response {
        var response = Response.json(.badRequest, capacity: 256) { json in
            json.add("err", code)
            json.add("description", description)
        }
        response.headers[.contentLanguage] = "en"
        return response
    }
}
