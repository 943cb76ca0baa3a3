package import Primitives
package import StorageModel

/// What is delivered to an endpoint next: at most a few events at once, and one of a user at a time. Pure: it takes
/// events, results and times, and returns what to do.
///
/// An event that is not taken makes its user wait, in a row of the backlog. The user's later events are then not kept
/// in memory: they are read from the audit log when it is their turn. Other users go on. If nothing is taken any more,
/// the endpoint is down: no further event is read, and one is sent at a time, until one is taken.
package struct WebhookQueue: Sendable {
    package struct Limits: Sendable {
        /// The most requests at once, and how many of them may repeat earlier ones.
        package var inFlight = 4
        package var retries = 2
        /// The most events in memory that were not sent, and the most serials that one of them holds back.
        package var window = 512
        package var span = 4096
        /// The most users in the backlog before no further event is read.
        package var backlog = 1000
        /// How many events in a row must fail for the endpoint to be down.
        package var failures = 10
        /// The most events of a user in the backlog that are read at once.
        package var page = 32

        package init() {}
    }

    package enum Work: Sendable, Hashable {
        case send(WebhookEvent, [WebhookMessage])
        /// Events of a user in the backlog, from a serial on, up to another.
        case read(UserID, from: Int64, through: Int64)
    }

    package enum Result: Sendable, Hashable {
        case delivered
        case failed(String, retryAfter: Duration?)
        /// It is not known, because this instance stops.
        case stopped
    }

    private struct Item: Sendable {
        let event: WebhookEvent
        let messages: [WebhookMessage]
    }

    private struct Lane: Sendable {
        var waiting: [Item] = []
        var isBusy = false
    }

    static let firstRetry = Duration.seconds(5)
    static let longestRetry = Duration.seconds(3600)
    static let longestPause = Duration.seconds(60)

    private let limits: Limits
    private let types: Set<WebhookType>
    private let salt: String
    private let random: RandomSource
    /// The serial up to which the audit log was read.
    package private(set) var readThrough: Int64
    /// The serials that were read, in order, from ``first`` on, and those of them that are not done.
    private var order: [Int64] = []
    private var first = 0
    private var open: Set<Int64> = []
    private var lanes: [UserID: Lane] = [:]
    /// Users outside the backlog with events in memory and none on its way, in the order of their turns.
    private var ready: [UserID] = []
    private var nextReady = 0
    package private(set) var backlog: [UserID: WebhookBacklog]
    private var inFlight = 0
    private var retriesInFlight = 0
    private var failuresInARow = 0
    /// Nothing is sent before.
    private var pausedUntil: Timestamp?
    private var changed: Set<UserID> = []
    private var progress: WebhookProgress
    private var storedCursor: Int64

    package init(_ claim: WebhookClaim, types: Set<WebhookType>, limits: Limits = Limits(), random: RandomSource) {
        self.limits = limits
        self.types = types
        self.random = random
        salt = claim.row.salt
        backlog = claim.backlog
        readThrough = claim.row.cursor
        storedCursor = claim.row.cursor
        progress = WebhookProgress(cursor: claim.row.cursor)
    }

    package var isDown: Bool { failuresInARow >= limits.failures }

    /// Whether further events can be taken.
    package var hasRoom: Bool {
        // One that is down and has nothing to try would stay so.
        (!isDown || open.isEmpty && backlog.isEmpty) && open.count < limits.window && order.count - first < limits.span
            && backlog.count < limits.backlog
    }

    package var isIdle: Bool { inFlight == 0 }

    /// The serial up to which everything is done, or in the backlog.
    package var cursor: Int64 {
        var index = first
        while index < order.count, !open.contains(order[index]) { index += 1 }
        return index < order.count ? order[index] - 1 : readThrough
    }

    /// Takes the next events of the audit log.
    /// - Parameters:
    ///   - end: The serial up to which they are all that there are.
    ///   - expiry: Earlier events are given up.
    package mutating func take(_ events: [WebhookEvent], through end: Int64, givingUpBefore expiry: Timestamp) {
        for event in events {
            guard let messages = messages(of: event, givingUpBefore: expiry), backlog[event.user] == nil else {
                continue
            }
            order.append(event.serial)
            open.insert(event.serial)
            lanes[event.user, default: Lane()].waiting.append(Item(event: event, messages: messages))
            if lanes[event.user]?.isBusy == false, lanes[event.user]?.waiting.count == 1 { ready.append(event.user) }
        }
        readThrough = max(readThrough, end)
    }

    /// Nil for an event that the endpoint does not get.
    private mutating func messages(of event: WebhookEvent, givingUpBefore expiry: Timestamp) -> [WebhookMessage]? {
        guard let type = WebhookType.ofKinds[event.kind] else { return nil }
        let isSelected = types.contains(type) || type == .sessionCreated && types.contains(.userCreated)
        let messages = event.messages(of: types, salt: salt)
        if !messages.isEmpty, event.time >= expiry { return messages }
        // One of the user is known without the public id only if an earlier version erased the user.
        if isSelected, !messages.isEmpty || event.publicID == nil, backlog[event.user] == nil { drop(event.serial) }
        return nil
    }

    private mutating func drop(_ serial: Int64) {
        progress.dropped += 1
        let range = progress.droppedSerials ?? serial...serial
        progress.droppedSerials = min(range.lowerBound, serial)...max(range.upperBound, serial)
    }

    /// What to do now; nil for nothing until something ends or time passes.
    package mutating func next(at now: Timestamp) -> Work? {
        if let pausedUntil, now < pausedUntil { return nil }
        if isDown {
            guard inFlight == 0 else { return nil }
            return nextRetry(at: nil) ?? nextOfReady()
        }
        guard inFlight < limits.inFlight else { return nil }
        if retriesInFlight < limits.retries, let work = nextRetry(at: now) { return work }
        return backlog.count < limits.backlog ? nextOfReady() : nil
    }

    private mutating func nextOfReady() -> Work? {
        while nextReady < ready.count {
            let user = ready[nextReady]
            nextReady += 1
            if nextReady > 256, nextReady * 2 > ready.count {
                ready.removeFirst(nextReady)
                nextReady = 0
            }
            guard backlog[user] == nil, let item = lanes[user]?.waiting.first, lanes[user]?.isBusy == false else {
                continue
            }
            lanes[user]?.isBusy = true
            inFlight += 1
            return .send(item.event, item.messages)
        }
        return nil
    }

    /// The user in the backlog whose turn was first.
    /// - Parameter now: Nil for one whose turn is later, too.
    private mutating func nextRetry(at now: Timestamp?) -> Work? {
        var found: (user: UserID, row: WebhookBacklog)?
        for (user, row) in backlog where lanes[user]?.isBusy != true && now.map({ row.dueAt <= $0 }) ?? true {
            let isBefore = found.map { (row.dueAt, row.serial) < ($0.row.dueAt, $0.row.serial) } ?? true
            if isBefore { found = (user, row) }
        }
        guard let found else { return nil }
        inFlight += 1
        retriesInFlight += 1
        lanes[found.user, default: Lane()].isBusy = true
        if let item = lanes[found.user]?.waiting.first { return .send(item.event, item.messages) }
        return .read(found.user, from: found.row.serial, through: readThrough)
    }

    private mutating func free(_ user: UserID) {
        inFlight -= 1
        if backlog[user] != nil { retriesInFlight -= 1 }
        lanes[user]?.isBusy = false
    }

    /// Takes what became of a sent event.
    package mutating func finish(_ event: WebhookEvent, _ result: Result, at now: Timestamp) {
        let user = event.user
        free(user)
        switch result {
        case .stopped: return
        case .delivered:
            if isDown {
                // Those that failed with the endpoint need not wait for longer.
                backlog = backlog.mapValues { row in altered(row) { $0.dueAt = min($0.dueAt, now) } }
                changed.formUnion(backlog.keys)
            }
            failuresInARow = 0
            pausedUntil = nil
            progress.delivered += 1
            progress.deliveredAt = now
            lanes[user]?.waiting.removeFirst()
            if backlog[user] != nil {
                backlog[user]?.serial = event.serial + 1
                backlog[user]?.attempts = 0
                backlog[user]?.dueAt = now
                changed.insert(user)
            } else {
                open.remove(event.serial)
                if lanes[user]?.waiting.isEmpty ?? true { lanes[user] = nil } else { ready.append(user) }
            }
        case .failed(let error, let retryAfter):
            failuresInARow += 1
            progress.failedAt = now
            progress.error = error
            let before = backlog[user]
            let attempts = before?.attempts ?? 0
            var delay = RetryDelay(first: Self.firstRetry, longest: Self.longestRetry, failures: attempts)
            backlog[user] = WebhookBacklog(
                serial: event.serial, attempts: attempts + 1,
                dueAt: now.advanced(by: delay.next(after: nil, random)), since: before?.since ?? now, error: error)
            changed.insert(user)
            for item in lanes[user]?.waiting ?? [] { open.remove(item.event.serial) }
            lanes[user] = nil
            pause(after: retryAfter, at: now)
        }
    }

    /// An endpoint that is down, or that asks for it, is left alone for a while.
    private mutating func pause(after retryAfter: Duration?, at now: Timestamp) {
        var pause = retryAfter.map { min($0, Self.longestRetry) }
        if isDown {
            var delay = RetryDelay(longest: Self.longestPause, failures: failuresInARow - limits.failures)
            pause = delay.next(after: pause, random)
        }
        guard let pause else { return }
        pausedUntil = max(pausedUntil ?? now, now.advanced(by: pause))
    }

    /// Takes the events of a user in the backlog.
    /// - Parameters:
    ///   - events: At most ``Limits/page``.
    ///   - end: Up to which serial they were read.
    package mutating func finishReading(
        of user: UserID, _ events: [WebhookEvent], through end: Int64, givingUpBefore expiry: Timestamp
    ) {
        free(user)
        guard backlog[user] != nil else { return }
        changed.insert(user)
        var waiting: [Item] = []
        for event in events {
            let messages = event.messages(of: types, salt: salt)
            if !messages.isEmpty, event.time >= expiry {
                waiting.append(Item(event: event, messages: messages))
            } else {
                if !messages.isEmpty { drop(event.serial) }
                if waiting.isEmpty { backlog[user]?.serial = event.serial + 1 }
            }
        }
        if let first = waiting.first {
            backlog[user]?.serial = first.event.serial
            lanes[user, default: Lane()].waiting = waiting
        } else if events.count < limits.page, end >= readThrough {
            // Nothing is left: the user's next events are sent as everybody's.
            backlog[user] = nil
            lanes[user] = nil
        }
    }

    /// A reading failed; it is repeated.
    package mutating func failReading(of user: UserID) { free(user) }

    /// What was done since the last call, to be stored; nil if nothing was.
    package mutating func takeProgress() -> WebhookProgress? {
        let cursor = cursor
        while first < order.count, order[first] <= cursor { first += 1 }
        if first > limits.span {
            order.removeFirst(first)
            first = 0
        }
        var taken = progress
        taken.cursor = cursor
        let isChanged =
            cursor != storedCursor || !changed.isEmpty || taken.delivered > 0 || taken.dropped > 0
            || taken.failedAt != nil
        guard isChanged else { return nil }
        for user in changed { taken.backlog.updateValue(backlog[user], forKey: user) }
        changed = []
        storedCursor = cursor
        progress = WebhookProgress(cursor: cursor)
        return taken
    }

    /// Takes back what could not be stored.
    package mutating func restore(_ taken: WebhookProgress) {
        changed.formUnion(taken.backlog.keys)
        storedCursor = -1
        progress.delivered += taken.delivered
        progress.dropped += taken.dropped
        if let serials = taken.droppedSerials {
            let range = progress.droppedSerials ?? serials
            progress.droppedSerials =
                min(range.lowerBound, serials.lowerBound)...max(range.upperBound, serials.upperBound)
        }
        progress.deliveredAt = progress.deliveredAt ?? taken.deliveredAt
        progress.failedAt = progress.failedAt ?? taken.failedAt
        progress.error = progress.error ?? taken.error
    }

    /// Since when something waits: the oldest event in memory, or the first failure of a user in the backlog.
    package var oldest: Timestamp? {
        let waiting = lanes.values.compactMap { $0.waiting.first?.event.time }.min()
        let failed = backlog.values.lazy.map(\.since).min()
        return [waiting, failed].compactMap(\.self).min()
    }
}

extension Timestamp {
    /// At the next whole second after a duration.
    fileprivate func advanced(by duration: Duration) -> Timestamp {
        let parts = duration.components
        return advanced(bySeconds: parts.seconds + (parts.attoseconds > 0 ? 1 : 0))
    }
}
