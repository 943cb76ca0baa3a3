package import Primitives

/// Decides when which spans are exported, and counts what became of them. A value without I/O; times are from an
/// ``Uptime``.
///
/// At most ``Limits/waiting`` spans wait, and at most ``Limits/batch`` are being exported.
package struct SpanBatching: Sendable {
    package struct Limits: Sendable {
        /// The most spans that wait.
        package var waiting = 4096
        /// The most spans of one export. As soon as so many wait, they are exported.
        package var batch = 512
        /// For how long a span waits for others.
        package var delay = Duration.seconds(5)
        /// How often a batch is sent before it is dropped.
        package var attempts = 5
    }

    /// The spans so far, by what became of them.
    package struct Counts: Sendable, Hashable {
        package var exported: UInt64 = 0
        /// Dropped for newer ones.
        package var displaced: UInt64 = 0
        /// Refused by the receiver.
        package var refused: UInt64 = 0
        /// Dropped after ``Limits/attempts``.
        package var failed: UInt64 = 0
        /// Left at the end of the process.
        package var unsent: UInt64 = 0
    }

    package enum Step: Sendable {
        /// Send these spans now, within a time.
        case send([SpanRecord], Duration)
        /// Ask again after a time, or, without one, after a span was added.
        case wait(Duration?)
        case end
    }

    private let limits: Limits
    private let timeout: Duration
    /// The spans that wait, by their numbers; when they are too many, a new one takes the place of the oldest.
    private var queue: BoundedCache<UInt64, SpanRecord>
    private var added: UInt64 = 0
    /// Taken from the queue, and not exported yet.
    private var batch: [SpanRecord] = []
    private var attempts = 0
    private var retry = RetryDelay()
    private var notBefore = Duration.zero
    /// When the first of the waiting spans came.
    private var waitingSince = Duration.zero
    /// When the process ends.
    private var deadline: Duration?
    package private(set) var counts = Counts()

    package init(_ limits: Limits = Limits(), timeout: Duration) {
        self.limits = limits
        self.timeout = timeout
        queue = BoundedCache(capacity: limits.waiting)
    }

    /// The spans that wait or are being exported.
    package var waiting: Int { queue.count + batch.count }

    /// - Returns: Whether the next step may have changed.
    package mutating func add(_ span: SpanRecord, at now: Duration) -> Bool {
        if queue.count == 0 { waitingSince = now }
        if queue.count == queue.capacity { counts.displaced += 1 }
        queue.put(span, for: added)
        added += 1
        return queue.count == 1 || queue.count == limits.batch
    }

    /// Everything that waits is exported at once, once, until the deadline.
    package mutating func stop(by deadline: Duration) { self.deadline = deadline }

    package mutating func next(at now: Duration) -> Step {
        if let deadline {
            guard now < deadline, fill() else {
                drop()
                return .end
            }
            return .send(batch, min(timeout, deadline - now))
        }
        guard !batch.isEmpty || queue.count > 0 else { return .wait(nil) }
        guard now >= notBefore else { return .wait(notBefore - now) }
        if batch.isEmpty {
            let due = waitingSince + limits.delay
            guard queue.count >= limits.batch || now >= due else { return .wait(due - now) }
            waitingSince = now
            _ = fill()
        }
        return .send(batch, timeout)
    }

    /// The batch was sent. The next one has a delay also if this one was refused, so that a receiver that refuses all
    /// is not flooded.
    package mutating func finish(_ response: ReceiverResponse, at now: Duration, _ random: RandomSource) {
        switch response {
        case .accepted(let rejected):
            let refused = min(rejected, batch.count)
            counts.exported += UInt64(batch.count - refused)
            counts.refused += UInt64(refused)
            batch = []
            retry.reset()
            notBefore = .zero
            return
        case .refused:
            counts.refused += UInt64(batch.count)
            batch = []
            notBefore = now + retry.next(after: nil, random)
        case .unavailable(let retryAfter, _):
            attempts += 1
            if attempts >= limits.attempts {
                counts.failed += UInt64(batch.count)
                batch = []
            }
            notBefore = now + retry.next(after: retryAfter, random)
        }
        if deadline != nil { drop() }
    }

    private mutating func fill() -> Bool {
        if batch.isEmpty {
            let taken = queue.entries.prefix(limits.batch)
            for (number, _) in taken { queue.remove(number) }
            batch = taken.map(\.value)
            attempts = 0
        }
        return !batch.isEmpty
    }

    private mutating func drop() {
        counts.unsent += UInt64(waiting)
        batch = []
        queue.removeAll()
    }
}
