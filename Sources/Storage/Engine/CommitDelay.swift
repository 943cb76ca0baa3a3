/// Until when the works that wait for a commit wait for others that share it.
///
/// A flush costs the same for one work as for many. A caller whose work took long anyway allows its commit a short
/// delay. The delay is used only while such works arrive so often that another one is likely within it. What counts is
/// the average distance of the last ones: works arrive in bursts, and the first one of a burst has a silence before it.
/// PostgreSQL's `commit_delay` and `commit_siblings`, and MySQL's `binlog_group_commit_sync_delay`, do the same in a
/// server.
///
/// Times are in nanoseconds of one monotonic clock.
struct CommitDelay {
    /// For how long works that share a statement on PostgreSQL wait for others, at least. One costs PostgreSQL and this
    /// process a round trip and the beginning and the end of a statement, which others save. Two milliseconds save
    /// little more than half of one, and callers feel them.
    static let shared: UInt64 = 500_000
    /// More than so many works in a commit would save little.
    static let usualEnough = 32
    /// How many arrivals the average of their distances remembers, roughly.
    private static let memory: UInt64 = 16

    /// Once so many works wait, they are committed at once.
    private let enough: Int
    /// When the works that wait are to be committed at the latest; 0 for at once.
    private var due: UInt64 = 0
    private var lastArrival: UInt64?
    /// The average time between two works that allow a delay; nil before the second one.
    private var averageGap: UInt64?
    /// The longest delay that a work has allowed so far.
    private var longestDelay: UInt64 = 0

    init(enough: Int = usualEnough) { self.enough = enough }

    /// A work has begun to wait.
    /// - Parameters:
    ///   - delay: The longest that its commit may be delayed; 0 for not at all.
    ///   - isFirst: Whether no other work waits.
    mutating func admit(allowing delay: UInt64, at now: UInt64, isFirst: Bool) {
        let end = delay > 0 && isLikelyShared(within: delay, at: now) ? now &+ delay : 0
        due = isFirst ? end : min(due, end)
    }

    /// The works that wait are committed as soon as there is a connection.
    mutating func cancel() { due = 0 }

    /// Whether the works are to be committed now, whatever the time.
    func isOver(waiting count: Int) -> Bool { due == 0 || count >= enough }

    /// For how long the works wait on; 0 if they are to be committed now.
    func remaining(waiting count: Int, clock: () -> UInt64) -> UInt64 {
        guard !isOver(waiting: count) else { return 0 }
        let now = clock()
        return due > now ? due - now : 0
    }

    /// Whether another work is likely to arrive within the delay.
    private mutating func isLikelyShared(within delay: UInt64, at now: UInt64) -> Bool {
        defer { lastArrival = now }
        guard let lastArrival else { return false }
        longestDelay = max(longestDelay, delay)
        // A silence counts as a few delays only, or the average would remember it for too long.
        let (product, overflow) = longestDelay.multipliedReportingOverflow(by: 4)
        let silence = overflow ? .max : product
        let gap = min(now > lastArrival ? now - lastArrival : 0, silence)
        let average = averageGap.map { $0 - $0 / Self.memory + gap / Self.memory } ?? gap
        averageGap = average
        return average < delay
    }
}
