import Dispatch
import Glibc

/// A TCP client that sends any bytes in any pieces, and reads the response.
///
/// All calls on the socket run on the client's own queue, never on the cooperative pool. Their total time is limited.
///
/// ```swift
/// let client = try await RawClient(port: port)
/// try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
/// let response = try await client.readResponse()
/// ```
///
/// Sendable without the compiler's check: `received` and `isOpen` are touched on `queue` only.
public final class RawClient: @unchecked Sendable {
    public enum Failure: Error, Sendable, Hashable {
        /// The time limit has passed; with the received bytes that were not read yet.
        case timedOut(received: [UInt8])
        /// The other side closed before a response was complete.
        case closed(received: [UInt8])
        /// The other side reset the connection, or a call failed.
        case failed(call: String, number: Int32)
        /// The received bytes are not a response.
        case malformed(received: [UInt8])
    }

    private let descriptor: Int32
    private let queue: DispatchQueue
    private let end: DispatchTime
    private var isOpen = true
    /// Received bytes that are not part of a response yet.
    private var received: [UInt8] = []

    /// Connects.
    /// - Parameters:
    ///   - host: A numeric IPv4 or IPv6 address.
    ///   - limit: How long connecting and all later calls may take together, times ``Patience/factor``.
    ///   - receiveBufferBytes: The socket's receive buffer, for a client that is to be slow; nil for the system's own.
    ///   - source: The IPv4 address to connect from; nil for the system's choice.
    ///   - first: Sent at once. Between two calls, a busy machine may let so much time pass that a server closes the
    ///     connection because no request comes.
    /// - Throws: ``Failure``.
    public init(
        host: String = "127.0.0.1", port: UInt16, limit: Duration = .seconds(30), receiveBufferBytes: Int32? = nil,
        from source: String? = nil, sending first: String = ""
    ) async throws(Failure) {
        let end = DispatchTime.now() + .seconds(Int(limit.components.seconds) * Patience.factor)
        let queue = DispatchQueue(label: "raw-client")
        self.end = end
        self.queue = queue
        let result: Result<Int32, Failure> = await withCheckedContinuation { done in
            queue.async {
                done.resume(
                    returning: RawSocket.connect(
                        host, port, until: end, receiveBufferBytes: receiveBufferBytes, from: source,
                        sending: Array(first.utf8)))
            }
        }
        descriptor = try result.get()
    }

    deinit {
        if isOpen { RawSocket.closeDescriptor(descriptor) }
    }

    /// Sends bytes in one piece, or in pieces of a size, each in its own packet.
    public func send(_ bytes: [UInt8], inPiecesOf size: Int? = nil) async throws(Failure) {
        try await perform { client throws(Failure) in
            let size = max(1, size ?? bytes.count)
            for start in stride(from: 0, to: bytes.count, by: size) {
                let piece = Array(bytes[start..<min(start + size, bytes.count)])
                try RawSocket.send(client.descriptor, piece, until: client.end)
            }
        }
    }

    public func send(_ text: String, inPiecesOf size: Int? = nil) async throws(Failure) {
        try await send(Array(text.utf8), inPiecesOf: size)
    }

    /// Sends bytes one by one with a pause after each, until all are sent or the other side closes or responds.
    public func drip(_ bytes: [UInt8], every pause: Duration) async throws(Failure) {
        let milliseconds = Int32(pause.components.attoseconds / 1_000_000_000_000_000)
        try await perform { client throws(Failure) in
            for byte in bytes {
                guard !RawSocket.waitForInput(client.descriptor, milliseconds: milliseconds) else { return }
                try RawSocket.send(client.descriptor, [byte], until: client.end)
            }
        }
    }

    /// Sends text and closes the sending side.
    public func sendAndHalfClose(_ text: String) async throws(Failure) {
        try await perform { client throws(Failure) in
            try RawSocket.send(client.descriptor, Array(text.utf8), until: client.end)
            _ = shutdown(client.descriptor, Int32(SHUT_WR))
        }
    }

    /// Closes the sending side.
    public func halfClose() async {
        try? await perform { client throws(Failure) in
            _ = shutdown(client.descriptor, Int32(SHUT_WR))
        }
    }

    /// Closes in order.
    public func close() async {
        try? await perform { client throws(Failure) in client.closeNow() }
    }

    /// Closes with a reset.
    public func reset() async {
        try? await perform { client throws(Failure) in
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(
                client.descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
            client.closeNow()
        }
    }

    /// Reads until a text arrives, and returns everything up to its end.
    public func readUntil(_ text: String) async throws(Failure) -> String {
        let end = Array(text.utf8)
        return try await perform { client throws(Failure) in
            while true {
                let found = client.received.indices.first { client.received[$0...].starts(with: end) }
                if let found {
                    let bytes = client.received[..<(found + end.count)]
                    client.received.removeFirst(bytes.count)
                    return String(decoding: bytes, as: UTF8.self)
                }
                guard try client.readMore() else { throw Failure.closed(received: client.received) }
            }
        }
    }

    /// Reads one complete response; an interim one (1xx) counts.
    /// - Parameter isHead: Whether the request was a HEAD, so that no content follows.
    /// - Throws: ``Failure``.
    public func readResponse(toHead isHead: Bool = false) async throws(Failure) -> Response {
        try await perform { client throws(Failure) in
            while true {
                if let (response, count) = try Response.parse(client.received, isHead: isHead) {
                    client.received.removeFirst(count)
                    return response
                }
                guard try client.readMore() else { throw Failure.closed(received: client.received) }
            }
        }
    }

    /// Returns once the other side's system has received all bytes sent.
    public func waitUntilReceived() async throws(Failure) {
        try await perform { client throws(Failure) in
            try RawSocket.waitUntilReceived(client.descriptor, until: client.end)
        }
    }

    /// Reads until at least `count` bytes are buffered.
    public func waitForBytes(_ count: Int) async throws(Failure) {
        try await perform { client throws(Failure) in
            while client.received.count < count {
                guard try client.readMore() else { throw Failure.closed(received: client.received) }
            }
        }
    }

    /// Reads until the other side closes, and returns the bytes that are not part of an earlier response.
    /// - Throws: ``Failure``; a reset is a failure and not a close.
    public func readUntilClosed() async throws(Failure) -> [UInt8] {
        try await perform { client throws(Failure) in
            while try client.readMore() {}
            defer { client.received = [] }
            return client.received
        }
    }

    /// Reads until the other side closes or resets, and returns whether it did so in time. Drops the bytes.
    public func isCutOff() async -> Bool {
        do {
            _ = try await readUntilClosed()
            return true
        } catch .failed {
            return true
        } catch {
            return false
        }
    }

    /// False if the other side has closed.
    private func readMore() throws(Failure) -> Bool {
        do {
            let bytes = try RawSocket.receive(descriptor, until: end)
            received += bytes
            return !bytes.isEmpty
        } catch .timedOut {
            throw .timedOut(received: received)
        }
    }

    private func closeNow() {
        guard isOpen else { return }
        isOpen = false
        RawSocket.closeDescriptor(descriptor)
    }

    private func perform<Value: Sendable>(
        _ work: @escaping @Sendable (RawClient) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { done in
            queue.async { done.resume(returning: Result { () throws(Failure) in try work(self) }) }
        }
        return try result.get()
    }
}

extension RawClient {
    /// A response as received.
    public struct Response: Sendable, Hashable {
        public struct Field: Sendable, Hashable {
            /// In lower case.
            public let name: String
            public let value: String
        }

        public let status: Int
        public let fields: [Field]
        public let body: [UInt8]

        public var text: String { String(decoding: body, as: UTF8.self) }

        /// The value of a field that occurs once.
        public subscript(name: String) -> String? {
            let found = fields.filter { $0.name == name }
            return found.count == 1 ? found[0].value : nil
        }

        /// Reads the response at the start of bytes; nil if it is not complete.
        /// - Returns: The response, and its length in bytes.
        public static func parse(_ bytes: [UInt8], isHead: Bool) throws(Failure) -> (response: Response, count: Int)? {
            guard let headCount = endOfHead(bytes) else { return nil }
            var lines = String(decoding: bytes[..<headCount], as: UTF8.self).split(separator: "\r\n")
            let startLine = lines.removeFirst().split(separator: " ", maxSplits: 2)
            guard startLine.count >= 2, startLine[0] == "HTTP/1.1", let status = Int(startLine[1]) else {
                throw .malformed(received: bytes)
            }
            var fields: [Field] = []
            for line in lines {
                guard let colon = line.firstIndex(of: ":") else { throw .malformed(received: bytes) }
                let value = line[line.index(after: colon)...].drop { $0 == " " }
                fields.append(Field(name: line[..<colon].lowercased(), value: String(value)))
            }
            let head = Response(status: status, fields: fields, body: [])
            let length = isHead ? 0 : head["content-length"].flatMap { Int($0) } ?? 0
            guard bytes.count - headCount >= length else { return nil }
            let body = Array(bytes[headCount..<headCount + length])
            return (Response(status: status, fields: fields, body: body), headCount + length)
        }

        /// Reads all responses in the bytes.
        public static func parseAll(_ bytes: [UInt8]) throws(Failure) -> [Response] {
            var responses: [Response] = []
            var rest = bytes
            while !rest.isEmpty {
                guard let (response, count) = try parse(rest, isHead: false) else { throw .malformed(received: rest) }
                responses.append(response)
                rest.removeFirst(count)
            }
            return responses
        }

        private static func endOfHead(_ bytes: [UInt8]) -> Int? {
            let end = Array("\r\n\r\n".utf8)
            guard bytes.count >= end.count else { return nil }
            for start in 0...bytes.count - end.count where bytes[start..<start + end.count].elementsEqual(end) {
                return start + end.count
            }
            return nil
        }
    }
}
