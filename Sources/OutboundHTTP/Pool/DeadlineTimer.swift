import CLatchkeySystem
import EventLoops

/// Tells its pool when the earliest deadline has come. The tick of a loop is too coarse for short timeouts.
///
/// It is set for an earlier time only: an exchange that ends in time costs no system call. So it may fire when nothing
/// is due.
final class DeadlineTimer: LoopMember {
    private let descriptor: Int32
    private var registration: EventLoop.Registration?
    private var due = MonotonicTime.never
    /// Nil once the timer is closed.
    private var pool: ConnectionPool?

    /// On the pool's loop.
    init(for pool: ConnectionPool) throws(SystemError) {
        descriptor = timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC | TFD_NONBLOCK))
        guard descriptor >= 0 else { throw .last("timerfd_create") }
        do throws(SystemError) {
            registration = try pool.loop.register(self, descriptor: descriptor)
        } catch {
            SystemCalls.closeDescriptor(descriptor)
            throw error
        }
        self.pool = pool
    }

    func set(to time: MonotonicTime) {
        guard time < due else { return }
        due = time
        var setting = itimerspec()
        // All zero would turn the timer off.
        setting.it_value.tv_sec = Int(time.nanoseconds / 1_000_000_000)
        setting.it_value.tv_nsec = Int(time.nanoseconds % 1_000_000_000)
        timerfd_settime(descriptor, Int32(TFD_TIMER_ABSTIME), &setting, nil)
    }

    func close() {
        guard let pool else { return }
        self.pool = nil
        if let registration { pool.loop.unregister(registration, descriptor: descriptor) }
        SystemCalls.closeDescriptor(descriptor)
    }

    func becameReady(peerHasEnded: Bool, at now: MonotonicTime) {
        // Set again, the timer reports again without having been read.
        guard let pool, now >= due else { return }
        due = .never
        pool.timePassed(at: now)
    }

    func abandon() { pool?.close() }
}
