import Dispatch
import EventLoops
import Glibc
import Synchronization
import TestSupport

/// Runs something on a loop's thread.
func on(_ loop: EventLoop, _ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
        loop.execute { done.resume(with: Result { try body() }) }
    }
}

/// Waits until a loop has run what was submitted before.
func passed(_ loop: EventLoop) async {
    await withCheckedContinuation { done in loop.execute { done.resume() } }
}

/// Dispatch opens an epoll set and an eventfd for its first timer.
let ofDispatch = 2

/// The number of this process's descriptors of the kinds that a loop opens.
func pollerDescriptors() throws -> Int {
    try entries("/proc/self/fd").count { name in
        var bytes = [CChar](repeating: 0, count: 64)
        let count = readlink("/proc/self/fd/\(name)", &bytes, bytes.count)
        let target = text(bytes, max(0, count))
        return target == "anon_inode:[eventpoll]" || target == "anon_inode:[eventfd]"
    }
}

/// The number of this process's threads whose name begins with a text.
func threads(named prefix: String) throws -> Int {
    try entries("/proc/self/task").count { number in
        let file = open("/proc/self/task/\(number)/comm", O_RDONLY)
        guard file >= 0 else { return false }
        defer { close(file) }
        var bytes = [CChar](repeating: 0, count: 64)
        let count = read(file, &bytes, bytes.count)
        return text(bytes, max(0, count)).hasPrefix(prefix)
    }
}

private func text(_ bytes: [CChar], _ count: Int) -> String {
    String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// The names in a folder.
private func entries(_ path: String) throws -> [String] {
    guard let folder = opendir(path) else { throw SystemError(call: "opendir", number: errno) }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
        names.append(
            withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
    }
    return names
}

extension EventLoopTests {
    /// Waits until each of fifty serial queues of Dispatch has run something while all others wait for it.
    static func passedByDispatch() async {
        let queues = (0..<50).map { DispatchQueue(label: "queue-\($0)") }
        for queue in queues {
            await withCheckedContinuation { done in queue.async { done.resume() } }
        }
    }
}

/// Blocks a thread until another one opens the gate.
final class DispatchGate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func pass() { semaphore.wait() }
    func open() { semaphore.signal() }
}

/// Calls something when its last reference is gone.
final class AtEnd: Sendable {
    private let call: @Sendable () -> Void

    init(_ call: @escaping @Sendable () -> Void) { self.call = call }

    deinit { call() }
}

/// A pipe that does not block.
final class Pipe: Sendable {
    let reading: Int32
    private let writing: Int32

    init() throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw SystemError(call: "pipe", number: errno) }
        for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        (reading, writing) = (ends[0], ends[1])
    }

    deinit {
        close(reading)
        close(writing)
    }

    func write() {
        var byte: UInt8 = 1
        _ = Glibc.write(writing, &byte, 1)
    }
}

/// Counts what a loop tells it.
///
/// Sendable without the compiler's check: the registration and `onReady` are used on the loop's thread.
final class Member: LoopMember, @unchecked Sendable {
    private let descriptor: Int32?
    private let counts = Mutex((calls: 0, bytes: 0, ticks: 0))
    private var registration: EventLoop.Registration?
    var onReady: () -> Void = {}

    /// - Parameter descriptor: Nil for a member that is told of the time only.
    init(_ descriptor: Int32?) { self.descriptor = descriptor }

    var calls: Int { counts.withLock { $0.calls } }
    var bytes: Int { counts.withLock { $0.bytes } }
    var ticks: Int { counts.withLock { $0.ticks } }

    func begin(on loop: EventLoop) throws {
        registration = try descriptor.map { try loop.register(self, descriptor: $0) } ?? loop.register(self)
    }

    func setAlarm(to time: MonotonicTime, on loop: EventLoop) {
        if let registration { loop.setAlarm(of: registration, to: time) }
    }

    func end(on loop: EventLoop) {
        if let registration { loop.unregister(registration, descriptor: descriptor) }
        registration = nil
        onReady = {}
    }

    func becameReady(peerHasEnded: Bool, at now: MonotonicTime) {
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor ?? -1, &buffer, buffer.count)
        counts.withLock {
            $0.calls += 1
            $0.bytes += max(0, count)
        }
        onReady()
    }

    func tick(at now: MonotonicTime) { counts.withLock { $0.ticks += 1 } }
    func drain() {}
    func abandon() {}
}
