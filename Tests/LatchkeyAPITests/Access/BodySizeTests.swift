import HTTPTypes
import TestSupport
import Testing

/// How large a body may be, which anyone may send.
@Suite("The size of a body", .timeLimit(.minutes(5)))
struct BodySizeTests {
    private static let most = 24_576

    private func form(_ bytes: Int) -> String {
        let start = "client_type=web&state="
        return start + String(repeating: "x", count: bytes - start.utf8.count)
    }

    private func json(_ bytes: Int) -> String {
        let (start, end) = (#"{"client_type":"web","state":""#, #""}"#)
        return start + String(repeating: "x", count: bytes - start.utf8.count - end.utf8.count) + end
    }

    @Test(
        "Without an API key JSON is refused above 24 KiB, before it is read",
        arguments: ["/users", "/auth/register", "/auth/token", "/auth/session", "/auth/bank/sign-in"])
    func jsonWithoutKey(_ path: String) async throws {
        let app = try TestApp()
        let headers: HTTPFields = [.contentType: "application/json", .origin: "https://login.example"]
        for (bytes, isRefused) in [(Self.most, false), (Self.most + 1, true), (65_536, true)] {
            let answer = try await app.send(.post, path, headers, body: json(bytes), apiKey: nil)
            #expect((answer.status == 413) == isRefused)
            #expect(answer.body.contains("it may have \(Self.most >> 10) KiB.") == isRefused)
            #expect((answer.error == "payload_too_large") == isRefused)
        }
    }

    @Test(
        "Without an API key a form is refused above 24 KiB, before it is read",
        arguments: [
            "/auth/bank/callback", "/auth/bank/web/callback", "/users", "/auth/register", "/auth/token",
            "/auth/session",
            "/auth/bank/sign-in", "/auth/bank/initiate-login", "/auth/bank/backchannel-logout", "/register",
        ])
    func withoutKey(_ path: String) async throws {
        let app = try TestApp()
        let headers: HTTPFields = [
            .contentType: "application/x-www-form-urlencoded", .accept: "application/json",
            .origin: "https://login.example",
        ]
        for (bytes, isRefused) in [(Self.most, false), (Self.most + 1, true), (65_536, true)] {
            let answer = try await app.send(.post, path, headers, body: form(bytes), apiKey: nil)
            #expect((answer.status == 413) == isRefused)
            #expect((answer.error == "payload_too_large") == isRefused)
        }
        // A key of one's own making is none.
        let answer = try await app.send(.post, path, headers, body: form(65_536), apiKey: "made-up")
        #expect([401, 413].contains(answer.status))
    }

    @Test("The origin of a page is no API key")
    func origin() async throws {
        let app = try TestApp(allowedOrigins: ["https://web.example"])
        let headers: HTTPFields = [
            .contentType: "application/x-www-form-urlencoded", .origin: "https://web.example",
        ]
        let answer = try await app.send(.post, "/auth/session", headers, body: form(Self.most + 1), apiKey: nil)
        #expect(answer.status == 413)
    }

    @Test(
        "With an API key it may have 64 KiB", arguments: ["/users", "/auth/token", "/auth/session", "/auth/introspect"])
    func withKey(_ path: String) async throws {
        let answer = try await TestApp().form(path, form(65_536))
        #expect(answer.error == "invalid_request")
        #expect(try await TestApp().post(path, json(65_536)).error == "invalid_request")
    }
}
