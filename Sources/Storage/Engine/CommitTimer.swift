import Glibc
import Primitives

/// Lets a worker wait before it runs a batch. Tests have their own.
package protocol CommitTimer: Sendable {
    /// A monotonic clock.
    var nanoseconds: UInt64 { get }
    /// Blocks until the time has passed or ``end()`` is called. It may return earlier.
    func wait(nanoseconds: UInt64)
    /// Ends the wait that has begun, or the next one.
    func end()
}

/// A commit timer with the system's clock.
///
/// Not with a semaphore of Dispatch: its waits follow the time of day, so that they would last until the former time if
/// the time of day were set back.
///
/// `@unchecked`: `hasEnded` is used with `mutex` only.
package final class SystemCommitTimer: CommitTimer, @unchecked Sendable {
    private let stopwatch = Stopwatch()
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var hasEnded = false

    package init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    package var nanoseconds: UInt64 { stopwatch.nanoseconds }

    package func wait(nanoseconds: UInt64) {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let later = UInt64(deadline.tv_nsec) + nanoseconds % 1_000_000_000
        deadline.tv_sec += Int(clamping: nanoseconds / 1_000_000_000 + later / 1_000_000_000)
        deadline.tv_nsec = Int(later % 1_000_000_000)
        pthread_mutex_lock(mutex)
        while !hasEnded, pthread_cond_timedwait(condition, mutex, &deadline) == 0 {}
        hasEnded = false
        pthread_mutex_unlock(mutex)
    }

    package func end() {
        pthread_mutex_lock(mutex)
        hasEnded = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }
}
