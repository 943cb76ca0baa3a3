import Foundation
import LatchkeyClient
import TestSupport
import Testing

/// What the client follows over the cellular network, and what it does not.
@Suite("A visit of an authorization URL")
struct AuthorizationVisitTests {
    private static let redirectURI = "com.example.app:/signed-in"

    private func visit(
        _ url: String, _ network: SocketCellularNetwork, allowsLoopbackHTTP: Bool = true, timeLimit: TimeInterval = 60
    ) async throws -> Result<URL, LatchkeyError> {
        let visit = AuthorizationVisit(
            network: network, redirectURI: Self.redirectURI, allowsLoopbackHTTP: allowsLoopbackHTTP,
            timeLimit: timeLimit)
        let url = try #require(URL(string: url))
        do throws(LatchkeyError) {
            return .success(try await visit.callback(from: url))
        } catch {
            return .failure(error)
        }
    }

    private static func redirect(_ location: String, status: Int = 302, _ more: String = "") -> String {
        "HTTP/1.1 \(status) Found\r\nLocation: \(location)\r\n\(more)Content-Length: 0\r\n\r\n"
    }

    /// A server with a response for each path; 404 for others.
    private static func server(_ responses: [String: String]) throws -> RawHTTPPeer {
        try RawHTTPPeer { connection in
            while let request = connection.readRequest() {
                let target = request.startLine.split(separator: " ").dropFirst().first ?? ""
                connection.send(
                    responses[String(target.prefix { $0 != "?" })] ?? "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
            }
        }
    }

    @Test(
        "Redirects are followed up to the app's redirect URI, which is not requested",
        arguments: [301, 302, 303, 307, 308])
    func followed(status: Int) async throws {
        let end = Self.redirectURI + "?action=login&status=success&session_id=S%2F1"
        let server = try Self.server([
            "/authorize": "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
                + Self.redirect("/next?a=%2F&b=c+d", status: status),
            "/next": Self.redirect("last?x", status: status), "/last": Self.redirect(end),
        ])
        defer { server.stop() }
        let network = SocketCellularNetwork()
        let result = try await visit(server.url("/authorize?state=s%201"), network)
        #expect(try result.get().absoluteString == end)
        #expect(network.requests.map(\.target) == ["/authorize?state=s%201", "/next?a=%2F&b=c+d", "/last?x"])
        for request in network.requests {
            #expect(
                request.fields == ["host: 127.0.0.1:\(server.port)", "accept: text/html", "connection: close"])
        }
    }

    /// What ends a visit that began well.
    static let stops: [(response: String, requests: Int)] = [
        (redirect("http://192.0.2.1/"), 1), (redirect("http://operator.example/"), 1),
        (redirect("http://127.0.0.1.operator.example/"), 1), (redirect("ftp://127.0.0.1/"), 1),
        (redirect("com.evil.app:/signed-in?session_id=1"), 1), (redirect(redirectURI), 1),
        (redirect(redirectURI + "-evil?session_id=1"), 1), (redirect("https://user@127.0.0.1/"), 1),
        (redirect("https://127.0.0.1:0/"), 1), (redirect("/" + String(repeating: "a", count: 9000)), 1),
        (redirect("/a\u{1}b"), 1), (redirect("/", "Location: /other\r\n"), 1), (redirect("/loop"), 11),
        ("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", 1), ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 1),
        ("HTTP/1.1 400 No\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n", 1), ("SSH-2.0-x\r\n\r\n", 1),
        ("HTTP/1.1 302 Found\r\nLocation /\r\n\r\n", 1), ("HTTP/1.1 302 Found\r\nX: a\nLocation: /next\r\n\r\n", 1),
        ("HTTP/1.1 302 Found\r\nX: " + String(repeating: "a", count: 17_000) + "\r\nLocation: /next\r\n\r\n", 1),
        (String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 700) + redirect("/next"), 1),
    ]

    @Test("Everything else ends the visit, and nothing is requested from there", arguments: stops.indices)
    func stopped(_ index: Int) async throws {
        let (response, requests) = Self.stops[index]
        let server = try Self.server(["/authorize": response, "/loop": Self.redirect("/loop")])
        defer { server.stop() }
        let network = SocketCellularNetwork()
        guard case .failure(let error) = try await visit(server.url("/authorize"), network) else {
            Issue.record("\(response.prefix(80)) was followed")
            return
        }
        #expect(error.code == .authorizationStopped, "\(response.prefix(80))")
        #expect(network.requests.count == requests && network.endpoints.count == requests)
        #expect(!"\(error)".contains("session_id"))
    }

    @Test("https is followed with TLS; http on this machine only where it is allowed")
    func schemes() async throws {
        let server = try Self.server(["/authorize": Self.redirect("https://operator.example:8443/next?a")])
        defer { server.stop() }
        let network = SocketCellularNetwork()
        guard case .failure(let error) = try await visit(server.url("/authorize"), network) else { return }
        #expect(error.code == .cellularUnavailable, "the sockets of the test have no TLS")
        let last = try #require(network.endpoints.last)
        #expect(last.host == "operator.example" && last.port == 8443 && last.usesTLS)

        let strict = SocketCellularNetwork()
        let refused = try await visit(server.url("/authorize"), strict, allowsLoopbackHTTP: false)
        #expect(refused.failureCode == .authorizationStopped && strict.endpoints.isEmpty)
    }

    @Test("A cookie goes to the origin that set it and to no other")
    func cookies() async throws {
        let first = try RawHTTPPeer { connection in
            while let request = connection.readRequest() {
                if request.startLine.contains("/again") {
                    connection.send(Self.redirect(Self.redirectURI + "?status=success"))
                } else {
                    let query = request.startLine.split(separator: " ")[1].split(separator: "?")[1]
                    connection.send(
                        Self.redirect(
                            "http://127.0.0.1:\(query)/other",
                            "Set-Cookie: device=d1; Domain=127.0.0.1; Path=/; HttpOnly\r\n"
                                + "Set-Cookie: gone=1; Max-Age=0\r\n"))
                }
            }
        }
        let back = "http://127.0.0.1:\(first.port)/again"
        let second = try Self.server(["/other": Self.redirect(back, "Set-Cookie: device=d2\r\n")])
        defer { for server in [first, second] { server.stop() } }
        let network = SocketCellularNetwork()
        _ = try await visit(first.url("/authorize?\(second.port)"), network).get()
        #expect(network.requests.map(\.endpoint.port) == [first.port, second.port, first.port])
        #expect(network.requests.map(\.cookie) == [nil, nil, "cookie: device=d1"])
        #expect(network.requests.allSatisfy { request in !request.fields.contains { $0.hasPrefix("referer") } })
    }

    @Test("An operator that does not respond ends the visit after the time limit; so does the end of the task")
    func timeLimit() async throws {
        // The first visit may end before it has connected.
        let silent = try RawHTTPPeer { connection in
            _ = connection.readRequest()
            connection.hold()
        }
        defer { silent.stop() }
        let late = try await visit(silent.url("/authorize"), SocketCellularNetwork(), timeLimit: 0.2)
        #expect(late.failureCode == .cellularUnavailable)
        let (asked, signal) = AsyncStream.makeStream(of: Void.self)
        let server = try RawHTTPPeer { connection in
            _ = connection.readRequest()
            connection.hold()
            signal.yield()
        }
        defer { server.stop() }
        let network = SocketCellularNetwork()
        let task = Task { try await visit(server.url("/authorize"), network) }
        var requests = asked.makeAsyncIterator()
        await requests.next()
        task.cancel()
        #expect(try await task.value.failureCode == .cancelled)
        network.isDown = true
        #expect(try await visit(server.url("/authorize"), network).failureCode == .cellularUnavailable)
    }
}

extension Result where Failure == LatchkeyError {
    fileprivate var failureCode: LatchkeyError.Code? { if case .failure(let error) = self { error.code } else { nil } }
}
