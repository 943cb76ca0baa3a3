import Dispatch
import Foundation
import Glibc
import Synchronization

extension RawHTTPPeer {
    /// A connection, for its script. All calls block only the script's thread.
    public final class Connection: Sendable {
        /// 1 for the peer's first connection.
        public let number: Int
        let descriptor: Int32
        private let peer: RawHTTPPeer
        private let isHeld = Mutex(false)

        init(descriptor: Int32, number: Int, peer: RawHTTPPeer) {
            self.descriptor = descriptor
            self.number = number
            self.peer = peer
            _ = fcntl(descriptor, F_SETFL, 0)  // The scripts' calls block.
            // Small pieces of a response must leave as small pieces, at once.
            var noDelay: Int32 = 1
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
        }

        /// The next request with its whole body (by `Content-Length`), or nil if the connection ends before that.
        @discardableResult
        public func readRequest() -> Request? {
            guard let head = readHead() else { return nil }
            var lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: true)
            guard !lines.isEmpty else { return nil }
            var request = Request(startLine: String(lines.removeFirst()), fields: [:], body: [])
            for line in lines {
                guard let colon = line.firstIndex(of: ":") else { continue }
                let value = line[line.index(after: colon)...].drop { $0 == " " }
                request.fields[line[..<colon].lowercased()] = String(value)
            }
            let length = request.fields["content-length"].flatMap { Int($0) }.map { max(0, $0) } ?? 0
            guard let body = read(length) else { return nil }
            request.body = body
            if peer.recordsRequests { peer.state.withLock { $0.requests.append(request) } }
            return request
        }

        /// Sends text; false if the other side has closed.
        @discardableResult
        public func send(_ text: String) -> Bool { send(Array(text.utf8)) }

        /// Sends bytes; false if the other side has closed.
        @discardableResult
        public func send(_ bytes: [UInt8]) -> Bool {
            let flags = Int32(MSG_NOSIGNAL)
            var rest = bytes[...]
            while !rest.isEmpty {
                let sent = rest.withUnsafeBytes { sendBytes(descriptor, $0.baseAddress, $0.count, flags) }
                if sent < 0, errno == EINTR { continue }
                guard sent > 0 else { return false }
                rest = rest.dropFirst(sent)
            }
            return true
        }

        /// Sends a whole response with its `Content-Length`.
        @discardableResult
        public func answer(_ status: String = "200 OK", _ fields: [String] = [], body: [UInt8] = []) -> Bool {
            let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.count)"] + fields
            return send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
        }

        /// Waits until the other side closes (true), or until the time is over or bytes arrive (false). Scripts that
        /// drip bytes use it as their pace.
        public func waitForClose(milliseconds: Int32) -> Bool {
            var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&wanted, 1, milliseconds) > 0 else { return false }
            var byte: UInt8 = 0
            return recv(descriptor, &byte, 1, Int32(MSG_PEEK)) <= 0
        }

        /// Closes with a reset instead of an orderly end.
        public func reset() {
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        }

        /// Leaves the connection open when the script returns, until the peer stops; costs no thread.
        public func hold() { isHeld.withLock { $0 = true } }

        func end() {
            if isHeld.withLock({ $0 }), peer.keep(descriptor) { return }
            peer.close(descriptor)
        }

        private func readHead() -> [UInt8]? {
            var head: [UInt8] = []
            while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                guard let byte = readByte() else { return nil }
                head.append(byte)
            }
            return head
        }

        private func readByte() -> UInt8? { read(1)?.first }

        private func read(_ count: Int) -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: count)
            var filled = 0
            while filled < count {
                let received = bytes.withUnsafeMutableBytes { buffer in
                    recv(descriptor, buffer.baseAddress.map { $0 + filled }, count - filled, 0)
                }
                if received < 0, errno == EINTR { continue }
                guard received > 0 else { return nil }
                filled += received
            }
            return bytes
        }
    }

    func close(_ descriptor: Int32) {
        state.withLock { state in
            state.open.remove(descriptor)
            closeDescriptor(descriptor)
        }
    }

    /// False if the peer has stopped and would never close the descriptor.
    func keep(_ descriptor: Int32) -> Bool {
        state.withLock { state in
            if state.isStopped { return false }
            state.held.insert(descriptor)
            return true
        }
    }
}

// The methods above shadow these names.
func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

private func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int {
    send(descriptor, bytes, count, flags)
}

extension RawHTTPPeer.Connection {
    /// Forwards a request to another server on 127.0.0.1, and returns the response byte for byte. The request asks the
    /// server to close, so that the end of the connection is the end of the response.
    ///
    /// - Returns: False if the server did not respond in time.
    @discardableResult
    public func relay(_ request: RawHTTPPeer.Request, to port: UInt16, within seconds: Int) -> Bool {
        let end = DispatchTime.now() + .seconds(seconds)
        guard case .success(let server) = RawSocket.connect("127.0.0.1", port, until: end, receiveBufferBytes: nil)
        else { return false }
        defer { RawSocket.closeDescriptor(server) }
        var head = request.startLine + "\r\n"
        for (name, value) in request.fields where name != "connection" { head += "\(name): \(value)\r\n" }
        do throws(RawClient.Failure) {
            try RawSocket.send(server, Array((head + "connection: close\r\n\r\n").utf8) + request.body, until: end)
            while true {
                let bytes = try RawSocket.receive(server, until: end)
                if bytes.isEmpty { return true }
                guard send(bytes) else { return true }
            }
        } catch {
            return false
        }
    }
}
