import Crypto
package import Logging
package import Primitives
package import Storage
import StorageModel
import Synchronization

/// Delivers the events of the audit log to one endpoint, while no other instance does.
///
/// The audit log is the outbox: each change has its event in its own transaction. What is delivered is stored once a
/// second. So after a crash the events of the last second come again, with the same ids, and none is lost.
package final class WebhookWorker: Sendable {
    /// Where a test can end a worker as a kill would: nothing is stored or sent by it any more.
    package enum Step: String, Sendable, CaseIterable {
        case reading, sending, sent, storing, stored
    }

    /// The numbers that metrics show.
    package struct Figures: Sendable, Hashable {
        /// Whether this instance delivers.
        package var isHeld = false
        /// The users whose events wait.
        package var waitingUsers = 0
        /// Since when something waits.
        package var oldest: Timestamp?
    }

    package typealias Sender = @Sendable (OutboundRequest) async throws(OutboundError) -> OutboundResponse

    /// What a worker needs of its surroundings.
    package struct Environment: Sendable {
        package let store: SQLStore
        package var send: Sender
        package let clock: WallClock
        package let logger: Logger
        package var random = RandomSource.system
        package var pause: @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
        package var cut: @Sendable (Step) throws -> Void = { _ in }
        package var limits = WebhookQueue.Limits()

        package init(
            store: SQLStore, clock: WallClock, logger: Logger, send: @escaping Sender
        ) {
            self.store = store
            self.send = send
            self.clock = clock
            self.logger = logger
        }
    }

    private enum Done: Sendable {
        case tick
        case sent(WebhookEvent, WebhookQueue.Result)
        case read(UserID, [WebhookEvent]?, through: Int64)
        case cut
    }

    /// The most events of one reading.
    private static let page = 256
    /// From one look at the audit log, and one storing, to the next.
    static let pace = Duration.seconds(1)
    /// How long an endpoint is held without a renewal, in seconds; renewed after a third of it.
    static let leaseSeconds: Int64 = 30
    /// How long the response to an event may take.
    static let timeout = Duration.seconds(15)
    private static let responseBytes = 64 * 1024
    /// Events are given up so long before the audit log loses them, in seconds: longer than the longest wait for a
    /// retry.
    static let expiryMargin: Int64 = 7200
    /// The seconds between two log lines about the same trouble.
    private static let logPause: Int64 = 300

    private let endpoint: WebhookEndpoint
    private let keys: [SymmetricKey]
    private let retention: Int64
    private let environment: Environment
    private let count: @Sendable (_ outcome: Outcome, _ events: UInt64) -> Void
    private let holder: String
    private let startedAt: Timestamp
    private let figuresNow = Mutex(Figures())
    private let loggedAt = Mutex<[String: Timestamp]>([:])

    package enum Outcome: String, Sendable, CaseIterable {
        case delivered, failed, dropped
    }

    package init(
        _ endpoint: WebhookEndpoint, retention: Duration, in environment: Environment,
        count: @escaping @Sendable (_ outcome: Outcome, _ events: UInt64) -> Void = { _, _ in }
    ) {
        self.endpoint = endpoint
        self.retention = retention.components.seconds
        self.environment = environment
        self.count = count
        keys = endpoint.secrets.compactMap(WebhookSignature.key)
        holder = environment.random.token(bytes: 12)
        startedAt = environment.clock.now()
    }

    package var figures: Figures { figuresNow.withLock { $0 } }

    private var store: SQLStore { environment.store }

    /// Delivers until the task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            do throws(StorageError) {
                let claim = try await store.claimWebhook(
                    endpoint.name, salt: environment.random.bytes(16).hexadecimal, beginning: startedAt,
                    for: holder, at: environment.clock.now(), seconds: Self.leaseSeconds)
                if let claim {
                    noteGap(since: claim.before)
                    guard await deliver(claim) else { return }
                } else {
                    await environment.pause(.seconds(Self.leaseSeconds / 3))
                }
            } catch {
                warn("could not read how far a webhook is", ["error": "\(error.code)"])
                await environment.pause(.seconds(5))
            }
        }
    }

    /// Earlier events are given up.
    private var expiry: Timestamp {
        environment.clock.now().advanced(bySeconds: -max(retention - Self.expiryMargin, retention / 2))
    }

    // MARK: The delivery

    /// Delivers while this instance has the endpoint.
    /// - Returns: False if a test has ended the worker.
    private func deliver(_ claim: WebhookClaim) async -> Bool {
        defer { figuresNow.withLock { $0 = Figures() } }
        return await withTaskGroup(of: Done.self) { group in
            var run = Run(
                queue: WebhookQueue(
                    claim, types: endpoint.types, limits: environment.limits, random: environment.random),
                claim: claim, heldUntil: claim.row.heldUntil)
            do {
                var isTick = true
                while !Task.isCancelled, !run.isLost {
                    if isTick {
                        try await store(&run)
                        await look(&run)
                        group.addTask { [environment] in
                            await environment.pause(Self.pace)
                            return .tick
                        }
                    }
                    try await read(&run)
                    while !Task.isCancelled, let work = run.queue.next(at: environment.clock.now()) {
                        group.addTask { await self.perform(work) }
                    }
                    show(run.queue)
                    guard let done = await group.next() else { break }
                    isTick = try finish(done, &run)
                }
                group.cancelAll()
                for await done in group { _ = try finish(done, &run) }
                if !run.isLost {
                    try await store(&run)
                    try? await store.releaseWebhook(endpoint.name, of: holder)
                }
                return true
            } catch {
                group.cancelAll()
                return false
            }
        }
    }

    private struct Run {
        var queue: WebhookQueue
        let claim: WebhookClaim
        var heldUntil: Timestamp
        /// Another instance has the endpoint, or an administrator has set it back.
        var isLost = false
        var tail = AuditTail()
        /// The serial up to which the audit log is complete.
        var end: Int64 = .min
    }

    /// Finds how far the audit log can be read.
    private func look(_ run: inout Run) async {
        do throws(StorageError) {
            let now = environment.clock.now()
            if let end = run.tail.advance(to: try await store.auditHorizon(), at: now) { run.end = max(run.end, end) }
        } catch {
            warn("could not read the audit log for a webhook", ["error": "\(error.code)"])
        }
    }

    /// Reads events while there is room for them.
    private func read(_ run: inout Run) async throws {
        while run.queue.hasRoom, run.queue.readThrough < run.end {
            try environment.cut(.reading)
            do throws(StorageError) {
                let events = try await store.webhookEvents(
                    after: run.queue.readThrough, through: run.end, limit: Self.page)
                let end = events.count < Self.page ? run.end : events.last?.serial ?? run.end
                run.queue.take(events, through: end, givingUpBefore: expiry)
            } catch {
                return warn("could not read the audit log for a webhook", ["error": "\(error.code)"])
            }
        }
    }

    /// Stores what was done, and renews the lease.
    private func store(_ run: inout Run) async throws {
        let now = environment.clock.now()
        let progress = run.queue.takeProgress()
        let isDue = run.heldUntil.seconds(since: now) < Self.leaseSeconds * 2 / 3
        guard progress != nil || isDue else { return }
        let stored = progress ?? WebhookProgress(cursor: run.queue.cursor)
        try environment.cut(.storing)
        do throws(StorageError) {
            let isStored = try await store.commitWebhook(
                run.claim.row, stored, for: holder, at: now, seconds: Self.leaseSeconds)
            if isStored {
                run.heldUntil = now.advanced(bySeconds: Self.leaseSeconds)
                note(stored)
            } else {
                run.isLost = true
            }
        } catch {
            if let progress { run.queue.restore(progress) }
            warn("could not store how far a webhook is", ["error": "\(error.code)"])
            run.isLost = run.heldUntil <= environment.clock.now()
        }
        try environment.cut(.stored)
    }

    private func finish(_ done: Done, _ run: inout Run) throws -> Bool {
        switch done {
        case .tick: return true
        case .sent(let event, let result):
            run.queue.finish(event, result, at: environment.clock.now())
            note(result)
        case .read(let user, let events, let end):
            if let events {
                run.queue.finishReading(of: user, events, through: end, givingUpBefore: expiry)
            } else {
                run.queue.failReading(of: user)
            }
        case .cut: throw CancellationError()
        }
        return false
    }

    private func perform(_ work: WebhookQueue.Work) async -> Done {
        switch work {
        case .send(let event, let messages):
            do {
                return .sent(event, try await send(messages))
            } catch {
                return .cut
            }
        case .read(let user, let serial, let end):
            do throws(StorageError) {
                let events = try await store.webhookEvents(
                    of: user, after: serial - 1, through: end, limit: environment.limits.page)
                return .read(user, events, through: end)
            } catch {
                warn("could not read the audit log for a webhook", ["error": "\(error.code)"])
                await environment.pause(Self.pace)
                return .read(user, nil, through: end)
            }
        }
    }

    /// Sends the messages of one event, one after the other.
    private func send(_ messages: [WebhookMessage]) async throws -> WebhookQueue.Result {
        for message in messages {
            try environment.cut(.sending)
            let result = await send(message)
            try environment.cut(.sent)
            guard result == .delivered else { return result }
        }
        return .delivered
    }

    private func send(_ message: WebhookMessage) async -> WebhookQueue.Result {
        let now = environment.clock.now()
        let request = OutboundRequest(
            method: .post, url: endpoint.url,
            headers: [
                ("Content-Type", "application/json"), ("webhook-id", message.id),
                ("webhook-timestamp", "\(now.secondsSinceEpoch)"),
                ("webhook-signature", WebhookSignature.field(message, at: now, keys)),
            ], body: message.body, timeout: Self.timeout, maximumBodyBytes: Self.responseBytes)
        do throws(OutboundError) {
            let response = try await environment.send(request)
            if (200..<300).contains(response.status) { return .delivered }
            let retryAfter = response.retryAfter.flatMap { RetryDelay.requested(by: $0, at: now) }
            return .failed("the receiver answered \(response.status)", retryAfter: retryAfter)
        } catch {
            guard error.code != .shutDown else { return .stopped }
            return .failed("\(error.code.rawValue): \(error.fault)", retryAfter: nil)
        }
    }

    // MARK: What is told

    private func show(_ queue: WebhookQueue) {
        figuresNow.withLock {
            $0 = Figures(isHeld: true, waitingUsers: queue.backlog.count, oldest: queue.oldest)
        }
    }

    private func note(_ result: WebhookQueue.Result) {
        switch result {
        case .delivered: count(.delivered, 1)
        case .failed(let reason, _):
            count(.failed, 1)
            warn("a webhook was not delivered; it is sent again", ["reason": "\(reason)"])
        case .stopped: break
        }
    }

    private func note(_ stored: WebhookProgress) {
        guard stored.dropped > 0 else { return }
        count(.dropped, UInt64(clamping: stored.dropped))
        environment.logger.error(
            "events were given up that a webhook did not take before audit.retention",
            metadata: ["endpoint": "\(endpoint.name)", "events": "\(stored.dropped)"])
    }

    /// Tells that the endpoint had no instance for so long that the audit log may have lost events.
    private func noteGap(since before: Timestamp) {
        guard before < environment.clock.now().advanced(bySeconds: -retention) else { return }
        environment.logger.error(
            "no server has delivered a webhook for longer than audit.retention; events may be missing",
            metadata: ["endpoint": "\(endpoint.name)", "since": "\(UTCTime.text(before))"])
    }

    /// At most every few minutes.
    private func warn(_ message: String, _ metadata: Logger.Metadata) {
        let now = environment.clock.now()
        let isDue = loggedAt.withLock { times in
            if let time = times[message], now < time.advanced(bySeconds: Self.logPause), time <= now { return false }
            times[message] = now
            return true
        }
        guard isDue, !Task.isCancelled else { return }
        environment.logger.warning(
            "\(message)", metadata: metadata.merging(["endpoint": "\(endpoint.name)"]) { $1 })
    }
}
