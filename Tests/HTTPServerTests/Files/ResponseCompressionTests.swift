import CLatchkeyZlib
import HTTPServer
import HTTPTypes
import TestSupport
import Testing

@Suite("Compressed responses")
struct ResponseCompressionTests {
    static let text = String(repeating: "the same words again and again; ", count: 64)

    static func unzipped(_ bytes: [UInt8]) -> String {
        let plain = [UInt8](unsafeUninitializedCapacity: 1 << 20) { output, count in
            count = czlib_gunzip(bytes, bytes.count, output.baseAddress, 1 << 20)
        }
        return String(decoding: plain, as: UTF8.self)
    }

    /// A cacheable JSON response of 2 KiB with a change, after compression.
    private func answer(
        to headers: HTTPFields = [.acceptEncoding: "gzip"], method: HTTPRequest.Method = .get,
        _ change: (inout Response) -> Void = { _ in }
    ) throws -> Response {
        var response = Response(
            status: .ok, headers: [.contentType: "application/json; charset=utf-8", .eTag: "\"a\""],
            body: Array(Self.text.utf8))
        change(&response)
        ResponseCompression.apply(to: &response, for: try Request(method, "/", headers: headers))
        return response
    }

    @Test(
        "A large text is compressed, and has Vary and its own tag",
        arguments: [
            HTTPRequest.Method.get, .head,
        ])
    func coded(_ method: HTTPRequest.Method) throws {
        let response = try answer(method: method)
        #expect(response.headers[.contentEncoding] == "gzip")
        #expect(response.headers[.vary] == "Accept-Encoding")
        #expect(response.headers[.eTag] == "\"a-gzip\"")
        #expect(response.body.count < 200)
        #expect(Self.unzipped(response.body) == Self.text)
    }

    @Test("The shortest and the longest body that are compressed", arguments: [1024, 1 << 20])
    func ends(_ count: Int) throws {
        let response = try answer { $0.body = [UInt8](repeating: 65, count: count) }
        #expect(response.headers[.contentEncoding] == "gzip")
    }

    @Test("A response without gzip still has Vary", arguments: ["identity", "gzip;q=0", "br"])
    func plain(_ accepted: String) throws {
        let response = try answer(to: [.acceptEncoding: accepted])
        #expect(response.headers[.contentEncoding] == nil)
        #expect(response.headers[.vary] == "Accept-Encoding")
        #expect(response.headers[.eTag] == "\"a\"")
        #expect(response.body == Array(Self.text.utf8))
    }

    static let left: [(String, HTTPRequest.Method, HTTPFields, @Sendable (inout Response) -> Void)] = [
        ("no-store", .get, [:], { $0.headers[.cacheControl] = "no-store" }),
        ("No-Store among others", .get, [:], { $0.headers[.cacheControl] = "max-age=0, No-Store" }),
        ("private", .get, [:], { $0.headers[.cacheControl] = "private" }),
        ("no-transform", .get, [:], { $0.headers[.cacheControl] = "public, no-transform" }),
        ("a cookie is set", .get, [:], { $0.headers[.setCookie] = "a=b" }),
        ("to who shows a token", .get, [.authorization: "Bearer t"], { _ in }),
        ("to who shows a cookie", .get, [.cookie: "session=1"], { $0.headers[.cacheControl] = "max-age=5" }),
        ("to a POST", .post, [:], { _ in }),
        ("an error", .get, [:], { $0.status = .badRequest }),
        ("a part", .get, [:], { $0.headers[.contentRange] = "bytes 0-9/10" }),
        ("coded already", .get, [:], { $0.headers[.contentEncoding] = "br" }),
        ("chosen already", .get, [:], { $0.headers[.vary] = "Origin, accept-encoding" }),
        ("a picture", .get, [:], { $0.headers[.contentType] = "image/png" }),
        ("of no type", .get, [:], { $0.headers[.contentType] = nil }),
        ("short", .get, [:], { $0.body.removeLast($0.body.count - 1023) }),
        ("huge", .get, [:], { $0.body = [UInt8](repeating: 65, count: 1 << 20 | 1) }),
    ]

    @Test("Ineligible responses are not compressed and have no Vary", arguments: left.indices)
    func untouched(_ index: Int) throws {
        let (name, method, headers, change) = Self.left[index]
        var fields: HTTPFields = [.acceptEncoding: "gzip"]
        fields.append(contentsOf: headers)
        var expected = Response(
            status: .ok, headers: [.contentType: "application/json; charset=utf-8", .eTag: "\"a\""],
            body: Array(Self.text.utf8))
        change(&expected)
        let response = try answer(to: fields, method: method, change)
        #expect(response.headers == expected.headers, "\(name)")
        #expect(response.body == expected.body, "\(name)")
    }

    @Test("A public response is compressed also for requests with credentials")
    func publicForAll() throws {
        let response = try answer(to: [.acceptEncoding: "gzip", .cookie: "a=b"]) {
            $0.headers[.cacheControl] = "public, max-age=5"
        }
        #expect(response.headers[.contentEncoding] == "gzip")
    }

    @Test("Content that gzip does not shrink is sent uncompressed")
    func incompressible() throws {
        var state: UInt64 = 1
        let noise = (0..<2048).map { _ -> UInt8 in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
        let response = try answer { $0.body = noise }
        #expect(response.headers[.contentEncoding] == nil)
        #expect(response.body == noise)
        #expect(Gzip.compress(noise, .thorough).map { $0.count > noise.count } == true)
    }

    @Test("Over a socket Content-Length is the compressed length")
    func overSocket() async throws {
        let handler: Handler = { request in
            var response = Response(status: .ok, contentType: "text/plain", text: Self.text)
            if request.path == "/token" { response.headers[.cacheControl] = "no-store" }
            return response
        }
        try await LiveServer.run(handler: handler) { live in
            let client = try await live.connect()
            try await client.send(request("GET /", "Accept-Encoding: gzip"))
            let coded = try await client.readResponse()
            #expect(coded["content-encoding"] == "gzip")
            #expect(Self.unzipped(coded.body) == Self.text)
            try await client.send(request("HEAD /", "Accept-Encoding: gzip"))
            #expect(try await client.readResponse(toHead: true)["content-length"] == "\(coded.body.count)")
            try await client.send(request("GET /token", "Accept-Encoding: gzip"))
            let token = try await client.readResponse()
            #expect(token["content-encoding"] == nil && token["vary"] == nil)
            #expect(token.text == Self.text)
        }
    }
}
