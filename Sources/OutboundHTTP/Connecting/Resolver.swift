package import EventLoops
import Glibc
import HTTPCore
package import Primitives
import Synchronization

/// Resolves host names on workers, because `getaddrinfo` blocks.
///
/// There is at most one look-up for a name at a time, and a limited number for all. Addresses are kept for a short
/// time; the address policy is checked for each connection, whatever is kept.
package final class Resolver: Sendable {
    /// Looks up a name; may block. Empty if there is no address; an error if this machine lacks something.
    package typealias LookUp = @Sendable (String) throws(SystemError) -> [IPAddress]
    package typealias Outcome = Result<[IPAddress], SystemError>

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
        let (known, needsWorker) = state.withLock { state -> ([IPAddress]?, Bool) in
            if let kept = state.kept[host], kept.until > now { return (kept.addresses, false) }
            let isFirst = state.awaited[host] == nil
            state.awaited[host, default: []].append(then)
            guard isFirst else { return (nil, false) }
            state.queue.append(host)
            guard state.running < Self.maximumRunning else { return (nil, false) }
            state.running += 1
            return (nil, true)
        }
        if needsWorker { Worker.start("resolver") { self.run() } }
        return known
    }

    /// Drops a name's addresses, because no connection to them succeeded.
    package func forget(_ name: String) { state.withLock { _ = $0.kept.removeValue(forKey: name) } }

    /// Looks names up until none waits; the worker is counted already.
    private func run() {
        while let name = takeNext() { finish(name, Outcome { () throws(SystemError) in try lookUp(name) }) }
    }

    /// The name that has waited for longest; nil if there is none, and then the worker ends.
    private func takeNext() -> String? {
        state.withLock { state in
            guard state.queue.isEmpty else { return state.queue.removeFirst() }
            state.running -= 1
            return nil
        }
    }

    private func finish(_ name: String, _ outcome: Outcome) {
        let outcome = outcome.map { Array($0.prefix(Self.maximumAddresses)) }
        let until = MonotonicTime.now().advanced(by: Self.keptFor)
        let waiting = state.withLock { state in
            if case .success(let addresses) = outcome, !addresses.isEmpty {
                if state.kept.count >= Self.maximumKept { state.kept.removeAll() }
                state.kept[name] = Kept(addresses: addresses, until: until)
            }
            return state.awaited.removeValue(forKey: name) ?? []
        }
        for then in waiting { then(outcome) }
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
        return (0..<max(preferred.count, others.count)).flatMap { index in
            preferred.dropFirst(index).prefix(1) + others.dropFirst(index).prefix(1)
        }
    }
}
