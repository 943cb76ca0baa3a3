import CLatchkeySystem
import Dispatch
import Glibc

/// The calls of ``RawClient`` on its non-blocking socket. Each waits until a deadline.
enum RawSocket {
    static func connect(
        _ host: String, _ port: UInt16, until end: DispatchTime, receiveBufferBytes: Int32?, from source: String? = nil,
        sending first: [UInt8] = []
    ) -> Result<Int32, RawClient.Failure> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        var found: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host, String(port), &hints, &found)
        defer { if found != nil { freeaddrinfo(found) } }
        guard result == 0, let address = found?.pointee else {
            return .failure(.failed(call: "getaddrinfo", number: result))
        }
        let descriptor = socket(address.ai_family, address.ai_socktype, 0)
        guard descriptor >= 0 else { return .failure(.failed(call: "socket", number: errno)) }
        do throws(RawClient.Failure) {
            try prepare(descriptor, receiveBufferBytes: receiveBufferBytes)
            if let source { try bind(descriptor, to: source) }
            try connect(descriptor, address, until: end)
            try send(descriptor, first, until: end)
            return .success(descriptor)
        } catch {
            closeDescriptor(descriptor)
            return .failure(error)
        }
    }

    private static func prepare(_ descriptor: Int32, receiveBufferBytes: Int32?) throws(RawClient.Failure) {
        setOption(descriptor, level: Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        if let receiveBufferBytes { setOption(descriptor, level: SOL_SOCKET, SO_RCVBUF, receiveBufferBytes) }
        guard fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) >= 0 else {
            throw .failed(call: "fcntl", number: errno)
        }
    }

    private static func bind(_ descriptor: Int32, to source: String) throws(RawClient.Failure) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            guard inet_pton(AF_INET, source, &pointer.pointee.sin_addr) == 1 else { return Int32(-1) }
            return pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bindSocket(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw .failed(call: "bind", number: errno) }
    }

    private static func setOption(_ descriptor: Int32, level: Int32, _ name: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func connect(
        _ descriptor: Int32, _ address: addrinfo, until end: DispatchTime
    ) throws(RawClient.Failure) {
        if startConnecting(descriptor, address) == 0 { return }
        guard errno == EINPROGRESS || errno == EINTR else { throw .failed(call: "connect", number: errno) }
        try wait(descriptor, for: Int16(POLLOUT), until: end)
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length)
        guard error == 0 else { throw .failed(call: "connect", number: error) }
    }

    static func send(_ descriptor: Int32, _ bytes: [UInt8], until end: DispatchTime) throws(RawClient.Failure) {
        let flags = Int32(MSG_NOSIGNAL)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.dropFirst(sent).withUnsafeBytes { sendBytes(descriptor, $0.baseAddress, $0.count, flags) }
            if count >= 0 {
                sent += count
            } else if errno == EAGAIN {
                try wait(descriptor, for: Int16(POLLOUT), until: end)
            } else if errno != EINTR {
                throw .failed(call: "send", number: errno)
            }
        }
    }

    /// Waits until the other side's system has acknowledged all bytes.
    static func waitUntilReceived(_ descriptor: Int32, until end: DispatchTime) throws(RawClient.Failure) {
        while csystem_unsent(descriptor) > 0 {
            guard DispatchTime.now() < end else { throw .timedOut(received: []) }
            // No event tells of an acknowledgement.
            usleep(1000)
        }
    }

    /// Waits for bytes; empty if the other side has closed.
    static func receive(_ descriptor: Int32, until end: DispatchTime) throws(RawClient.Failure) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
            if count >= 0 { return Array(buffer[..<count]) }
            if errno == EAGAIN {
                try wait(descriptor, for: Int16(POLLIN), until: end)
            } else if errno != EINTR {
                throw .failed(call: "recv", number: errno)
            }
        }
    }

    /// Whether bytes arrived or the other side closed in time.
    static func waitForInput(_ descriptor: Int32, milliseconds: Int32) -> Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&wanted, 1, milliseconds) > 0
    }

    static func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

    private static func wait(
        _ descriptor: Int32, for events: Int16, until end: DispatchTime
    ) throws(RawClient.Failure) {
        while true {
            let now = DispatchTime.now()
            guard now < end else { throw .timedOut(received: []) }
            let left = (end.uptimeNanoseconds - now.uptimeNanoseconds) / 1_000_000 + 1
            var wanted = pollfd(fd: descriptor, events: events, revents: 0)
            if poll(&wanted, 1, Int32(clamping: left)) > 0 { return }
        }
    }
}

// The functions above shadow these names.
private func startConnecting(_ descriptor: Int32, _ address: addrinfo) -> Int32 {
    connect(descriptor, address.ai_addr, address.ai_addrlen)
}

private func bindSocket(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    bind(descriptor, address, length)
}

private func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int {
    send(descriptor, bytes, count, flags)
}
