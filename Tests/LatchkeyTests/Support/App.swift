import Primitives
import TestSupport

/// The calls of an app, each over a new socket.
struct App: Sendable {
    let port: UInt16
    var apiKey: String? = "test-key"

    struct Answer: Sendable {
        let response: RawClient.Response
        let json: Members

        var status: Int { response.status }
        var error: String? { json["error"]?.string }
        var token: String? { json["token"]?.string }
        var refreshToken: String? { json["refresh_token"]?.string }
    }

    /// The members of a JSON object; none if the content is not an object.
    struct Members: Sendable {
        private let object: JSONObject?

        init(of content: [UInt8]) {
            object = (try? JSONValue(parsing: content))?.object
        }

        subscript(name: String) -> JSONValue? { object?[name] }
    }

    func send(
        _ method: String, _ path: String, headers: [String] = [], body: String = ""
    ) async throws -> Answer {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
        if let apiKey { head += "X-API-KEY: \(apiKey)\r\n" }
        for header in headers { head += header + "\r\n" }
        if !body.isEmpty { head += "Content-Length: \(body.utf8.count)\r\n" }
        let client = try await RawClient(port: port, limit: .seconds(60), sending: head + "\r\n" + body)
        let response = try await client.readResponse()
        await client.close()
        // Responses of simulated carriers have no id.
        if response["x-request-id"] != nil { try PublishedAPI.hold(response, to: method, path) }
        return Answer(response: response, json: Members(of: response.body))
    }

    func signIn(_ fields: [String: String]) async throws -> Answer {
        try await send(
            "POST", "/auth/zenkey-signin", headers: ["Content-Type: application/json"], body: App.json(fields))
    }

    func me(_ token: String) async throws -> Answer {
        // The published iOS client sends a content type without content.
        try await send(
            "GET", "/users/me", headers: ["Authorization: Bearer \(token)", "Content-Type: application/json"])
    }

    func refresh(_ refreshToken: String) async throws -> Answer {
        try await send(
            "POST", "/auth/token", headers: ["Content-Type: application/x-www-form-urlencoded"],
            body: App.form(["grant_type": "refresh_token", "refresh_token": refreshToken]))
    }

    func signOut(_ token: String) async throws -> Answer {
        try await send(
            "DELETE", "/auth/token", headers: ["Authorization: Bearer \(token)", "Content-Type: application/json"])
    }

    static func json(_ fields: [String: String]) -> String {
        var json = JSONObjectWriter()
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) { json.add(named: name, value) }
        return String(decoding: json.finish(), as: UTF8.self)
    }

    static func form(_ fields: [String: String]) -> String {
        fields.sorted { $0.key < $1.key }.map { "\($0.key)=\(percentEncoded($0.value))" }.joined(separator: "&")
    }

    private static func percentEncoded(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain =
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
            return isPlain ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}

extension App {
    func post(_ path: String, _ fields: [String: String]) async throws -> Answer {
        try await send("POST", path, headers: ["Content-Type: application/json"], body: App.json(fields))
    }

    /// A call with a session, with a JSON body if there are fields.
    func asUser(
        _ method: String, _ path: String, _ token: String, _ fields: [String: String] = [:]
    ) async throws -> Answer {
        try await send(
            method, path, headers: ["Authorization: Bearer \(token)", "Content-Type: application/json"],
            body: fields.isEmpty ? "" : App.json(fields))
    }
}
