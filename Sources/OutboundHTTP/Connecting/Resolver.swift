import CLatchkeySystem
package import EventLoops
import Glibc
import HTTPCore
package import Primitives
import Synchronization

/// Resolves host names on separate threads, because `getaddrinfo` blocks. Dispatch's shared queues start with a
/// thread for each processor and add one a second: a few look-ups that hang would delay all others.
///
/// There is at most one look-up for a name at a time, and a limited number for all. Addresses are kept for a short
/// time; the address policy is checked for each connection, whatever is kept.
package final class Resolver: Sendable {
    /// Looks up a name; may block. Empty if there is no address; an error if this machine lacks something.
    package typealias LookUp = @Sendable (String) throws(SystemError) -> [IPAddress]
    package typealias Outcome = Result<[IPAddress], SystemError>

    /// What a thread begins with.
    private final class Start: Sendable {
        let resolver: Resolver
        let name: String

        init(_ resolver: Resolver, _ name: String) {
            self.resolver = resolver
            self.name = name
        }
    }

    private struct Kept {
        let addresses: [IPAddress]
        let until: MonotonicTime
    }

    private struct State {
        var kept: [String: Kept] = [:]
        var awaited: [String: [@Sendable (Outcome) -> Void]] = [:]
        var queue: [String] = []
        var running = 0
    }

    private static let maximumRunning = 16
    private static let maximumKept = 256
    /// The most addresses of a name that are tried: each refused one makes a client open the next at once.
    private static let maximumAddresses = 8
    private static let keptFor = Duration.seconds(60)

    private let lookUp: LookUp
    private let state = Mutex(State())

    package init(_ lookUp: @escaping LookUp = Resolver.systemLookUp) { self.lookUp = lookUp }

    /// The addresses of a host, if they are known: it is an address, or was looked up lately. If they are not, looks
    /// them up, and calls `then` on any thread with its addresses, none if there is none.
    ///
    /// One step under the lock: a look-up that ends between a question and a request for a look-up is not repeated.
    package func addresses(
        of host: String, at now: MonotonicTime, then: @escaping @Sendable (Outcome) -> Void
    ) -> [IPAddress]? {
        if let address = IPAddress(host) { return [address] }
        let (known, next) = state.withLock { state -> ([IPAddress]?, String?) in
            if let kept = state.kept[host], kept.until > now { return (kept.addresses, nil) }
            let isFirst = state.awaited[host] == nil
            state.awaited[host, default: []].append(then)
            guard isFirst else { return (nil, nil) }
            state.queue.append(host)
            return (nil, Self.takeNext(&state))
        }
        if let next { start(next) }
        return known
    }

    /// Drops a name's addresses, because no connection to them succeeded.
    package func forget(_ name: String) { state.withLock { _ = $0.kept.removeValue(forKey: name) } }

    private static func takeNext(_ state: inout State) -> String? {
        guard state.running < maximumRunning, !state.queue.isEmpty else { return nil }
        state.running += 1
        return state.queue.removeFirst()
    }

    private func start(_ first: String) {
        var next: String? = first
        while let name = next {
            guard let error = startThread(name) else { return }
            next = finish(name, .failure(error))
        }
    }

    /// Starts a thread that looks this name up, and then those that wait.
    private func startThread(_ name: String) -> SystemError? {
        let context = Unmanaged.passRetained(Start(self, name))
        let number = csystem_start_thread(
            "resolver",
            { context in
                guard let context else { return }
                let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
                start.resolver.run(start.name)
            }, context.toOpaque())
        guard number != 0 else { return nil }
        context.release()
        return SystemError(call: "pthread_create", number: number)
    }

    private func run(_ first: String) {
        var next: String? = first
        while let name = next {
            next = finish(name, Outcome { () throws(SystemError) in try lookUp(name) })
        }
    }

    /// - Returns: The name to look up next.
    private func finish(_ name: String, _ outcome: Outcome) -> String? {
        let outcome = outcome.map { Array($0.prefix(Self.maximumAddresses)) }
        let until = MonotonicTime.now().advanced(by: Self.keptFor)
        let (waiting, next) = state.withLock { state in
            state.running -= 1
            if case .success(let addresses) = outcome, !addresses.isEmpty {
                if state.kept.count >= Self.maximumKept { state.kept.removeAll() }
                state.kept[name] = Kept(addresses: addresses, until: until)
            }
            return (state.awaited.removeValue(forKey: name) ?? [], Self.takeNext(&state))
        }
        for then in waiting { then(outcome) }
        return next
    }

    /// `getaddrinfo`, whose order is that of RFC 6724, with the families in turn (RFC 8305 section 4). `localhost` is
    /// loopback whatever the system's tables say (RFC 6761 section 6.3).
    package static func systemLookUp(_ name: String) throws(SystemError) -> [IPAddress] {
        if name == "localhost" { return ["::1", "127.0.0.1"].compactMap { IPAddress($0) } }
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        errno = 0
        let result = getaddrinfo(name, nil, &hints, &first)
        let number = result == EAI_MEMORY ? ENOMEM : errno
        guard result == 0 else {
            // glibc says that there is no such name, also if it could not open a socket to ask.
            guard [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(number) else { return [] }
            throw SystemError(call: "getaddrinfo", number: number)
        }
        defer { freeaddrinfo(first) }
        var addresses: [IPAddress] = []
        var next = first
        while let entry = next {
            if let address = entry.pointee.ai_addr.flatMap({ IPAddress(socket: $0) }), !addresses.contains(address) {
                addresses.append(address)
            }
            next = entry.pointee.ai_next
        }
        return interleaved(addresses)
    }

    /// The addresses of the first one's family and the others in turn.
    package static func interleaved(_ addresses: [IPAddress]) -> [IPAddress] {
        guard let isIPv4 = addresses.first?.isIPv4 else { return [] }
        let preferred = addresses.filter { $0.isIPv4 == isIPv4 }
        let others = addresses.filter { $0.isIPv4 != isIPv4 }
        var mixed: [IPAddress] = []
        for index in 0..<max(preferred.count, others.count) {
            if index < preferred.count { mixed.append(preferred[index]) }
            if index < others.count { mixed.append(others[index]) }
        }
        return mixed
    }
}
