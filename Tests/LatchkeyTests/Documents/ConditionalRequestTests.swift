import TestSupport
import Testing

@Suite("Conditional requests")
struct ConditionalRequestTests {
    @Test("The OpenAPI document and the pages are not sent again to many clients that have them")
    func unchanged() async throws {
        try await SignInHarness.with { harness in
            for (path, coding) in [("/openapi.json", "identity"), ("/openapi.json", "gzip"), ("/style.css", "gzip")] {
                let port = harness.app.port
                @Sendable func answers(_ condition: String) async throws -> Set<[String]> {
                    try await withThrowingTaskGroup(of: [String].self) { group in
                        for _ in 0..<24 {
                            group.addTask {
                                let client = try await RawClient(port: port, limit: .seconds(60))
                                let head = "GET \(path) HTTP/1.1\r\nHost: a\r\nAccept-Encoding: \(coding)\r\n"
                                var answer: [String] = []
                                for _ in 0..<4 { try await client.send(head + condition + "\r\n") }
                                for _ in 0..<4 {
                                    let response = try await client.readResponse()
                                    let new = [
                                        "\(response.status)", response["etag"] ?? "", response["vary"] ?? "",
                                        "\(response.body.count)",
                                    ]
                                    #expect(answer.isEmpty || answer == new)
                                    answer = new
                                }
                                await client.close()
                                return answer
                            }
                        }
                        return try await group.reduce(into: []) { $0.insert($1) }
                    }
                }
                let first = try #require(try await answers("").first)
                #expect(first[0] == "200" && first[3] != "0")
                let again = try await answers("If-None-Match: \(first[1])\r\n")
                #expect(again == [["304", first[1], first[2], "0"]])
                #expect(try await answers("If-None-Match: \"other\"\r\n") == [first])
            }
        }
    }
}
