import Dispatch
import EventLoops
import Glibc
import Testing

@Suite("Workers")
struct WorkerTests {
    /// A handler of a signal runs on any thread that takes the signal.
    @Test("A worker takes its own faults, and not the signals that others send")
    func signals() async {
        let blocked = await withCheckedContinuation { done in
            Worker.start("signals") { done.resume(returning: blockedSignals()) }
        }
        #expect(blocked.isSuperset(of: [SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGALRM, SIGCHLD, SIGUSR1, SIGUSR2]))
        #expect(blocked.contains(SIGPIPE))
        #expect(blocked.isDisjoint(with: [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP]))
    }

    @Test("A worker has its name, at most 15 bytes of it")
    func name() async throws {
        // Of the last name, 16 bytes are looked for. A thread may still have its name when the next one counts.
        for (name, prefix, count) in [
            ("a-name-of-21-bytes-ok", "a-name-of-21-by", 1), ("b-name-of-21-bytes-ok", "b-name-of-21-byt", 0),
        ] {
            let found = await withCheckedContinuation { done in
                Worker.start(name) { done.resume(returning: try? threads(named: prefix)) }
            }
            #expect(found == count)
        }
    }

    @Test("Workers that block keep no other from running")
    func blocking() async {
        let gate = DispatchSemaphore(value: 0)
        for _ in 0..<32 { Worker.start("blocked") { gate.wait() } }
        await withCheckedContinuation { done in Worker.start("free") { done.resume() } }
        for _ in 0..<32 { gate.signal() }
    }
}

/// The signals that the calling thread does not take.
private func blockedSignals() -> Set<Int32> {
    var mask = sigset_t()
    guard pthread_sigmask(SIG_BLOCK, nil, &mask) == 0 else { return [] }
    return Set(1..<32).filter { sigismember(&mask, $0) == 1 }
}
