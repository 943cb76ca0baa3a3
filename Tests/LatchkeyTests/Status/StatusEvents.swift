import Primitives
import TestSupport

/// A client that watches the status events.
struct StatusEvents {
    private let client: RawClient
    let head: String

    struct Refused: Error {
        let head: String
    }

    init(_ app: App, headers: [String] = []) async throws {
        client = try await RawClient(port: app.port, limit: .seconds(30))
        var request = "GET /status/events HTTP/1.1\r\nHost: 127.0.0.1:\(app.port)\r\n"
        for header in headers { request += header + "\r\n" }
        try await client.send(request + "\r\n")
        head = try await client.readUntil("\r\n\r\n")
        guard head.hasPrefix("HTTP/1.1 200 ") else {
            await client.close()
            throw Refused(head: head)
        }
    }

    /// The text of the next chunk.
    func nextText() async throws -> String {
        _ = try await client.readUntil("\r\n")
        return try await client.readUntil("\n\n\r\n")
    }

    /// The data of the next status event. Skips comments.
    func next() async throws -> JSONObject {
        while true {
            let text = try await nextText()
            guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("data: ") }) else { continue }
            guard let object = try JSONValue(parsing: Array(line.dropFirst(6).utf8)).object else {
                throw Refused(head: text)
            }
            return object
        }
    }

    func rest() async throws -> String { String(decoding: try await client.readUntilClosed(), as: UTF8.self) }

    func close() async { await client.close() }
}
