import CLatchkeySystem
import Glibc

/// An epoll set with an eventfd that wakes its thread. The loop and its thread share it; the last of them closes it.
///
/// Sendable without the compiler's check: `events` is used by the thread only; the rest never changes.
final class Poller: @unchecked Sendable {
    /// The event data of the eventfd. No slot has this number.
    static let wakeKey = UInt64.max
    static let eventsPerWait = 256

    /// The events of the last ``wait(milliseconds:)``.
    let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: Poller.eventsPerWait)
    private let set: Int32
    private let wakeDescriptor: Int32

    init() throws(SystemError) {
        // The end of this object closes what there is, also if it comes by an error.
        set = epoll_create1(Int32(EPOLL_CLOEXEC))
        wakeDescriptor = set < 0 ? -1 : eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard set >= 0 else { throw .last("epoll_create1") }
        guard wakeDescriptor >= 0 else { throw .last("eventfd") }
        // Edge-triggered: each write is an event, so that nothing has to be read back.
        var event = epoll_event()
        event.events = EPOLLIN.rawValue | EPOLLET.rawValue
        event.data.u64 = Poller.wakeKey
        guard epoll_ctl(set, EPOLL_CTL_ADD, wakeDescriptor, &event) == 0 else { throw .last("epoll_ctl") }
    }

    deinit {
        SystemCalls.closeDescriptor(wakeDescriptor)
        SystemCalls.closeDescriptor(set)
        events.deallocate()
    }

    /// Watches a descriptor for reading and writing, edge-triggered.
    func add(_ descriptor: Int32, key: UInt64) throws(SystemError) {
        var event = epoll_event()
        event.events = EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue
        event.data.u64 = key
        guard epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event) == 0 else { throw .last("epoll_ctl") }
    }

    func remove(_ descriptor: Int32) { epoll_ctl(set, EPOLL_CTL_DEL, descriptor, nil) }

    /// Waits for events; -1 waits without a limit. Returns their number.
    func wait(milliseconds: Int32) -> Int {
        max(0, Int(epoll_wait(set, events, Int32(Poller.eventsPerWait), milliseconds)))
    }

    /// Ends the present wait, or the next one.
    func wake() {
        var one: UInt64 = 1
        // Fails only at the counter's maximum, 2^64 - 2.
        _ = write(wakeDescriptor, &one, MemoryLayout<UInt64>.size)
    }
}
