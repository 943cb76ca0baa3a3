import EventLoops
import Glibc
import Primitives

enum Connecting {
    /// Opens a socket and begins to connect it, without waiting.
    static func begin(_ address: IPAddress, port: UInt16) throws(SystemError) -> Int32 {
        let family = address.isIPv4 ? AF_INET : AF_INET6
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, kind, Int32(IPPROTO_TCP))
        guard descriptor >= 0 else { throw .last("socket") }
        // Without it, requests would only be slower.
        try? SystemCalls.setOption(descriptor, level: Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        // Without it, dead connections would be found later.
        try? probeWhenIdle(descriptor)
        let result = connect(descriptor, to: address, port)
        let error = SystemError.last("connect")
        if result == 0 || error.number == EINPROGRESS { return descriptor }
        SystemCalls.closeDescriptor(descriptor)
        throw error
    }

    /// Has the system find out within 30 s that a kept connection is dead, because its server or a firewall on the way
    /// has forgotten it: otherwise the next request would be lost on it.
    private static func probeWhenIdle(_ descriptor: Int32) throws(SystemError) {
        try SystemCalls.setOption(descriptor, level: SOL_SOCKET, SO_KEEPALIVE, 1)
        for (option, value) in [(TCP_KEEPIDLE, 15), (TCP_KEEPINTVL, 5), (TCP_KEEPCNT, 3)] as [(Int32, Int32)] {
            try SystemCalls.setOption(descriptor, level: Int32(IPPROTO_TCP), option, value)
        }
    }

    private static func connect(_ descriptor: Int32, to address: IPAddress, _ port: UInt16) -> Int32 {
        if address.isIPv4 {
            var target = sockaddr_in()
            target.sin_family = sa_family_t(AF_INET)
            target.sin_port = port.bigEndian
            target.sin_addr.s_addr = UInt32(truncatingIfNeeded: address.low).bigEndian
            return connect(descriptor, &target)
        }
        var target = sockaddr_in6()
        target.sin6_family = sa_family_t(AF_INET6)
        target.sin6_port = port.bigEndian
        withUnsafeMutableBytes(of: &target.sin6_addr) {
            $0.storeBytes(of: address.high.bigEndian, as: UInt64.self)
            $0.storeBytes(of: address.low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        return connect(descriptor, &target)
    }

    private static func connect<Address>(_ descriptor: Int32, _ target: inout Address) -> Int32 {
        withUnsafeMutableBytes(of: &target) { bytes in
            guard let start = bytes.baseAddress else { return -1 }
            return Glibc.connect(
                descriptor, start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
    }

    static func isEstablished(_ descriptor: Int32) throws(SystemError) -> Bool {
        let error = SystemCalls.pendingError(descriptor)
        guard error == 0 else { throw SystemError(call: "connect", number: error) }
        var peer = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutableBytes(of: &peer) { bytes in
            bytes.baseAddress.map { getpeername(descriptor, $0.assumingMemoryBound(to: sockaddr.self), &length) } ?? -1
        }
        guard result == 0 || errno == ENOTCONN else { throw .last("getpeername") }
        return result == 0
    }

    /// Whether an idle connection is open and has nothing to read.
    static func isReusable(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) < 0
            && (errno == EAGAIN || errno == EWOULDBLOCK)
    }
}

extension SystemError {
    /// The system's text alone, such as `connection refused`.
    var text: String { String(cString: strerror(number)).lowercased() }

    /// Whether this machine lacked descriptors, memory, threads or ports. That says nothing about the server. To IPv6,
    /// `EADDRNOTAVAIL` also means that this machine has no IPv6, as in many containers.
    func isShortage(connectingTo address: IPAddress) -> Bool {
        [EMFILE, ENFILE, ENOBUFS, ENOMEM, ENOSPC, EAGAIN].contains(number)
            || number == EADDRNOTAVAIL && address.isIPv4
    }
}
