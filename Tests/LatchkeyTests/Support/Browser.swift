import HTTPServer
import Primitives
import TestSupport

/// A headless browser: keeps cookies by host and port; the test chooses each request.
final class Browser {
    struct Page {
        let response: RawClient.Response

        var status: Int { response.status }
        var location: String { response["location"] ?? "" }
        var text: String { response.text }

        /// The parameters in the query of ``location``.
        var parameters: Query { Browser.query(of: location) }
    }

    /// By origin, then by name.
    private(set) var cookies: [String: [String: String]] = [:]

    init() {}

    /// Another browser with the same cookies except some.
    init(copying other: Browser, without names: [String] = []) {
        cookies = other.cookies.mapValues { jar in jar.filter { !names.contains($0.key) } }
    }

    func get(_ url: String, headers: [String] = []) async throws -> Page {
        try await send("GET", url, headers: headers)
    }

    func post(_ url: String, form: [String: String], headers: [String] = []) async throws -> Page {
        try await send(
            "POST", url, headers: headers + ["Content-Type: application/x-www-form-urlencoded"], body: App.form(form))
    }

    /// Follows a redirect to the carrier, where the user approves, unless the carrier redirects at once.
    func approve(_ page: Page) async throws -> Page {
        let shown = try await get(page.location)
        if shown.status != 200 { return shown }
        let endpoint = page.location.prefix { $0 != "?" }
        var form: [String: String] = [:]
        for item in page.parameters.items { form[item.name] = item.value }
        return try await post(endpoint + "/approve", form: form)
    }

    func send(_ method: String, _ url: String, headers: [String] = [], body: String = "") async throws -> Page {
        let (origin, port, target) = Self.split(url)
        var head = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
        let jar = cookies[origin] ?? [:]
        if !jar.isEmpty {
            head += "Cookie: " + jar.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
            head += "\r\n"
        }
        for header in headers { head += header + "\r\n" }
        if method == "POST" { head += "Content-Length: \(body.utf8.count)\r\n" }
        let client = try await RawClient(port: port, limit: .seconds(60), sending: head + "\r\n" + body)
        let response = try await client.readResponse()
        await client.close()
        // Responses of simulated carriers have no id.
        if response["x-request-id"] != nil { try PublishedAPI.hold(response, to: method, target) }
        for field in response.fields where field.name == "set-cookie" { keep(field.value, for: origin) }
        return Page(response: response)
    }

    private func keep(_ cookie: String, for origin: String) {
        let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard pair.count == 2 else { return }
        cookies[origin, default: [:]][String(pair[0])] = cookie.contains("Max-Age=0") ? nil : String(pair[1])
    }

    /// Splits `http://127.0.0.1:port/path?query`. A fragment is not sent.
    private static func split(_ url: String) -> (origin: String, port: UInt16, target: String) {
        let rest = url.dropFirst("http://127.0.0.1:".count)
        let port = rest.prefix { ("0"..."9").contains($0) }
        let target = rest.dropFirst(port.count).prefix { $0 != "#" }
        return ("127.0.0.1:\(port)", UInt16(port) ?? 0, target.isEmpty ? "/" : String(target))
    }

    static func query(of url: String) -> Query {
        guard let mark = url.firstIndex(of: "?") else { return Query() }
        return Query(String(url[url.index(after: mark)...].prefix { $0 != "#" })) ?? Query()
    }
}
