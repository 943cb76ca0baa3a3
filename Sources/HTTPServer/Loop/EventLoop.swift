import CLatchkeySystem
import Dispatch
import Glibc
import Synchronization

/// An owner of a descriptor on a loop. Called on the loop's queue only.
protocol LoopMember: AnyObject {
    /// The descriptor may be readable or writable.
    /// - Parameter peerHasEnded: Whether the peer has closed or reset. There may be bytes to read before its end.
    func becameReady(peerHasEnded: Bool, at now: MonotonicTime)
    /// Time has passed.
    func tick(at now: MonotonicTime)
    /// The server is about to stop: finish the current work.
    func drain()
    /// The server stops now.
    func abandon()
}

/// A serial Dispatch queue with an epoll set: the set's descriptor has one `DispatchSource`, so that one wake-up of
/// Dispatch serves all ready connections. Members register once, edge-triggered, for reading and writing; no further
/// system call is needed until they close.
///
/// A loop is also the executor of its requests' tasks: a handler that awaits resumes on its connection's queue, and the
/// response is written without another hop.
///
/// Sendable without the compiler's check: everything below except `inbox` is used on `queue` only.
final class EventLoop: TaskExecutor, @unchecked Sendable {
    /// Identifies a member in the poller's events. The generation tells a slot's current member from an earlier one.
    struct Registration {
        fileprivate let slot: Int
        fileprivate let generation: UInt32
    }

    private struct Slot {
        var member: (any LoopMember)?
        var generation: UInt32 = 0
    }

    private enum Work {
        case job(UnownedJob)
        case call(@Sendable () -> Void)
    }

    private struct Inbox {
        var work: [Work] = []
        /// Whether a turn is running or scheduled, which will empty the inbox before it ends.
        var isAttended = false
    }

    private static let eventsPerWait = 256
    private static let endEvents = EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue
    /// A buffer that has grown larger is released.
    static let keptWriteCapacity = 256 * 1024

    let queue: DispatchQueue
    /// The bytes of a read are used or copied before the next read.
    let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
    /// For responses on their way to a socket.
    var writeBuffer: [UInt8] = []
    var date = DateField()

    private let poller: Int32
    private let source: any DispatchSourceRead
    private let timer: any DispatchSourceTimer
    private let events: UnsafeMutablePointer<epoll_event>
    private let inbox = Mutex(Inbox())
    private let tickInterval: Duration
    private var nextTick: MonotonicTime
    private var slots: [Slot] = []
    private var freeSlots: [Int] = []

    init(label: String, tick: Duration) throws(SystemError) {
        poller = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard poller >= 0 else { throw .last("epoll_create1") }
        tickInterval = tick
        nextTick = MonotonicTime.now().advanced(by: tick)
        queue = DispatchQueue(label: label, qos: .userInitiated)
        source = DispatchSource.makeReadSource(fileDescriptor: poller, queue: queue)
        timer = DispatchSource.makeTimerSource(queue: queue)
        events = .allocate(capacity: EventLoop.eventsPerWait)
        source.setEventHandler { [weak self] in self?.turn() }
        timer.setEventHandler { [weak self] in self?.tickMembersIfDue(at: .now()) }
        let interval = DispatchTimeInterval.milliseconds(Int(tick / .milliseconds(1)))
        timer.schedule(deadline: .now() + interval, repeating: interval, leeway: interval)
        let poller = poller
        source.setCancelHandler { SystemCalls.closeDescriptor(poller) }
        source.resume()
        timer.resume()
    }

    deinit {
        source.cancel()
        timer.cancel()
        events.deallocate()
        readBuffer.deallocate()
    }

    // MARK: Members

    /// Watches a descriptor for a member, edge-triggered: the member gets each event once, and reads, writes or accepts
    /// until the call would block. On the loop's queue.
    func register(_ member: any LoopMember, descriptor: Int32) throws(SystemError) -> Registration {
        let slot = freeSlots.popLast() ?? slots.count
        if slot == slots.count { slots.append(Slot()) }
        let registration = Registration(slot: slot, generation: slots[slot].generation)
        var event = epoll_event()
        event.events = EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue
        event.data.u64 = UInt64(slot) | UInt64(registration.generation) << 32
        guard epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) == 0 else {
            let error = SystemError.last("epoll_ctl")
            freeSlots.append(slot)
            throw error
        }
        slots[slot].member = member
        return registration
    }

    /// Removes a member. On the loop's queue.
    func unregister(_ registration: Registration, descriptor: Int32) {
        guard slots[registration.slot].generation == registration.generation else { return }
        epoll_ctl(poller, EPOLL_CTL_DEL, descriptor, nil)
        slots[registration.slot].member = nil
        slots[registration.slot].generation &+= 1
        freeSlots.append(registration.slot)
    }

    func drainMembers() { for index in slots.indices { slots[index].member?.drain() } }

    func abandonMembers() { for index in slots.indices { slots[index].member?.abandon() } }

    // MARK: Work

    /// Runs something on the loop's queue, soon.
    func execute(_ call: @escaping @Sendable () -> Void) { submit(.call(call)) }

    func enqueue(_ job: consuming ExecutorJob) { submit(.job(UnownedJob(job))) }

    private func submit(_ work: Work) {
        let mustWake = inbox.withLock { inbox in
            inbox.work.append(work)
            defer { inbox.isAttended = true }
            return !inbox.isAttended
        }
        if mustWake { queue.async { self.turn() } }
    }

    /// Serves work and events until there are none.
    private func turn() {
        inbox.withLock { $0.isAttended = true }
        while true {
            runWork()
            let count = Int(epoll_wait(poller, events, Int32(EventLoop.eventsPerWait), 0))
            let now = MonotonicTime.now()
            if count > 0 { deliver(count, at: now) }
            // Under constant load the timer's handler would never run.
            tickMembersIfDue(at: now)
            let isDone = inbox.withLock { inbox in
                guard inbox.work.isEmpty, count <= 0 else { return false }
                inbox.isAttended = false
                return true
            }
            if isDone { return }
        }
    }

    private func runWork() {
        let work = inbox.withLock { inbox in
            let work = inbox.work
            inbox.work = []
            return work
        }
        for item in work {
            switch item {
            case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
            case .call(let call): call()
            }
        }
    }

    private func deliver(_ count: Int, at now: MonotonicTime) {
        for index in 0..<count {
            let key = events[index].data.u64
            let slot = Int(key & 0xFFFF_FFFF)
            guard slots[slot].generation == UInt32(truncatingIfNeeded: key >> 32) else { continue }
            let hasEnded = events[index].events & EventLoop.endEvents != 0
            slots[slot].member?.becameReady(peerHasEnded: hasEnded, at: now)
        }
    }

    private func tickMembersIfDue(at now: MonotonicTime) {
        guard now >= nextTick else { return }
        nextTick = now.advanced(by: tickInterval)
        for index in slots.indices { slots[index].member?.tick(at: now) }
    }
}
