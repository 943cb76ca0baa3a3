package import Primitives

/// What an outbound connection receives for one exchange, or from a proxy for a tunnel: bytes and the peer's end go in,
/// the exchange's outcome comes out. A value without I/O.
package struct ExchangeMachine {
    package enum Awaited: Sendable, Hashable {
        case tunnel
        /// - Parameter afterCertificate: Whether the client presented one.
        case response(afterCertificate: Bool)
    }

    package enum Step: Sendable, Hashable {
        case wait
        /// The proxy has made the tunnel.
        case tunnelled
        /// - Parameter isReusable: Whether another request may follow on the connection.
        case complete(OutboundResponse, isReusable: Bool)
        case failed(OutboundError.Code, String)
    }

    private let awaited: Awaited
    private var parser: ResponseParser

    /// - Parameter bodyBytes: The most bytes of the response's body, before and after decompression.
    package init(_ awaited: Awaited, bodyBytes: Int = 0) {
        self.awaited = awaited
        parser = ResponseParser(bodyBytes: max(0, bodyBytes), isOfConnect: awaited == .tunnel)
    }

    /// Whether anything has come, be it an interim response.
    package var hasBegun: Bool { parser.hasBegun }

    package mutating func receive(_ bytes: Span<UInt8>) -> Step {
        let taken: Int
        do throws(ResponseError) {
            taken = try parser.receive(bytes)
        } catch {
            return failure(error)
        }
        guard awaited == .tunnel else { return parser.isComplete ? complete(isAlone: taken == bytes.count) : .wait }
        let status = parser.head.response.status
        guard status < 300 else { return .failed(.unreachable, "the proxy answers with status \(status)") }
        guard parser.isComplete else { return .wait }
        // A server says nothing before the client in TLS.
        return taken == bytes.count ? .tunnelled : .failed(.tls, "the server does not speak TLS")
    }

    /// The peer has ended its side.
    package mutating func inputEnded() -> Step {
        guard awaited != .tunnel else { return failure(.incomplete) }
        do throws(ResponseError) {
            try parser.inputEnded()
        } catch {
            return failure(error)
        }
        return complete(isAlone: false)
    }

    /// Nothing can be read or written any more.
    /// - Parameter reason: Of TLS; in TLS 1.3 a server refuses the client's certificate after the handshake.
    package func connectionFailed(_ reason: String?) -> Step {
        guard awaited == .response(afterCertificate: true), !hasBegun, let reason else { return failure(.incomplete) }
        return .failed(.tls, "TLS: " + reason)
    }

    /// - Parameter isAlone: Whether nothing has followed the response.
    private mutating func complete(isAlone: Bool) -> Step {
        var response = parser.head.response
        response.body = parser.body
        let isReusable = isAlone && parser.allowsReuse
        parser = ResponseParser(bodyBytes: 0)
        return .complete(response, isReusable: isReusable)
    }

    private func failure(_ error: ResponseError) -> Step {
        switch (awaited, error) {
        case (.tunnel, .incomplete): .failed(.unreachable, "the proxy closed the connection")
        case (.tunnel, _): .failed(.unreachable, "the proxy's answer is not valid: \(error.rawValue)")
        case (.response, .incomplete) where !hasBegun: .failed(.closed, "closed without an answer")
        case (.response, _): .failed(error.code, error.rawValue)
        }
    }
}
