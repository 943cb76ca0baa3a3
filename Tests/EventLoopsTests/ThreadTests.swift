import CLatchkeySystem
import EventLoops
import Glibc
import Testing

@Suite("Threads")
struct ThreadTests {
    private static let faults = [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT]

    /// A handler of a signal runs on any thread that takes the signal. SIGKILL and SIGSTOP cannot be blocked.
    @Test("A thread takes no signals but its own faults, and its creator takes the same ones as before")
    func signals() async throws {
        let found = try await withCheckedThrowingContinuation { done in
            // Threads of Dispatch, which run tests, take few signals themselves.
            withEmptyMask {
                startThread("signals", done) { blockedSignals() }
                #expect(blockedSignals().isEmpty)
            }
        }
        #expect(Set(1..<32).subtracting(found) == Set(Self.faults + [SIGKILL, SIGSTOP]))
    }

    @Test("A thread has its name, at most 15 bytes of it")
    func name() async throws {
        // Of the last name, 16 bytes are looked for. A thread may still run when the next one counts.
        for (name, prefix, count) in [
            ("a-name-of-21-bytes-ok", "a-name-of-21-by", 1), ("b-name-of-21-bytes-ok", "b-name-of-21-byt", 0),
        ] {
            let found = try await withCheckedThrowingContinuation { done in
                startThread(name, done) { try? threads(named: prefix) }
            }
            #expect(found == count)
        }
    }
}

/// The signals that the calling thread does not take.
private func blockedSignals() -> [Int32] {
    var mask = sigset_t()
    guard pthread_sigmask(SIG_BLOCK, nil, &mask) == 0 else { return [] }
    return (1..<32).filter { sigismember(&mask, $0) == 1 }
}

/// Calls a function on a thread that takes all signals meanwhile.
private func withEmptyMask(_ body: () -> Void) {
    var (empty, previous) = (sigset_t(), sigset_t())
    sigemptyset(&empty)
    pthread_sigmask(SIG_SETMASK, &empty, &previous)
    body()
    pthread_sigmask(SIG_SETMASK, &previous, nil)
}

private final class Call: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// Resumes a test with the value of a function that runs on a new thread.
private func startThread<Value: Sendable>(
    _ name: String, _ done: CheckedContinuation<Value, any Error>, _ body: @escaping @Sendable () -> Value
) {
    let call = Unmanaged.passRetained(Call { done.resume(returning: body()) })
    let error = csystem_start_thread(
        name,
        { context in
            guard let context else { return }
            Unmanaged<Call>.fromOpaque(context).takeRetainedValue().body()
        }, call.toOpaque())
    guard error != 0 else { return }
    call.release()
    done.resume(throwing: SystemError(call: "pthread_create", number: error))
}
