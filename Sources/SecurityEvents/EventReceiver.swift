import LatchkeyConfiguration
import Logging
import Observability
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import Synchronization

/// Why an event token has no effect.
enum EventRefusal: Error, Sendable {
    /// It is invalid; the same token is refused again.
    case failed(EventTokenCheck)
    /// It cannot be verified or stored now.
    case unavailable(SignInError)
}

/// A provider whose events are received.
///
/// A class, because it has the limit of fetches of its keys.
final class EventSource: Sendable {
    let name: String
    let settings: EventRules
    let rules: EventTokenRules
    private let server: AuthorizationServer
    /// Limits the fetches of newer keys on behalf of event tokens: anyone can send one.
    private let keyFetches: Mutex<(limit: TokenBucket, lastFailed: Bool)>

    /// Nil for a provider without events, or of another kind than OpenID providers.
    init?(_ provider: Configuration.Provider, _ known: Provider?, now: Timestamp) {
        let settings = provider.events
        guard settings.transmitter != .off, case .openID(let server) = known?.kind, !server.clients.isEmpty else {
            return nil
        }
        name = provider.id
        self.settings = settings
        self.server = server
        var times = server.relyingParty.idTokenRules
        times.maximumAgeSeconds = settings.maximumAge.components.seconds
        rules = EventTokenRules(
            transmitter: settings.transmitter,
            issuers: EventIssuers(
                events: provider.eventIssuer, identities: provider.issuer.text, relyingParty: server.relyingParty),
            audiences: Set((server.clients.keys + settings.audiences).map(\.text)),
            algorithms: server.clients.values.reduce(into: []) { $0.formUnion($1.signingAlgorithms) }, times: times)
        keyFetches = Mutex((TokenBucket(capacity: 1, secondsPerToken: 60, now: now), false))
    }

    /// Checks a signature with the provider's keys, which are fetched if they are not cached; once a minute at most
    /// after a signature that does not verify.
    func checkSignature(of token: UnverifiedEventToken, now: Timestamp) async throws(EventRefusal) {
        let cache: KeyCache
        let held: KeyCache.Snapshot
        do throws(OIDCError) {
            guard let client = server.clients.keys.first else { throw OIDCError.failed(.audience) }
            cache = try await server.relyingParty.keys(at: settings.jwksURI, clientID: client)
            held = try await cache.current()
        } catch {
            throw .unavailable(SignInError(error))
        }
        do throws(EventTokenError) {
            try token.checkSignature(held.keys)
        } catch {
            let (mayFetch, lastFailed) = keyFetches.withLock { ($0.limit.take(now: now), $0.lastFailed) }
            let newer = mayFetch ? await cache.newer(than: held) : nil
            if mayFetch { keyFetches.withLock { $0.lastFailed = newer == nil } }
            guard let newer else {
                // The key may be a new one. A provider sends no event again that is refused as forged.
                guard mayFetch || lastFailed else { throw .failed(error.check) }
                throw .unavailable(SignInError(OIDCError(.keysUnavailable, reason: "No newer keys can be fetched.")))
            }
            do throws(EventTokenError) {
                try token.checkSignature(newer.keys)
            } catch {
                throw .failed(error.check)
            }
        }
    }
}

/// Receives security events of providers: verifies them, and does what the configuration says.
final class EventReceiver: Sendable {
    let environment: Environment
    let sources: [String: EventSource]
    let counts: EventCounts
    private let sessions: Sessions
    let store: SQLStore

    init(
        _ providers: [Configuration.Provider], with useCases: UseCases, store: SQLStore, counts: EventCounts
    ) {
        environment = useCases.environment
        sessions = useCases.sessions
        self.store = store
        self.counts = counts
        let now = environment.clock.now()
        let sources = providers.compactMap { EventSource($0, useCases.providers[$0.id], now: now) }
        self.sources = Dictionary(sources.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Takes an event token. When it returns, what the token leads to is committed. It is no error if the token was
    /// taken before, or if its events or users are not known.
    func receive(_ text: Secret, from source: EventSource, requestID: String?) async throws(EventRefusal) {
        do throws(EventRefusal) {
            let now = environment.clock.now()
            let token: UnverifiedEventToken
            do throws(EventTokenError) {
                token = try UnverifiedEventToken(text, source.rules, now: now)
            } catch {
                throw .failed(error.check)
            }
            try await source.checkSignature(of: token, now: now)
            do throws(SignInError) {
                try await act(on: token, from: source, requestID)
            } catch {
                throw .unavailable(error)
            }
        } catch {
            note(error, from: source, requestID)
            throw error
        }
    }

    /// Counts a refusal, and logs it. Anyone can cause one, so that the lines are sampled.
    func note(_ refusal: EventRefusal, from source: EventSource, _ requestID: String?) {
        counts.count(refusal)
        let (level, check, reason): (Logger.Level, String, String) =
            switch refusal {
            case .failed(let check): (.info, check.rawValue, check.demand)
            case .unavailable(let error): (.warning, error.codeText, error.description)
            }
        noteRefusal(level, check, reason, from: source, requestID)
    }

    func noteRefusal(
        _ level: Logger.Level, _ check: String, _ reason: String, from source: EventSource, _ requestID: String?
    ) {
        let message: Logger.Message = "security event refused"
        let kind = "\(message) \(source.name) \(check)"
        environment.refusals.log(level, message, of: kind, to: environment.logger) {
            var metadata: Logger.Metadata = [
                "provider": "\(source.name)", "check": "\(check)", "reason": "\(reason)",
            ]
            if let requestID { metadata["request_id"] = "\(requestID)" }
            return metadata
        }
    }

    private func act(
        on token: UnverifiedEventToken, from source: EventSource, _ requestID: String?
    ) async throws(SignInError) {
        var changes: [EventChange] = []
        for event in token.events {
            switch event.kind {
            case .ofUser(let name, let subject):
                let action = source.settings.action(of: name)
                if action == .ignore {
                    counts.count(name, .ignored)
                } else if case .identity(let identity) = subject {
                    changes.append(EventChange(event: name, action: action, identity: identity))
                } else {
                    counts.count(name, .unknownSubject)
                }
            case .verification(let state):
                counts.count(nil, .recorded)
                log("security event stream verified", .info, source, requestID, ["state": state])
            case .streamUpdated(let status):
                counts.count(nil, .recorded)
                log("security event stream updated", .notice, source, requestID, ["status": status])
            case .unknown: counts.count(nil, .ignored)
            }
        }
        guard !changes.isEmpty else { return }
        let origin = EventOrigin(
            provider: source.name, issuer: token.issuer, tokenID: token.id, keptUntil: token.refusedFrom,
            requestID: requestID)
        let effects = try await mappingStoreErrors(
            await store.apply(changes, of: origin, at: environment.clock.now()))
        guard let effects else { return changes.forEach { counts.count($0.event, .repeated) } }
        var ended: [UserID: Int] = [:]
        for (change, effect) in zip(changes, effects) {
            guard let effect else {
                counts.count(change.event, .unknownSubject)
                continue
            }
            counts.count(change.event, EventCounts.Outcome(change.action))
            if change.action.endsSessions { ended[effect.user, default: 0] += effect.sessions }
            log(
                "security event", .info, source, requestID,
                [
                    "event": change.event.rawValue, "action": change.action.rawValue, "sessions": "\(effect.sessions)",
                ])
        }
        if !ended.isEmpty { sessions.noteEnded(byProvider: ended) }
    }

    private func log(
        _ message: Logger.Message, _ level: Logger.Level, _ source: EventSource, _ requestID: String?,
        _ details: [String: String?]
    ) {
        var metadata: Logger.Metadata = ["provider": "\(source.name)"]
        if let requestID { metadata["request_id"] = "\(requestID)" }
        for (name, value) in details { if let value { metadata[name] = "\(value)" } }
        environment.logger.log(level: level, message, metadata: metadata)
    }
}

/// The metrics of events.
final class EventCounts: Sendable {
    /// What became of an event of a valid token.
    enum Outcome: String, Sendable, CaseIterable {
        case ignored, recorded
        case endedSessions = "ended_sessions"
        case forgotTokens = "forgot_tokens"
        case endedAccess = "ended_access"
        case unknownSubject = "unknown_subject"
        case repeated

        init(_ action: EventAction) {
            self =
                switch action {
                case .ignore: .ignored
                case .record: .recorded
                case .endSessions: .endedSessions
                case .forgetTokens: .forgotTokens
                case .endAccess: .endedAccess
                }
        }
    }

    /// Reasons of refusals besides the checks.
    enum OtherRefusal: String, CaseIterable { case authorization, polled, unavailable }

    private static let events = EventName.allCases.map(\.rawValue) + ["other"]
    private static let reasons = EventTokenCheck.allCases.map(\.rawValue) + OtherRefusal.allCases.map(\.rawValue)
    private static let polls = ["ok", "failed"]

    private let received = Counter(
        "latchkey_security_events_total", "Security events in valid tokens.",
        by: [
            LabelValues("event", events, "the event's name; `other` for those of the stream, and unknown ones"),
            LabelValues(
                "outcome", Outcome.allCases.map(\.rawValue),
                "`ignored`, `recorded`, `ended_sessions`, `forgot_tokens`, `ended_access` (both), `unknown_subject`, "
                    + "`repeated`"),
        ])
    private let refused = Counter(
        "latchkey_security_event_refusals_total", "Security event tokens that were refused.",
        by: [
            LabelValues(
                "reason", reasons,
                "the failed check; `authorization`, `polled` if a poll endpoint is configured, `unavailable` if it "
                    + "could not be verified")
        ])
    private let polled = Counter(
        "latchkey_security_event_polls_total", "Polls for security events.",
        by: [LabelValues("outcome", polls, "`ok` or `failed`")])

    var metrics: [any Metric] { [received, refused, polled] }

    /// - Parameter event: Nil for an event of the stream, and an unknown one.
    func count(_ event: EventName?, _ outcome: Outcome) {
        let number = event.flatMap { EventName.allCases.firstIndex(of: $0) } ?? Self.events.count - 1
        received.add(at: number, Outcome.allCases.firstIndex(of: outcome) ?? 0)
    }

    func count(_ refusal: EventRefusal) {
        switch refusal {
        case .failed(let check): refused.add(at: EventTokenCheck.allCases.firstIndex(of: check) ?? 0)
        case .unavailable: count(.unavailable)
        }
    }

    func count(_ refusal: OtherRefusal) {
        refused.add(at: Self.reasons.firstIndex(of: refusal.rawValue) ?? 0)
    }

    func countPoll(wentWell: Bool) { polled.add(at: wentWell ? 0 : 1) }
}
