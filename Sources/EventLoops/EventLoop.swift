import CLatchkeySystem
import Dispatch
import Glibc
import Synchronization

/// A Dispatch queue with an epoll set and a list of work. It waits in `epoll_wait` for as long as it runs; one wait
/// serves all ready descriptors. Members register once, edge-triggered, for reading and writing; no further system call
/// is needed until they close.
///
/// A loop is also the executor of its requests' tasks: a handler that awaits resumes on its connection's loop, and the
/// response is written without another hop.
///
/// When the last reference to a loop is gone, it runs the remaining work, closes its descriptors, and its block on the
/// queue returns. A loop holds its registered members, and most members hold their loop.
///
/// Sendable without the compiler's check: everything below except `inbox` is used on the loop's thread only. Debug
/// builds assert that of what members and owners call there.
///
/// Properties that every turn uses several times are not checked for overlapping accesses at run time: each access is
/// over before other code runs. The checks of these, and of connections, are a tenth of a session check's instructions.
package final class EventLoop: TaskExecutor, @unchecked Sendable {
    /// Identifies a member in the poller's events. The generation tells a slot's current member from an earlier one.
    package struct Registration {
        fileprivate let slot: Int
        fileprivate let generation: UInt32
    }

    private struct Slot {
        var member: (any LoopMember)?
        var generation: UInt32 = 0
    }

    /// The time at which the loop calls one member. A tick calls all members.
    private struct Alarm {
        let member: Registration
        let time: MonotonicTime
    }

    private enum Work {
        case job(UnownedJob)
        case call(@Sendable () -> Void)
        /// In the place of work that was taken to be run.
        case taken
    }

    /// What other threads submit.
    private struct Inbox {
        var work: [Work] = []
        /// Whether a turn is running or will begin, which empties the inbox.
        var isWakePending = false
        /// How often the thread was woken.
        var wakeCount = 0
        /// The loop until that turn begins: this reference keeps it alive until it has run the submitted work.
        var loop: EventLoop?
    }

    private static let endEvents = EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue
    /// How much work is run before the loop looks for events again.
    private static let workPerTurn = 256

    /// The bytes of a read are used or copied before the next read.
    package let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)

    /// What a read has put into ``readBuffer``.
    @inlinable
    package func received(_ count: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeRawBufferPointer(rebasing: readBuffer[..<count]).bindMemory(to: UInt8.self)
    }

    private let poller: Poller
    private let inbox = Mutex(Inbox())
    private let tickInterval: Duration
    @exclusivity(unchecked) private var nextTick: MonotonicTime
    /// How many turns the due tick has waited for events.
    private var lateTurns = 0
    /// On the loop's thread. Tests set it.
    @exclusivity(unchecked) package var delay: LoopDelay
    @exclusivity(unchecked) private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    /// Few members have one.
    private var alarms: [Alarm] = []
    /// The earliest of ``alarms``.
    private var nextAlarm = MonotonicTime.never
    /// Work to run. Work submitted on the loop's thread comes here without a lock.
    @exclusivity(unchecked) private var work: [Work] = []
    /// Whether the present turn began with more than one event or piece of work. What is written in such a turn can
    /// wait for the rest of it. The event by which another thread wakes the loop counts, too.
    package private(set) var hasMoreWorkThisTurn = false

    /// The most loops of a process: enough for two servers with 64 each, and for outbound clients. Each takes a worker
    /// of Dispatch for as long as it lives, and with 255 of them in use nothing else would run.
    package static let maximumCount = 160
    private static let count = Atomic(0)

    /// Starts a loop.
    /// - Throws: If the process has ``maximumCount`` loops or no descriptors.
    /// - Parameter tick: How often members are told that time has passed.
    package init(label: String, tick: Duration) throws(SystemError) {
        poller = try Poller()
        guard EventLoop.count.add(1, ordering: .relaxed).newValue <= EventLoop.maximumCount else {
            EventLoop.count.subtract(1, ordering: .relaxed)
            throw SystemError(call: "start of an event loop", number: EAGAIN)
        }
        tickInterval = tick
        let now = MonotonicTime.now()
        nextTick = now.advanced(by: tick)
        delay = LoopDelay(at: now)
        start(label)
    }

    deinit {
        EventLoop.count.subtract(1, ordering: .relaxed)
        readBuffer.deallocate()
        // The thread finds the loop gone.
        poller.wake()
    }

    /// The loop whose thread runs the calling code.
    package static var current: EventLoop? {
        csystem_current_loop().map { Unmanaged<EventLoop>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Whether the calling code runs on this loop's thread.
    package var isCurrent: Bool { csystem_current_loop() == Unmanaged.passUnretained(self).toOpaque() }

    // MARK: Members

    /// Watches a descriptor for a member, edge-triggered: the member gets each event once, and reads, writes or accepts
    /// until the call would block. On the loop's thread.
    package func register(_ member: any LoopMember, descriptor: Int32) throws(SystemError) -> Registration {
        let registration = register(member)
        do throws(SystemError) {
            try poller.add(descriptor, key: UInt64(registration.slot) | UInt64(registration.generation) << 32)
        } catch {
            unregister(registration, descriptor: nil)
            throw error
        }
        return registration
    }

    /// Adds a member without a descriptor: the loop calls only its tick. On the loop's thread.
    package func register(_ member: any LoopMember) -> Registration {
        assert(isCurrent)
        let slot = freeSlots.popLast() ?? slots.count
        if slot == slots.count { slots.append(Slot()) }
        slots[slot].member = member
        return Registration(slot: slot, generation: slots[slot].generation)
    }

    /// Removes a member. On the loop's thread.
    /// - Parameter descriptor: The one that it was registered with.
    package func unregister(_ registration: Registration, descriptor: Int32?) {
        assert(isCurrent)
        guard slots[registration.slot].generation == registration.generation else { return }
        if let descriptor { poller.remove(descriptor) }
        slots[registration.slot].member = nil
        slots[registration.slot].generation &+= 1
        freeSlots.append(registration.slot)
    }

    /// Has all members finish their work. On the loop's thread.
    package func drainMembers() {
        assert(isCurrent)
        for index in slots.indices { slots[index].member?.drain() }
    }

    /// Has all members stop now. On the loop's thread.
    package func abandonMembers() {
        assert(isCurrent)
        for index in slots.indices { slots[index].member?.abandon() }
    }

    // MARK: Work

    /// Runs something on the loop's thread, soon, after what was submitted before by the same thread.
    package func execute(_ call: @escaping @Sendable () -> Void) { submit(.call(call)) }

    package func enqueue(_ job: consuming ExecutorJob) { submit(.job(UnownedJob(job))) }

    private func submit(_ item: Work) {
        if isCurrent { return work.append(item) }
        let mustWake = inbox.withLock { inbox in
            inbox.work.append(item)
            guard !inbox.isWakePending else { return false }
            inbox.isWakePending = true
            inbox.loop = self
            inbox.wakeCount += 1
            return true
        }
        if mustWake { poller.wake() }
    }

    package var wakeCount: Int { inbox.withLock { $0.wakeCount } }

    // MARK: Turns

    /// Has a worker wait and take turns until the loop is released.
    ///
    /// A block of Dispatch's for each turn would cost a second context switch. Of the workers of this quality of
    /// service, ``maximumCount`` may be loops.
    private func start(_ label: String) {
        // The block never holds the loop while it waits, or no loop would be released.
        Worker.start(label, quality: .userInitiated) { [weak self, poller] in
            // Not released between two turns while there is work.
            var busy: EventLoop?
            var milliseconds: Int32 = 0
            while true {
                let count = poller.wait(milliseconds: milliseconds)
                guard let loop = busy ?? self else { return }
                csystem_set_current_loop(Unmanaged.passUnretained(loop).toOpaque())
                milliseconds = loop.turn(events: count)
                // Before the loop may be released.
                csystem_set_current_loop(nil)
                busy = loop.hasWork ? loop : nil
            }
        }
    }

    private var hasWork: Bool { !work.isEmpty }

    /// Serves events and work.
    /// - Returns: For how many milliseconds to wait until the next turn, if no event comes; -1 for no limit.
    private func turn(events count: Int) -> Int32 {
        drainInbox()
        hasMoreWorkThisTurn = count + work.count > 1
        let now = MonotonicTime.now()
        delay.beginTurn(at: now)
        if count > 0 { deliver(count, at: now) }
        runWork()
        let later = MonotonicTime.now()
        tickMembersIfDue(at: later, events: count)
        delay.endTurn(at: later, hasRest: count == Poller.eventsPerWait || hasWork)
        return drainInbox(maySleep: true) || hasWork ? 0 : timeout(at: later)
    }

    /// Takes what other threads have submitted.
    /// - Parameter maySleep: Whether others have to wake the loop if there is no work.
    @discardableResult
    private func drainInbox(maySleep: Bool = false) -> Bool {
        var taken: [Work] = []
        let isResting = maySleep && !hasWork
        // The thread holds the loop during the turn: this is not the last reference.
        inbox.withLock { inbox in
            swap(&taken, &inbox.work)
            inbox.isWakePending = !(isResting && taken.isEmpty)
            inbox.loop = nil
        }
        work.append(contentsOf: taken)
        return !taken.isEmpty
    }

    private func runWork() {
        var count = 0
        while count < EventLoop.workPerTurn, count < work.count {
            let item = work[count]
            // What only a closure holds ends here, and not in a change of `work`: its end may submit work.
            work[count] = .taken
            count += 1
            switch item {
            case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
            case .call(let call): call()
            case .taken: break
            }
        }
        if count == work.count {
            work.removeAll(keepingCapacity: work.capacity <= EventLoop.workPerTurn)
        } else {
            work.removeSubrange(..<count)
        }
    }

    private func deliver(_ count: Int, at now: MonotonicTime) {
        for index in 0..<count {
            let key = poller.events[index].data.u64
            let slot = Int(key & 0xFFFF_FFFF)
            guard key != Poller.wakeKey, slots[slot].generation == UInt32(truncatingIfNeeded: key >> 32) else {
                continue
            }
            let hasEnded = poller.events[index].events & EventLoop.endEvents != 0
            slots[slot].member?.becameReady(peerHasEnded: hasEnded, at: now)
        }
    }

    // MARK: Time

    /// Has a member told at this time that it has passed, if the next tick would come later. The time replaces that of
    /// an earlier call. On the loop's thread.
    package func setAlarm(of member: Registration, to time: MonotonicTime) {
        assert(isCurrent)
        guard slots[member.slot].generation == member.generation else { return }
        alarms.removeAll { $0.member.slot == member.slot }
        alarms.append(Alarm(member: member, time: time))
        nextAlarm = alarms.map(\.time).min() ?? .never
    }

    private func tickMembersIfDue(at now: MonotonicTime, events count: Int) {
        guard now >= min(nextTick, nextAlarm) else { return }
        if mustCatchUp(at: now, events: count) { return }
        let due = alarms.filter { $0.time <= now }
        alarms.removeAll { $0.time <= now }
        nextAlarm = alarms.map(\.time).min() ?? .never
        if now >= nextTick {
            nextTick = now.advanced(by: tickInterval)
            for index in slots.indices { slots[index].member?.tick(at: now) }
        } else {
            for alarm in due where slots[alarm.member.slot].generation == alarm.member.generation {
                slots[alarm.member.slot].member?.tick(at: now)
            }
        }
        runWork()
    }

    /// Whether events come first, because the loop was late. While the process or its machine was stopped, requests may
    /// have come in time for deadlines that have passed since. But the tick does not wait for a loop that is only busy.
    private func mustCatchUp(at now: MonotonicTime, events count: Int) -> Bool {
        let isLate = now >= min(nextTick, nextAlarm).advanced(by: tickInterval)
        guard isLate, lateTurns == 0 || (count == Poller.eventsPerWait && lateTurns < 64) else {
            lateTurns = 0
            return false
        }
        lateTurns += 1
        return true
    }

    /// Until the next tick; without members there is none to wait for.
    private func timeout(at now: MonotonicTime) -> Int32 {
        guard freeSlots.count < slots.count else { return -1 }
        let next = min(nextTick, nextAlarm)
        guard next > now else { return 0 }
        // Rounded up, or the loop would turn in vain during the last millisecond.
        return Int32(clamping: (next.nanoseconds - now.nanoseconds + 999_999) / 1_000_000)
    }
}

/// What a loop serves, mostly the owner of a descriptor. Called on the loop's thread only.
package protocol LoopMember: AnyObject {
    /// The descriptor may be readable or writable.
    /// - Parameter peerHasEnded: Whether the peer has closed or reset. There may be bytes to read before its end.
    func becameReady(peerHasEnded: Bool, at now: MonotonicTime)
    func tick(at now: MonotonicTime)
    /// The server is about to stop: finish the current work.
    func drain()
    /// The server stops now.
    func abandon()
}

extension LoopMember {
    package func becameReady(peerHasEnded: Bool, at now: MonotonicTime) {}
    package func tick(at now: MonotonicTime) {}
    package func drain() {}
    package func abandon() {}
}
