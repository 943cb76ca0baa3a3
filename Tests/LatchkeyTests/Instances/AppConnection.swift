import TestSupport

/// An app's keep-alive connection, reopened after an orderly close.
struct AppConnection {
    let address: LoopbackAddress
    private var client: RawClient?

    init(to address: LoopbackAddress) {
        self.address = address
    }

    /// - Throws: `RawClient.Failure` if there is no response.
    mutating func send(
        _ method: String, _ path: String, token: String? = nil, json: [String: String]? = nil
    ) async throws -> App.Answer {
        let body = json.map { App.json($0) } ?? ""
        var head = "\(method) \(path) HTTP/1.1\r\nHost: login.example.com\r\nX-API-KEY: \(AdminHarness.apiKey)\r\n"
        if let token { head += "Authorization: Bearer \(token)\r\n" }
        head += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        let connection: RawClient
        if let client {
            connection = client
        } else {
            connection = try await RawClient(host: address.host, port: address.port, limit: .seconds(180))
        }
        client = nil
        try await connection.send(head + body)
        let response = try await connection.readResponse()
        if response["connection"] == "close" { await connection.close() } else { client = connection }
        try PublishedAPI.hold(response, to: method, path)
        return App.Answer(response: response, json: App.Members(of: response.body))
    }

    func close() async { await client?.close() }
}
