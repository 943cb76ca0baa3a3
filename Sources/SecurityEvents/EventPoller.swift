import Logging
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import Synchronization

/// Polls a provider for its events (RFC 8936), one request at a time, while no other instance does.
///
/// Before each poll it extends its lease in the database, until the poll after that is due. If it ends without a
/// release, another instance goes on then. Two polls at once would do no harm, because an event has its effect once.
///
/// An event is acknowledged by the poll after the one that brought it, when what it leads to is committed. If the
/// process ends before, the provider sends it again, and it has no second effect.
final class EventPoller: Sendable {
    /// How many events a poll asks for.
    static let mostEvents = 50
    /// How many polls follow each other without a pause.
    static let mostRounds = 20
    /// The longest response that is read, in bytes.
    private static let responseBytes = 1024 * 1024
    /// The limit of one poll.
    private static let timeout = Duration.seconds(30)
    /// After failures.
    static let longestPause = Duration.seconds(900)
    /// From one look at the lease of another instance to the next.
    static let look = Duration.seconds(15)
    /// How long a poll may take until what it brought is stored.
    private static let leaseMargin = Duration.seconds(60)

    private struct State {
        /// The ids of events to acknowledge with the next poll.
        var acknowledged: [String] = []
        /// Of events that are refused.
        var refused: [(id: String, check: EventTokenCheck)] = []
        /// How many polls have failed one after the other.
        var failures = 0
        /// How many polls have followed each other without a pause.
        var rounds = 0
    }

    private let source: EventSource
    private let endpoint: EndpointURL
    private let http: any HTTPClient
    private let receiver: EventReceiver
    /// Names this process in the lease.
    private let holder: String
    private let state = Mutex(State())

    /// Nil for a provider that pushes its events.
    init?(_ source: EventSource, through http: any HTTPClient, _ receiver: EventReceiver) {
        guard let endpoint = source.settings.pollEndpoint else { return nil }
        self.source = source
        self.endpoint = endpoint
        self.http = http
        self.receiver = receiver
        holder = receiver.environment.random.token(bytes: 12)
    }

    /// Polls until the task is cancelled, and then lets another instance go on.
    func run() async {
        while !Task.isCancelled {
            let pause = await turn()
            if pause > .zero { try? await Task.sleep(for: pause) }
        }
        try? await receiver.store.releasePolling(of: source.name, by: holder)
    }

    /// Polls once, if this instance has the lease or can have it.
    /// - Returns: The pause until the next turn.
    func turn() async -> Duration {
        let held = pause(afterFailures: state.withLock { $0.failures } + 1) + Self.leaseMargin
        do throws(StorageError) {
            let isHeld = try await receiver.store.claimPolling(
                of: source.name, for: holder, at: receiver.environment.clock.now(), seconds: held.components.seconds)
            return isHeld ? await poll() : Self.look
        } catch {
            // What a poll brought could not be stored.
            return fail("The lease cannot be stored (\(error.code)).")
        }
    }

    /// Polls once.
    /// - Returns: The pause until the next poll.
    func poll() async -> Duration {
        let sent = state.withLock { ($0.acknowledged, $0.refused) }
        do throws(PollError) {
            let answer = try await ask(sent.0, sent.1)
            state.withLock { ($0.acknowledged, $0.refused) = ([], []) }
            for set in answer.sets { try await take(set) }
            succeed()
            return pause(hasMore: answer.hasMore)
        } catch {
            return fail(error.reason)
        }
    }

    private struct PollError: Error { let reason: String }

    private typealias Answer = (sets: [(id: String, token: Secret)], hasMore: Bool)

    private func ask(
        _ acknowledged: [String], _ refused: [(id: String, check: EventTokenCheck)]
    ) async throws(PollError) -> Answer {
        var json = JSONObjectWriter(capacity: 4096)
        json.add("maxEvents", Self.mostEvents)
        json.add("returnImmediately", true)
        json.add("ack", acknowledged)
        json.add("setErrs") { errors in
            for (id, check) in refused {
                errors.add(named: id) { error in
                    error.add("err", check.code)
                    error.add("description", check.demand)
                }
            }
        }
        var headers = [
            ("Content-Type", "application/json"), ("Accept", "application/json"), ("Content-Language", "en"),
        ]
        if let authorization = source.settings.pollAuthorization {
            headers.append(("Authorization", authorization.exposed))
        }
        let response: OutboundResponse
        do throws(OutboundError) {
            response = try await http.send(
                OutboundRequest(
                    method: .post, url: endpoint, headers: headers, body: json.finish(), timeout: Self.timeout,
                    maximumBodyBytes: Self.responseBytes))
        } catch {
            throw PollError(reason: error.reason)
        }
        guard response.status == 200 else { throw PollError(reason: "The response has the status \(response.status).") }
        guard let object = JSONObject(claims: response.body), let sets = object["sets"]?.object else {
            throw PollError(reason: "The response has no sets.")
        }
        let tokens = sets.members.compactMap { member in
            JSONValue.string(member.name).visibleText.flatMap { id in
                member.value.string.map { (id: id, token: Secret($0)) }
            }
        }
        return (Array(tokens.prefix(Self.mostEvents)), object["moreAvailable"]?.bool ?? false)
    }

    /// Throws if the event cannot be verified or stored now: it is not acknowledged, and comes again.
    private func take(_ set: (id: String, token: Secret)) async throws(PollError) {
        do throws(EventRefusal) {
            try await receiver.receive(set.token, from: source, requestID: nil)
            state.withLock { $0.acknowledged.append(set.id) }
        } catch {
            switch error {
            case .failed(let check): state.withLock { $0.refused.append((set.id, check)) }
            case .unavailable(let error): throw PollError(reason: error.description)
            }
        }
    }

    /// None while there are events, or some to acknowledge. A provider that sends the same events for ever is not
    /// polled for ever.
    private func pause(hasMore: Bool) -> Duration {
        state.withLock { state in
            let isIdle = !hasMore && state.acknowledged.isEmpty && state.refused.isEmpty
            state.rounds = isIdle ? 0 : state.rounds + 1
            guard isIdle || state.rounds >= Self.mostRounds else { return .zero }
            state.rounds = 0
            return source.settings.pollInterval
        }
    }

    private func succeed() {
        receiver.counts.countPoll(wentWell: true)
        let wasFailing = state.withLock { state in
            defer { state.failures = 0 }
            return state.failures > 0
        }
        guard wasFailing else { return }
        receiver.environment.logger.info(
            "security events are polled again", metadata: ["provider": "\(source.name)"])
    }

    /// Twice as long after each failure.
    private func fail(_ reason: String) -> Duration {
        receiver.counts.countPoll(wentWell: false)
        let failures = state.withLock { state in
            state.failures += 1
            state.rounds = 0
            return state.failures
        }
        if failures == 1 {
            receiver.environment.logger.warning(
                "security events cannot be polled", metadata: ["provider": "\(source.name)", "reason": "\(reason)"])
        }
        return pause(afterFailures: failures)
    }

    private func pause(afterFailures failures: Int) -> Duration {
        let interval = source.settings.pollInterval
        return max(interval, min(interval * (1 << min(failures - 1, 10)), Self.longestPause))
    }
}
