import EventLoops
import Glibc

/// Makes sockets that listen.
enum ListeningSocket {
    private static let backlog: Int32 = 4096

    /// Options that the accepted sockets inherit.
    struct Options {
        let sendBufferBytes: Int
        /// How long the system keeps bytes for a peer that acknowledges none of them, also after the socket was closed.
        let sendTimeout: Duration
    }

    /// Binds a host's first address and listens there. Returns a non-blocking descriptor.
    static func make(
        host: String, port: UInt16, acceptsIPv4InIPv6: Bool, _ options: Options
    ) throws(ServerError) -> Int32 {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var found: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host, String(port), &hints, &found)
        guard result == 0, let address = found else {
            throw ServerError(.unknownHost, "\(host): \(String(cString: gai_strerror(result)))")
        }
        defer { freeaddrinfo(found) }
        let descriptor = socket(
            address.pointee.ai_family,
            address.pointee.ai_socktype | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw ServerError(.cannotListen, "\(host): \(SystemError.last("socket"))") }
        do throws(SystemError) {
            try setOptions(descriptor, options)
            try listen(descriptor, at: address.pointee, acceptsIPv4InIPv6: acceptsIPv4InIPv6)
        } catch {
            SystemCalls.closeDescriptor(descriptor)
            throw ServerError(
                error.number == EADDRINUSE ? .addressInUse : .cannotListen,
                "\(SocketAddress(host: host, port: port)): \(error)")
        }
        return descriptor
    }

    private static func setOptions(_ descriptor: Int32, _ options: Options) throws(SystemError) {
        let bytes = Int32(clamping: options.sendBufferBytes)
        try SystemCalls.setOption(descriptor, level: SOL_SOCKET, SO_SNDBUF, bytes)
        let milliseconds = Int32(clamping: Int64(max(1, min(options.sendTimeout / .milliseconds(1), 1e9))))
        try SystemCalls.setOption(descriptor, level: Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, milliseconds)
    }

    private static func listen(_ descriptor: Int32, at address: addrinfo, acceptsIPv4InIPv6: Bool) throws(SystemError) {
        try SystemCalls.setOption(descriptor, level: SOL_SOCKET, SO_REUSEADDR, 1)
        if address.ai_family == AF_INET6 {
            try SystemCalls.setOption(descriptor, level: Int32(IPPROTO_IPV6), IPV6_V6ONLY, acceptsIPv4InIPv6 ? 0 : 1)
        }
        guard bind(descriptor, address.ai_addr, address.ai_addrlen) == 0 else { throw .last("bind") }
        guard Glibc.listen(descriptor, backlog) == 0 else { throw .last("listen") }
    }
}
