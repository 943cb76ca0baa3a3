import Dispatch
package import EventLoops
import Glibc
package import Primitives
import Synchronization

/// Resolves host names on threads of Dispatch, because `getaddrinfo` blocks.
///
/// There is at most one look-up for a name at a time, and a limited number for all. Addresses are kept for a short
/// time; the address policy is checked for each connection, whatever is kept.
package final class Resolver: Sendable {
    /// Looks up a name; may block. Empty if there is no address.
    package typealias LookUp = @Sendable (String) -> [IPAddress]

    private struct Kept {
        let addresses: [IPAddress]
        let until: MonotonicTime
    }

    private struct State {
        var kept: [String: Kept] = [:]
        var awaited: [String: [@Sendable ([IPAddress]) -> Void]] = [:]
        var queue: [String] = []
        var running = 0
    }

    private static let maximumRunning = 16
    private static let maximumKept = 256
    private static let keptFor = Duration.seconds(60)

    private let lookUp: LookUp
    private let state = Mutex(State())

    package init(_ lookUp: @escaping LookUp = Resolver.systemLookUp) { self.lookUp = lookUp }

    /// The addresses of a host, if they are known without a look-up: it is an address, or was looked up lately.
    package func known(_ host: String, at now: MonotonicTime) -> [IPAddress]? {
        if let address = IPAddress(host) { return [address] }
        return state.withLock { $0.kept[host] }.flatMap { $0.until > now ? $0.addresses : nil }
    }

    /// Looks up a name, and calls `then` on any thread with its addresses, none if there is none.
    package func resolve(_ name: String, then: @escaping @Sendable ([IPAddress]) -> Void) {
        let next = state.withLock { state -> String? in
            let isFirst = state.awaited[name] == nil
            state.awaited[name, default: []].append(then)
            guard isFirst else { return nil }
            state.queue.append(name)
            return Self.takeNext(&state)
        }
        if let next { run(next) }
    }

    /// Drops a name's addresses, because no connection to them succeeded.
    package func forget(_ name: String) { state.withLock { _ = $0.kept.removeValue(forKey: name) } }

    private static func takeNext(_ state: inout State) -> String? {
        guard state.running < maximumRunning, !state.queue.isEmpty else { return nil }
        state.running += 1
        return state.queue.removeFirst()
    }

    private func run(_ name: String) {
        DispatchQueue.global(qos: .userInitiated).async { [self] in
            let addresses = lookUp(name)
            let until = MonotonicTime.now().advanced(by: Self.keptFor)
            let (waiting, next) = state.withLock { state in
                state.running -= 1
                if !addresses.isEmpty {
                    if state.kept.count >= Self.maximumKept { state.kept.removeAll() }
                    state.kept[name] = Kept(addresses: addresses, until: until)
                }
                return (state.awaited.removeValue(forKey: name) ?? [], Self.takeNext(&state))
            }
            if let next { run(next) }
            for then in waiting { then(addresses) }
        }
    }

    /// `getaddrinfo`, whose order is that of RFC 6724, with the families in turn (RFC 8305 section 4). `localhost` is
    /// loopback whatever the system's tables say (RFC 6761 section 6.3).
    package static func systemLookUp(_ name: String) -> [IPAddress] {
        if name == "localhost" { return ["::1", "127.0.0.1"].compactMap { IPAddress($0) } }
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, nil, &hints, &first) == 0 else { return [] }
        defer { freeaddrinfo(first) }
        var addresses: [IPAddress] = []
        var next = first
        while let entry = next {
            if let address = address(entry.pointee), !addresses.contains(address) { addresses.append(address) }
            next = entry.pointee.ai_next
        }
        return interleaved(addresses)
    }

    private static func address(_ entry: addrinfo) -> IPAddress? {
        guard let socketAddress = entry.ai_addr else { return nil }
        switch entry.ai_family {
        case AF_INET:
            return socketAddress.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                withUnsafeBytes(of: $0.pointee.sin_addr) { IPAddress(octets: $0) }
            }
        case AF_INET6:
            return socketAddress.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                withUnsafeBytes(of: $0.pointee.sin6_addr) { IPAddress(octets: $0) }
            }
        default: return nil
        }
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
