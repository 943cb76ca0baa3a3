import HTTPTypes
import Primitives

@testable import HTTPServer
@testable import LatchkeyAPI
@testable import Redirects

/// The bytes after the first one as the value of a request's field. The first byte says of which: `f` Forwarded, `x`
/// X-Forwarded-For, `c` Cookie, `a` Accept, `e` Accept-Encoding, `b` Authorization, `n` If-None-Match, `r` Range,
/// `t` traceparent.
enum RequestFieldsTarget {
    private static let proxy = SocketAddress(host: "10.0.0.1", port: 1)
    /// Whom the proxy forwards for.
    private static let client = IPAddress("192.0.2.7")

    static func read(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let value = Array(bytes.dropFirst())
        switch first {
        case UInt8(ascii: "f"): readForwarded(value, .forwarded, name: "Forwarded", appended: "for=192.0.2.7")
        case UInt8(ascii: "x"): readForwarded(value, .xForwardedFor, name: "X-Forwarded-For", appended: "192.0.2.7")
        case UInt8(ascii: "c"): readCookies(value)
        case UInt8(ascii: "a"): readAccept(value)
        case UInt8(ascii: "e"): readAcceptEncoding(value)
        case UInt8(ascii: "b"): readAuthorization(value)
        case UInt8(ascii: "n"): readIfNoneMatch(value)
        case UInt8(ascii: "r"): readRange(value)
        case UInt8(ascii: "t"): readTraceParent(value)
        default: break
        }
    }

    /// Nil for what no request can have in a field.
    private static func request(_ lines: [(name: String, value: [UInt8])]) -> Request? {
        var bytes = Array("GET / HTTP/1.1\r\nHost: localhost\r\n".utf8)
        for line in lines {
            guard !line.value.contains(0x0A) else { return nil }
            bytes += Array("\(line.name): ".utf8) + line.value + [0x0D, 0x0A]
        }
        var parser = HeadParser(limits: MessageLimits(ServerLimits()))
        guard case .complete(let head, _, let count)? = try? parser.parse((bytes + [0x0D, 0x0A]).span) else {
            return nil
        }
        demand(count == bytes.count + 2, "a field ends where its line ends")
        return Request(head: head, body: [], client: ConnectedClient(proxy, streams: CountLimit(maximum: 1)))
    }

    /// A client's text, to which a trusted proxy appends whom it forwards for.
    private static func readForwarded(
        _ value: [UInt8], _ field: TrustedProxies.Field, name: String, appended: String
    ) {
        guard let range = IPAddressRange("10.0.0.1/32") else { return demand(false, "the range is one") }
        let proxies = TrustedProxies(ranges: [range], field: field)
        let own = Array(appended.utf8)
        guard let joined = request([(name, value + Array(", ".utf8) + own)]),
            let separate = request([(name, value), (name, own)])
        else { return }
        demand(proxies.client(of: separate) == client, "a proxy's own line counts, whatever is before it")
        let found = proxies.client(of: joined)
        demand(found == client || found == proxy.address, "a client cannot choose its address")
        // Every text can be an entry of the list, and commas are in no entry.
        demand(field == .forwarded || found == client, "a proxy's own entry counts, whatever is before it")
        demand(
            proxies.forwardedClient(of: joined).map { $0 == client } ?? true, "a client cannot choose whom it is")
        demand(proxies.forwards(joined) && proxies.forwards(separate), "a forwarded request is known as one")
    }

    private static func readCookies(_ value: [UInt8]) {
        let cookies = BrowserCookies(isSecure: false)
        let token = String(repeating: "A", count: 43)
        let own = Array("; latchkey_session=\(token)".utf8)
        guard let alone = request([("Cookie", value)]), let joined = request([("Cookie", value + own)]),
            let separate = request([("Cookie", value), ("Cookie", Array(own.dropFirst(2)))])
        else { return }
        for secret in [cookies.session(of: alone), cookies.refresh(of: alone), cookies.browser(of: alone)] {
            let text = secret?.exposed ?? token
            demand(
                text.utf8.count <= 97 && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3B },
                "a cookie's value is a token")
        }
        for request in [joined, separate] {
            demand(
                cookies.session(of: request).map { $0.exposed == token } ?? true,
                "of two cookies of one name, none is chosen")
        }
        demand(
            cookies.hasSession(alone) == (cookies.session(of: alone) != nil || cookies.refresh(of: alone) != nil),
            "a session is there, or not")
    }

    private static func readAccept(_ value: [UInt8]) {
        guard let request = request([("Accept", value)]) else { return }
        let text = String(decoding: value, as: UTF8.self).lowercased()
        demand(
            !request.acceptsProblemDetails || text.contains("application/problem+json"),
            "problem details are for those that name them")
        demand(!request.prefersJSON || text.contains("json"), "JSON is for those that name it")
    }

    private static func readAcceptEncoding(_ value: [UInt8]) {
        guard request([("Accept-Encoding", value)]) != nil else { return }
        let text = String(decoding: value, as: UTF8.self)
        let whole = AcceptEncoding([text])
        demand(
            !whole.choosesGzip || text.lowercased().contains("gzip") || text.contains("*"),
            "gzip is for those that accept it")
        guard let comma = text.firstIndex(of: ",") else { return }
        let halves = AcceptEncoding([String(text[..<comma]), String(text[text.index(after: comma)...])])
        demand(
            whole.choosesGzip == halves.choosesGzip && whole.takesIdentity == halves.takesIdentity,
            "a list is the same in one line and in two")
    }

    private static func readAuthorization(_ value: [UInt8]) {
        guard let once = request([("Authorization", value)]),
            let twice = request([("Authorization", value), ("Authorization", Array("Bearer abc".utf8))])
        else { return }
        demand((try? twice.bearerToken()) == nil, "of two tokens, none is chosen")
        guard let token = try? once.bearerToken().bytes else { return }
        demand(
            (1...512).contains(token.count) && token.allSatisfy { $0 > 0x20 && $0 < 0x7F },
            "a token has its limit and its characters")
    }

    private static func readIfNoneMatch(_ value: [UInt8]) {
        guard request([("If-None-Match", value)]) != nil else { return }
        let text = String(decoding: value, as: UTF8.self)
        demand(
            !EntityTag.list([text], has: "\"tag\"") || text.contains("\"tag\"") || text.contains("*"),
            "only a tag that is named matches")
        demand(EntityTag.list(["\"tag\", " + text], has: "\"tag\""), "a tag matches, whatever follows it")
    }

    private static func readRange(_ value: [UInt8]) {
        let text = String(decoding: value, as: UTF8.self)
        for length in [0, 1, 10, 1 << 40] {
            guard case .part(let range) = ByteRange.read(text, of: length) else { continue }
            demand(
                !range.isEmpty && range.lowerBound >= 0 && range.upperBound <= length, "a range is within the content")
        }
    }

    private static func readTraceParent(_ value: [UInt8]) {
        guard let context = TraceContext(traceparent: String(decoding: value, as: UTF8.self)) else { return }
        demand(TraceContext(traceparent: context.traceparent) == context, "a trace that is written is read as the same")
        demand(context.traceID.utf8.count == 32 && context.spanID.utf8.count == 16, "ids have their length")
    }
}
