import TestSupport

/// Responses that are invalid HTTP or never end.
enum Scripts {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    private static let half = #"{"access_token":"half-of-an-answer","token_ty"#

    static let closeAtOnce: CarrierProxy.Script = { _ in }
    static let resetAtOnce: CarrierProxy.Script = { $0.reset() }
    static let closeAfterHead: CarrierProxy.Script = { $0.send(head + "Content-Length: 400\r\n\r\n") }
    static let resetInBody: CarrierProxy.Script = { connection in
        connection.send(head + "Content-Length: 400\r\n\r\n" + half)
        connection.reset()
    }
    static let closeInBody: CarrierProxy.Script = { $0.send(head + "Content-Length: 400\r\n\r\n" + half) }
    static let closeInChunk: CarrierProxy.Script = { connection in
        connection.send(head + "Transfer-Encoding: chunked\r\n\r\n40\r\n" + half)
    }
    static let noHTTP: CarrierProxy.Script = { $0.send("220 mail.example.com ESMTP\r\n") }
    static let twoLengths: CarrierProxy.Script = { connection in
        connection.send(head + "Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}")
    }
    static let endlessHead: CarrierProxy.Script = { connection in
        connection.send("HTTP/1.1 200 OK\r\n")
        let field = "X-Filler: " + String(repeating: "f", count: 8000) + "\r\n"
        for _ in 0..<4000 { guard connection.send(field) else { return } }
    }

    /// No response until the other side closes.
    static let silence: CarrierProxy.Script = { _ = $0.waitForClose(milliseconds: 10_000) }
    static let drippedHead: CarrierProxy.Script = { connection in
        connection.send("HTTP/1.1 200 OK\r\nX-Slow: ")
        drip(on: connection)
    }
    static let drippedBody: CarrierProxy.Script = { connection in
        connection.send(head + "Content-Length: 4000\r\n\r\n{")
        drip(on: connection)
    }

    /// Sends single bytes, faster than an idle timeout and too slowly to end.
    private static func drip(on connection: RawHTTPPeer.Connection) {
        for _ in 0..<100 {
            guard !connection.waitForClose(milliseconds: 100), connection.send(" ") else { return }
        }
    }

    /// A well-formed response with a large filler.
    static func huge(_ start: String, filler: Int, _ end: String) -> CarrierProxy.Script {
        { connection in
            let length = start.utf8.count + filler + end.utf8.count
            guard connection.send(head + "Content-Length: \(length)\r\n\r\n" + start) else { return }
            let block = [UInt8](repeating: UInt8(ascii: "A"), count: 1 << 16)
            var left = filler
            while left > 0 {
                guard connection.send(Array(block.prefix(left))) else { return }
                left -= block.count
            }
            connection.send(end)
        }
    }
}
