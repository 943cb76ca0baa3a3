import CLatchkeySystem
import EventLoops
import Glibc
import Logging
import Primitives

/// Accepts connections and assigns them to the loops in turn.
///
/// Sendable without the compiler's check: mutable state is used on its loop's thread only.
final class Listener: LoopMember, @unchecked Sendable {
    /// How many connections are accepted before the loop serves others.
    private static let acceptsPerTurn = 64

    let address: SocketAddress
    let point: ListeningPoint
    private let descriptor: Int32
    private let service: ConnectionService
    private let logger: Logger
    private var loops: [ServerLoop] = []
    private var registration: EventLoop.Registration?
    private var nextLoop = 0
    private var isOpen = true
    /// Whether the system had no descriptor or memory left; the next tick retries.
    private var isPaused = false

    /// Takes over a socket that listens.
    init(_ socket: ListeningSocket.Bound, of point: ListeningPoint, service: ConnectionService, logger: Logger) {
        (descriptor, address) = socket
        self.point = point
        self.service = service
        self.logger = logger
    }

    deinit { if isOpen { SystemCalls.closeDescriptor(descriptor) } }

    /// Begins to accept. On the thread of the first loop.
    func open(on loops: [ServerLoop]) {
        assert(loops.first?.events.isCurrent ?? true)
        self.loops = loops
        do {
            registration = try loops.first?.events.register(self, descriptor: descriptor)
        } catch {
            logger.error("cannot watch a listening socket", metadata: ["error": "\(error)"])
        }
    }

    /// How many connections wait in the system.
    fileprivate static let backlog: Int32 = 4096

    /// Accepts the connections that wait already, then no more. On the loop's thread.
    func close() {
        assert(loops.first?.events.isCurrent ?? true)
        guard isOpen else { return }
        // At most as many as can wait: a flood does not delay the end.
        var rest = Self.backlog
        while rest > 0, accept() { rest -= 1 }
        isOpen = false
        if let registration { loops.first?.events.unregister(registration, descriptor: descriptor) }
        SystemCalls.closeDescriptor(descriptor)
    }

    func becameReady(peerHasEnded: Bool, at now: MonotonicTime) { acceptSome() }

    /// Resumes after a lack of descriptors.
    func tick(at now: MonotonicTime) { if isPaused { acceptSome() } }

    private func acceptSome() {
        guard isOpen else { return }
        isPaused = false
        for _ in 0..<Listener.acceptsPerTurn {
            guard accept() else { return }
        }
        loops.first?.events.execute { self.acceptSome() }
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

enum ListeningSocket {
    typealias Bound = (descriptor: Int32, address: SocketAddress)

    /// Binds the addresses of a point's hosts, each once, and listens there. The addresses of a name that the machine
    /// lacks are left out, if it has another one; all of a name have one port.
    /// - Returns: Non-blocking descriptors, and the bound addresses.
    static func make(
        _ point: ListeningPoint, _ configuration: ServerConfiguration
    ) throws(ServerError) -> [Bound] {
        var sockets: [Bound] = []
        var seen: Set<InternetAddress> = []
        do throws(ServerError) {
            for host in point.hosts {
                // Alone, it accepts IPv4, too. A system without IPv6 has 0.0.0.0 instead.
                let isWildcard = point.hosts.count == 1 && IPAddress(host)?.isIPv6Wildcard == true
                var port = point.port
                var (isBound, missing) = (false, ServerError?.none)
                // The same two as in requests to it, whatever the resolver knows (RFC 6761 section 6.3).
                let names = isWildcard ? [host, "0.0.0.0"] : host == "localhost" ? ["127.0.0.1", "::1"] : [host]
                for address in try InternetAddress.all(of: names, port) where seen.insert(address).inserted {
                    do throws(SystemError) {
                        let socket = try make(address.on(port), acceptsIPv4InIPv6: isWildcard, configuration)
                        sockets.append(socket)
                        (port, isBound) = (socket.address.port, true)
                        if isWildcard { break }
                    } catch {
                        let failure = ServerError(
                            error.number == EADDRINUSE ? .addressInUse : .cannotListen,
                            "\(SocketAddress(host: host, port: port)): \(error)")
                        guard [EADDRNOTAVAIL, EAFNOSUPPORT].contains(error.number) else { throw failure }
                        missing = failure
                    }
                }
                if let missing, !isBound { throw missing }
            }
            return sockets
        } catch {
            for socket in sockets { SystemCalls.closeDescriptor(socket.descriptor) }
            throw error
        }
    }

    private static func make(
        _ address: InternetAddress, acceptsIPv4InIPv6: Bool, _ configuration: ServerConfiguration
    ) throws(SystemError) -> Bound {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, type, 0)
        guard descriptor >= 0 else { throw .last("socket") }
        do throws(SystemError) {
            try setInheritedOptions(descriptor, configuration)
            try listen(descriptor, at: address, acceptsIPv4InIPv6: acceptsIPv4InIPv6)
            return (descriptor, try boundAddress(descriptor))
        } catch {
            SystemCalls.closeDescriptor(descriptor)
            throw error
        }
    }

    private static func boundAddress(_ descriptor: Int32) throws(SystemError) -> SocketAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard result == 0 else { throw .last("getsockname") }
        return SocketAddress(storage)
    }

    /// Sets options that the accepted sockets inherit.
    private static func setInheritedOptions(
        _ descriptor: Int32, _ configuration: ServerConfiguration
    ) throws(SystemError) {
        let bytes = Int32(clamping: configuration.limits.sendBufferBytes)
        try SystemCalls.setOption(descriptor, level: SOL_SOCKET, SO_SNDBUF, bytes)
        // So long the system keeps bytes for a peer that acknowledges none of them, also after the socket was closed.
        let milliseconds = Int32(clamping: Int64(max(1, min(configuration.timeouts.write / .milliseconds(1), 1e9))))
        try SystemCalls.setOption(descriptor, level: Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, milliseconds)
    }

    private static func listen(
        _ descriptor: Int32, at address: InternetAddress, acceptsIPv4InIPv6: Bool
    ) throws(SystemError) {
        try SystemCalls.setOption(descriptor, level: SOL_SOCKET, SO_REUSEADDR, 1)
        if address.family == AF_INET6 {
            try SystemCalls.setOption(descriptor, level: Int32(IPPROTO_IPV6), IPV6_V6ONLY, acceptsIPv4InIPv6 ? 0 : 1)
        }
        guard address.withPointer({ bind(descriptor, $0, $1) }) == 0 else { throw .last("bind") }
        guard Glibc.listen(descriptor, Listener.backlog) == 0 else { throw .last("listen") }
    }
}

/// An address and a port as the system takes them.
private struct InternetAddress: Hashable {
    let family: Int32
    /// A `sockaddr_in` or `sockaddr_in6`.
    private var bytes: [UInt8]

    /// The addresses of hosts, in the system's order.
    static func all(of hosts: [String], _ port: UInt16) throws(ServerError) -> [InternetAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var addresses: [InternetAddress] = []
        for host in hosts {
            var found: UnsafeMutablePointer<addrinfo>?
            let result = getaddrinfo(host, String(port), &hints, &found)
            guard result == 0 else {
                throw ServerError(.unknownHost, "\(host): \(String(cString: gai_strerror(result)))")
            }
            defer { freeaddrinfo(found) }
            addresses += sequence(first: found, next: { $0?.pointee.ai_next }).compactMap { entry in
                guard let entry = entry?.pointee else { return nil }
                let bytes = UnsafeRawBufferPointer(start: entry.ai_addr, count: Int(entry.ai_addrlen))
                return InternetAddress(family: entry.ai_family, bytes: Array(bytes))
            }
        }
        return addresses
    }

    /// The same address with another port, which both structures have after their family.
    func on(_ port: UInt16) -> InternetAddress {
        var copy = self
        copy.bytes.replaceSubrange(2..<4, with: [UInt8(port >> 8), UInt8(port & 0xFF)])
        return copy
    }

    func withPointer<Value>(_ body: (UnsafePointer<sockaddr>?, socklen_t) -> Value) -> Value {
        bytes.withUnsafeBytes { body($0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count)) }
    }
}
