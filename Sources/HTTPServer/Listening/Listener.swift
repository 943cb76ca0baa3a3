import CLatchkeySystem
import EventLoops
import Glibc
import Logging

/// Accepts connections and assigns them to the loops in turn.
///
/// Sendable without the compiler's check: mutable state is used on its loop's thread only.
final class Listener: LoopMember, @unchecked Sendable {
    /// How many connections are accepted before the loop serves others.
    private static let acceptsPerTurn = 64

    let address: SocketAddress
    private let descriptor: Int32
    private let loop: EventLoop
    private let loops: [ServerLoop]
    private let service: ConnectionService
    private let logger: Logger
    private var registration: EventLoop.Registration?
    private var nextLoop = 0
    private var isOpen = true
    /// Whether the system had no descriptor or memory left; the next tick retries.
    private var isPaused = false

    init(
        descriptor: Int32, loop: EventLoop, loops: [ServerLoop], service: ConnectionService, logger: Logger
    ) throws(SystemError) {
        self.descriptor = descriptor
        self.loop = loop
        self.loops = loops
        self.service = service
        self.logger = logger
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard result == 0 else { throw .last("getsockname") }
        address = SocketAddress(storage)
    }

    deinit { if isOpen { SystemCalls.closeDescriptor(descriptor) } }

    /// Begins to accept. On the loop's thread.
    func open() {
        do {
            registration = try loop.register(self, descriptor: descriptor)
        } catch {
            logger.error("cannot watch a listening socket", metadata: ["error": "\(error)"])
        }
    }

    /// Accepts the connections that wait already, then no more. On the loop's thread.
    func close() {
        guard isOpen else { return }
        while accept() {}
        isOpen = false
        if let registration { loop.unregister(registration, descriptor: descriptor) }
        SystemCalls.closeDescriptor(descriptor)
    }

    func becameReady(peerHasEnded: Bool, at now: MonotonicTime) { acceptSome() }

    /// Resumes after a lack of descriptors.
    func tick(at now: MonotonicTime) { if isPaused { acceptSome() } }

    func drain() {}
    func abandon() {}

    private func acceptSome() {
        guard isOpen else { return }
        isPaused = false
        for _ in 0..<Listener.acceptsPerTurn {
            guard accept() else { return }
        }
        loop.execute { self.acceptSome() }
    }

    /// Accepts one connection. False if there is none, or none can be accepted now.
    private func accept() -> Bool {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let accepted = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { csystem_accept(descriptor, $0, &length) }
        }
        let number = errno
        guard accepted >= 0 else { return continues(after: number) }
        admit(accepted, from: SocketAddress(storage))
        return true
    }

    /// Whether to continue after a failure (accept(2), NOTES: errors of the connection are reported here too, and must
    /// not end the listener).
    private func continues(after number: Int32) -> Bool {
        switch number {
        case EAGAIN, EWOULDBLOCK: return false
        case EMFILE, ENFILE, ENOBUFS, ENOMEM:
            let error = SystemError(call: "accept", number: number)
            logger.warning(
                "out of descriptors or memory: connections wait to be accepted", metadata: ["error": "\(error)"])
            isPaused = true
            return false
        // The listening socket is unusable: a retry would never end.
        case EBADF, EINVAL, ENOTSOCK, EOPNOTSUPP, EFAULT: return false
        default: return true
        }
    }

    private func admit(_ descriptor: Int32, from peer: SocketAddress) {
        // Without it, the second small write of a response would wait for the acknowledgement of the first.
        try? SystemCalls.setOption(descriptor, level: Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        let now = MonotonicTime.now()
        let target = loops[nextLoop]
        let connection = Connection(descriptor: descriptor, peer: peer, loop: target, service: service, at: now)
        let refusal: RequestError?
        switch service.connections.add(connection.slot, of: peer.address, at: now) {
        case .accept: refusal = nil
        case .restrict(let error): refusal = error
        case .drop:
            service.limited(.unanswered)
            return connection.drop()
        }
        nextLoop = (nextLoop + 1) % loops.count
        target.events.execute { connection.open(refusing: refusal) }
    }
}
