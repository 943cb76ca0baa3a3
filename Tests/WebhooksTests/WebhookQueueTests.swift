import Primitives
import StorageModel
import Testing

@testable import Webhooks

/// What is sent when, and what waits.
@Suite struct WebhookQueueTests {
    /// Delays without jitter.
    private static let longest = RandomSource { [UInt8](repeating: 0xff, count: $0) }
    private static let start = Timestamp(secondsSinceEpoch: 1_800_000_000)
    private static let never = Timestamp(secondsSinceEpoch: 0)

    private func claim(cursor: Int64 = 0, _ backlog: [UserID: WebhookBacklog] = [:]) -> WebhookClaim {
        WebhookClaim(
            row: WebhookRow(
                name: "crm", salt: "s", cursor: cursor, generation: 0, holder: "i", heldUntil: Self.start,
                seenAt: Self.start, delivered: 0, dropped: 0, deliveredAt: nil, failedAt: nil, error: nil),
            backlog: backlog, before: Self.start)
    }

    private func queue(
        _ backlog: [UserID: WebhookBacklog] = [:], types: Set<WebhookType> = [.userUpdated],
        _ change: (inout WebhookQueue.Limits) -> Void = { _ in }
    ) -> WebhookQueue {
        var limits = WebhookQueue.Limits()
        change(&limits)
        return WebhookQueue(claim(backlog), types: types, limits: limits, random: Self.longest)
    }

    private func event(_ serial: Int64, of user: Int64, kind: String = "user.edited", at time: Timestamp = start)
        -> WebhookEvent
    {
        WebhookEvent(serial: serial, user: UserID(user), time: time, kind: kind, publicID: "u-\(user)")
    }

    /// Takes events of the given users, with serials from 1 on.
    private func take(_ users: [Int64], _ queue: inout WebhookQueue, from first: Int64 = 1) {
        let events = zip(first..., users).map { event($0, of: $1) }
        queue.take(events, through: first + Int64(users.count) - 1, givingUpBefore: Self.never)
    }

    private func send(_ queue: inout WebhookQueue, at time: Timestamp = start) -> WebhookEvent? {
        guard case .send(let event, _) = queue.next(at: time) else { return nil }
        return event
    }

    /// All that can be sent at once.
    private func sendAll(_ queue: inout WebhookQueue, at time: Timestamp = start) -> [WebhookEvent] {
        var events: [WebhookEvent] = []
        while let event = send(&queue, at: time) { events.append(event) }
        return events
    }

    @Test("One event of a user at a time, of others at once, up to the limit; the cursor follows what is done")
    func order() {
        var queue = queue { $0.inFlight = 2 }
        take([1, 1, 2, 3], &queue)
        #expect(sendAll(&queue).map(\.serial) == [1, 3])
        #expect(queue.cursor == 0)
        queue.finish(event(3, of: 2), .delivered, at: Self.start)
        #expect(queue.cursor == 0, "the first event is not done")
        #expect(sendAll(&queue).map(\.serial) == [4])
        queue.finish(event(1, of: 1), .delivered, at: Self.start)
        #expect(queue.cursor == 1)
        #expect(sendAll(&queue).map(\.serial) == [2])
        queue.finish(event(4, of: 3), .delivered, at: Self.start)
        queue.finish(event(2, of: 1), .delivered, at: Self.start)
        #expect(queue.cursor == 4 && queue.next(at: Self.start) == nil)
        let progress = queue.takeProgress()
        #expect(progress?.delivered == 4 && progress?.cursor == 4 && progress?.backlog.isEmpty == true)
        #expect(queue.takeProgress() == nil, "nothing was done since")
    }

    @Test("A user whose event is not taken waits with all later ones; other users go on, and the cursor, too")
    func waiting() throws {
        var queue = queue()
        take([1, 1, 2], &queue)
        _ = sendAll(&queue)
        queue.finish(event(1, of: 1), .failed("500", retryAfter: nil), at: Self.start)
        queue.finish(event(3, of: 2), .delivered, at: Self.start)
        take([1, 2], &queue, from: 4)
        #expect(sendAll(&queue).map(\.serial) == [5])
        queue.finish(event(5, of: 2), .delivered, at: Self.start)
        #expect(queue.cursor == 5)
        let row = WebhookBacklog(
            serial: 1, attempts: 1, dueAt: Self.start.advanced(bySeconds: 5), since: Self.start, error: "500")
        #expect(queue.takeProgress()?.backlog == [UserID(1): row])
        #expect(queue.next(at: Self.start.advanced(bySeconds: 4)) == nil)
        // The user's events are read again, in order.
        let due = Self.start.advanced(bySeconds: 5)
        #expect(queue.next(at: due) == .read(UserID(1), from: 1, through: 5))
        queue.finishReading(
            of: UserID(1), [1, 2, 4].map { event($0, of: 1) }, through: 5, givingUpBefore: Self.never)
        for serial in [1, 2, 4] as [Int64] {
            #expect(sendAll(&queue, at: due).map(\.serial) == [serial])
            queue.finish(event(serial, of: 1), .delivered, at: due)
        }
        #expect(queue.next(at: due) == .read(UserID(1), from: 5, through: 5))
        // An event that came meanwhile is read, too.
        take([1], &queue, from: 6)
        queue.finishReading(of: UserID(1), [], through: 5, givingUpBefore: Self.never)
        #expect(queue.next(at: due) == .read(UserID(1), from: 5, through: 6))
        queue.finishReading(of: UserID(1), [event(6, of: 1)], through: 6, givingUpBefore: Self.never)
        #expect(send(&queue, at: due)?.serial == 6)
        queue.finish(event(6, of: 1), .delivered, at: due)
        #expect(queue.next(at: due) == .read(UserID(1), from: 7, through: 6))
        queue.finishReading(of: UserID(1), [], through: 6, givingUpBefore: Self.never)
        #expect(queue.backlog.isEmpty)
        #expect(queue.takeProgress()?.backlog == [UserID(1): nil])
        take([1], &queue, from: 7)
        #expect(send(&queue, at: due)?.serial == 7)
    }

    @Test("The waits double up to an hour, with chance up to half of it")
    func backOff() {
        for (byte, part) in [(UInt8(0xff), 1.0), (0, 0.5)] {
            var queue = WebhookQueue(
                claim(), types: [.userUpdated], random: RandomSource { [UInt8](repeating: byte, count: $0) })
            take([1], &queue)
            _ = send(&queue)
            var (now, waits) = (Self.start, [Int64]())
            for failure in 1...12 {
                queue.finish(event(1, of: 1), .failed("500", retryAfter: nil), at: now)
                let due = queue.backlog[UserID(1)]?.dueAt ?? now
                waits.append(due.seconds(since: now))
                #expect(queue.backlog[UserID(1)]?.attempts == failure)
                now = due.advanced(bySeconds: 100)
                _ = queue.next(at: now)
                queue.finishReading(of: UserID(1), [event(1, of: 1)], through: 1, givingUpBefore: Self.never)
                _ = queue.next(at: now)
            }
            let steps = [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]
            #expect(waits == steps.map { Int64((Double($0) * part).rounded(.up)) })
        }
    }

    @Test("After some failures in a row one event is tried at a time, and nothing is read, until one is taken")
    func down() {
        var queue = queue { ($0.failures, $0.inFlight) = (3, 4) }
        take([1, 2, 3, 4, 5], &queue)
        for event in sendAll(&queue) { queue.finish(event, .failed("down", retryAfter: nil), at: Self.start) }
        #expect(queue.isDown && !queue.hasRoom && queue.backlog.count == 4)
        #expect(queue.next(at: Self.start) == nil)
        var now = Self.start
        for pause in [2, 4, 8, 16, 32, 60, 60] as [Int64] {
            #expect(queue.next(at: now.advanced(bySeconds: pause - 1)) == nil, "it waits for \(pause) s")
            now = now.advanced(bySeconds: pause)
            guard case .read(let user, let serial, _) = queue.next(at: now) else {
                Issue.record("nothing is tried after \(pause) s")
                return
            }
            queue.finishReading(
                of: user, [event(serial, of: user.number)], through: 5, givingUpBefore: Self.never)
            #expect(send(&queue, at: now)?.user == user && queue.next(at: now) == nil, "one at a time")
            queue.finish(event(serial, of: user.number), .failed("down", retryAfter: nil), at: now)
        }
        now = now.advanced(bySeconds: 60)
        guard case .read(let user, let serial, _) = queue.next(at: now) else { return }
        queue.finishReading(of: user, [event(serial, of: user.number)], through: 5, givingUpBefore: Self.never)
        _ = queue.next(at: now)
        queue.finish(event(serial, of: user.number), .delivered, at: now)
        #expect(!queue.isDown && queue.hasRoom)
        #expect(queue.backlog.values.allSatisfy { $0.dueAt <= now }, "all are due at once")
        #expect(sendAll(&queue, at: now).isEmpty, "the users in the backlog are read first")
    }

    @Test("Some repetitions leave connections to the others")
    func retries() {
        let due = WebhookBacklog(serial: 1, attempts: 1, dueAt: Self.start, since: Self.start, error: "500")
        var queue = queue([1, 2, 3].reduce(into: [:]) { $0[UserID($1)] = due }) { ($0.inFlight, $0.retries) = (3, 2) }
        take([9], &queue, from: 5)
        var works: [WebhookQueue.Work] = []
        while let work = queue.next(at: Self.start) { works.append(work) }
        #expect(works.count == 3 && works.filter { if case .read = $0 { true } else { false } }.count == 2)
    }

    @Test("A receiver that asks for time gets it, at most an hour")
    func retryAfter() {
        for (asked, waits) in [(Duration.seconds(30), Int64(30)), (.seconds(86_400), 3600)] {
            var queue = queue()
            take([1, 2], &queue)
            _ = send(&queue)
            queue.finish(event(1, of: 1), .failed("429", retryAfter: asked), at: Self.start)
            #expect(queue.next(at: Self.start.advanced(bySeconds: waits - 1)) == nil)
            #expect(queue.next(at: Self.start.advanced(bySeconds: waits)) != nil)
        }
    }

    @Test("Memory is bounded: by events, by what one of them holds back, and by users in the backlog")
    func bounds() {
        var queue = queue { $0.window = 2 }
        take([1, 2], &queue)
        #expect(!queue.hasRoom)
        queue = self.queue { ($0.span, $0.inFlight) = (2, 4) }
        take([1, 2], &queue)
        _ = sendAll(&queue)
        queue.finish(event(2, of: 2), .delivered, at: Self.start)
        #expect(!queue.hasRoom, "the first holds the second back")
        queue.finish(event(1, of: 1), .delivered, at: Self.start)
        _ = queue.takeProgress()
        #expect(queue.hasRoom)
        queue = self.queue { $0.backlog = 1 }
        take([1, 2, 3], &queue)
        let sent = send(&queue)
        #expect(sent?.serial == 1 && queue.hasRoom)
        queue.finish(event(1, of: 1), .failed("500", retryAfter: nil), at: Self.start)
        #expect(!queue.hasRoom && queue.next(at: Self.start) == nil)
    }

    @Test("Events that are too old are given up and counted, in the log and in the backlog")
    func expiry() {
        let old = Self.start.advanced(bySeconds: -100)
        let limit = Self.start.advanced(bySeconds: -50)
        var queue = queue()
        queue.take(
            [event(1, of: 1, at: old), event(2, of: 1), event(3, of: 2, kind: "identity.linked", at: old)], through: 3,
            givingUpBefore: limit)
        #expect(sendAll(&queue).map(\.serial) == [2])
        queue.finish(event(2, of: 1), .failed("500", retryAfter: nil), at: Self.start)
        #expect(queue.takeProgress()?.droppedSerials == 1...1, "the other type is not for the endpoint")
        let due = Self.start.advanced(bySeconds: 5)
        _ = queue.next(at: due)
        queue.finishReading(
            of: UserID(1), [event(2, of: 1), event(4, of: 1)], through: 4, givingUpBefore: due)
        let progress = queue.takeProgress()
        #expect(progress?.dropped == 2 && progress?.droppedSerials == 2...4 && queue.backlog.isEmpty)
    }

    @Test("An endpoint that is down goes on when all that it could try has become too old")
    func downWithoutBacklog() {
        var queue = queue { $0.failures = 1 }
        take([1], &queue)
        _ = send(&queue)
        queue.finish(event(1, of: 1), .failed("down", retryAfter: nil), at: Self.start)
        let now = Self.start.advanced(bySeconds: 60)
        _ = queue.next(at: now)
        queue.finishReading(of: UserID(1), [event(1, of: 1)], through: 1, givingUpBefore: now)
        #expect(queue.isDown && queue.hasRoom)
        take([2], &queue, from: 2)
        #expect(send(&queue, at: now)?.serial == 2)
    }

    @Test("What could not be stored is stored later")
    func restore() throws {
        var queue = queue()
        take([1, 2], &queue)
        for event in sendAll(&queue) {
            queue.finish(event, event.serial == 1 ? .delivered : .failed("500", retryAfter: nil), at: Self.start)
        }
        let first = queue.takeProgress()
        let taken = try #require(first)
        queue.restore(taken)
        let again = queue.takeProgress()
        #expect(again == taken)
    }

    private func row(_ serial: Int64, dueIn seconds: Int64 = 0, attempts: Int = 1) -> WebhookBacklog {
        WebhookBacklog(
            serial: serial, attempts: attempts, dueAt: Self.start.advanced(bySeconds: seconds), since: Self.start,
            error: "500")
    }

    @Test("An event that is taken ends its user's waits; the wait is measured from the first failure on")
    func attempts() {
        var queue = queue([UserID(1): row(1, attempts: 7)])
        let now = Self.start.advanced(bySeconds: 100)
        _ = queue.next(at: now)
        queue.finishReading(
            of: UserID(1), [event(1, of: 1), event(2, of: 1)], through: 2, givingUpBefore: Self.never)
        #expect(send(&queue, at: now)?.serial == 1)
        queue.finish(event(1, of: 1), .delivered, at: now)
        #expect(send(&queue, at: now)?.serial == 2)
        queue.finish(event(2, of: 1), .failed("503", retryAfter: nil), at: now)
        let row = WebhookBacklog(
            serial: 2, attempts: 1, dueAt: now.advanced(bySeconds: 5), since: Self.start, error: "503")
        #expect(queue.backlog == [UserID(1): row])
    }

    @Test("A receiver that takes an event ends the pause; of two pauses the longer one counts")
    func pauses() {
        var queue = queue { $0.inFlight = 2 }
        take([1, 2, 3, 4], &queue)
        #expect(sendAll(&queue).map(\.serial) == [1, 2])
        queue.finish(event(1, of: 1), .failed("429", retryAfter: .seconds(60)), at: Self.start)
        #expect(send(&queue) == nil)
        queue.finish(event(2, of: 2), .delivered, at: Self.start)
        #expect(sendAll(&queue).map(\.serial) == [3, 4])
        queue.finish(event(3, of: 3), .failed("429", retryAfter: .seconds(60)), at: Self.start)
        queue.finish(event(4, of: 4), .failed("429", retryAfter: .seconds(10)), at: Self.start)
        #expect(queue.next(at: Self.start.advanced(bySeconds: 59)) == nil)
        #expect(queue.next(at: Self.start.advanced(bySeconds: 60)) != nil)
    }

    @Test("When an endpoint that was down takes an event, all users in the backlog are due, and stored so")
    func up() {
        var queue = queue([UserID(1): row(1), UserID(2): row(2, dueIn: 3600, attempts: 11)]) { $0.failures = 1 }
        take([], &queue, from: 3)
        for (seconds, result) in [(0, .failed("500", retryAfter: nil)), (5, .delivered)]
            as [(Int64, WebhookQueue.Result)]
        {
            let now = Self.start.advanced(bySeconds: seconds)
            #expect(queue.next(at: now) == .read(UserID(1), from: 1, through: 2))
            queue.finishReading(of: UserID(1), [event(1, of: 1)], through: 2, givingUpBefore: Self.never)
            _ = send(&queue, at: now)
            queue.finish(event(1, of: 1), result, at: now)
        }
        let now = Self.start.advanced(bySeconds: 5)
        #expect(queue.backlog[UserID(2)]?.dueAt == now)
        #expect(queue.takeProgress()?.backlog[UserID(2)]??.dueAt == now)
    }

    @Test("Of users in the backlog the one that is due first is next, then the one with the earliest event")
    func turns() {
        let rows = [
            UserID(1): row(1, dueIn: 1), UserID(2): row(9), UserID(3): row(5), UserID(4): row(2, dueIn: 9),
        ]
        var queue = queue(rows) { $0.retries = 4 }
        let now = Self.start.advanced(bySeconds: 1)
        var users: [Int64] = []
        while case .read(let user, _, _) = queue.next(at: now) { users.append(user.number) }
        #expect(users == [3, 2, 1])
    }

    @Test("The place of a repetition is free again when it has ended")
    func places() {
        var queue = queue([UserID(1): row(1), UserID(2): row(2)]) { $0.retries = 1 }
        #expect(queue.next(at: Self.start) == .read(UserID(1), from: 1, through: 0))
        #expect(queue.next(at: Self.start) == nil)
        queue.failReading(of: UserID(1))
        #expect(queue.next(at: Self.start) == .read(UserID(1), from: 1, through: 0))
        queue.finishReading(of: UserID(1), [], through: 0, givingUpBefore: Self.never)
        #expect(queue.next(at: Self.start) == .read(UserID(2), from: 2, through: 0))
    }

    @Test("After a full page without an event to send, the user's next page is read")
    func pages() {
        var queue = queue([UserID(1): row(1)]) { $0.page = 2 }
        take([], &queue, from: 6)
        #expect(queue.next(at: Self.start) == .read(UserID(1), from: 1, through: 5))
        let later = Self.start.advanced(bySeconds: 1)
        queue.finishReading(of: UserID(1), [event(1, of: 1), event(3, of: 1)], through: 5, givingUpBefore: later)
        #expect(queue.next(at: Self.start) == .read(UserID(1), from: 4, through: 5))
        queue.finishReading(of: UserID(1), [event(4, of: 1)], through: 5, givingUpBefore: later)
        #expect(queue.backlog.isEmpty && queue.takeProgress()?.dropped == 3)
    }

    @Test("What is given up is counted once, and only if the endpoint would have got it")
    func givenUp() {
        func signIn(_ serial: Int64, _ details: String) -> WebhookEvent {
            WebhookEvent(
                serial: serial, user: UserID(serial), time: Self.start, kind: "session.created",
                details: AuditDetails(recorded: details), publicID: "u-\(serial)")
        }
        let later = Self.start.advanced(bySeconds: 1)
        // A sign-in that registered its user is a user.created.
        var queue = queue(types: [.userCreated])
        queue.take([signIn(1, "{}"), signIn(2, #"{"new_user":true}"#)], through: 2, givingUpBefore: later)
        #expect(queue.takeProgress()?.droppedSerials == 2...2)
        // That of a user in the backlog is given up when it is read again.
        queue = self.queue([UserID(1): row(1)])
        queue.take([event(2, of: 1)], through: 2, givingUpBefore: later)
        #expect(queue.takeProgress()?.dropped == 0)
        _ = queue.next(at: later)
        queue.finishReading(of: UserID(1), [event(2, of: 1)], through: 2, givingUpBefore: later)
        #expect(queue.takeProgress()?.dropped == 1)
    }

    @Test("What was given up, or passed over, and could not be stored is stored later, with what came since")
    func restoreGivenUp() throws {
        let later = Self.start.advanced(bySeconds: 1)
        var queue = queue()
        queue.take([event(3, of: 1, kind: "identity.linked")], through: 3, givingUpBefore: Self.never)
        let passed = queue.takeProgress()
        queue.restore(try #require(passed))
        #expect(queue.takeProgress() == passed && passed?.cursor == 3)
        queue.take([event(5, of: 1), event(4, of: 2)], through: 5, givingUpBefore: later)
        let taken = queue.takeProgress()
        #expect(taken?.droppedSerials == 4...5)
        queue.restore(try #require(taken))
        queue.take([event(8, of: 1)], through: 8, givingUpBefore: later)
        let again = queue.takeProgress()
        #expect(again?.dropped == 3 && again?.droppedSerials == 4...8)
    }

    @Test("The oldest is the first event that waits in memory, or the first failure of a user in the backlog")
    func oldest() {
        var queue = queue()
        #expect(queue.oldest == nil)
        let (first, second) = (Self.start.advanced(bySeconds: -20), Self.start.advanced(bySeconds: -10))
        let events = [event(1, of: 1, at: first), event(2, of: 2, at: second)]
        queue.take(events, through: 2, givingUpBefore: Self.never)
        #expect(queue.oldest == first)
        _ = sendAll(&queue)
        queue.finish(events[0], .failed("500", retryAfter: nil), at: Self.start)
        #expect(queue.oldest == second)
        queue.finish(events[1], .delivered, at: Self.start)
        #expect(queue.oldest == Self.start)
        let due = Self.start.advanced(bySeconds: 5)
        _ = queue.next(at: due)
        queue.finishReading(of: UserID(1), [], through: 2, givingUpBefore: Self.never)
        #expect(queue.oldest == nil)
    }

    @Test("A request that was stopped is neither delivered nor failed")
    func stopped() {
        var queue = queue()
        take([1], &queue)
        _ = send(&queue)
        queue.finish(event(1, of: 1), .stopped, at: Self.start)
        #expect(queue.takeProgress() == nil && queue.cursor == 0 && queue.backlog.isEmpty && queue.isIdle)
    }
}
