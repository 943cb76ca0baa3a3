import Foundation
import HTTPTypes
import Logging
import Primitives
import TestSupport
import Testing

@testable import HTTPServer

@Suite("Static files")
struct StaticFilesTests {
    private static let style = String(repeating: "p { color: black }\n", count: 100)
    private static let files = [
        "index.html": "<p>start</p>", "style.css": style, "docs/index.html": "<p>docs</p>", "a b.txt": "blank",
        "noise.png": "PNG", "data.bin": "0123456789", ".env": "SECRET", ".git/config": "SECRET",
        ".well-known/apple-app-site-association": "{}", ".well-known/assetlinks.json": "[]",
        ".well-known/.hidden": "SECRET", "docs/.well-known/x.json": "SECRET", "empty.txt": "",
    ]

    /// A folder beside a secret, and its server. The files are old, so that their contents are cached.
    private struct Site {
        let directory: TemporaryDirectory
        let files: StaticFiles
        let now = 1_800_000_000
        let modified = 1_700_000_000

        init(_ contents: [String: String] = StaticFilesTests.files, limits: StaticFiles.Limits = .init()) throws {
            directory = try TemporaryDirectory(files: ["secret.txt": "SECRET"])
            let now = Timestamp(secondsSinceEpoch: Int64(self.now))
            files = StaticFiles(
                folder: directory.file("site"), fields: [.cacheControl: "public, max-age=300"], limits: limits,
                clock: WallClock { now }, logger: LiveServer.silentLogger)
            for (name, text) in contents { try write(text, as: name) }
        }

        func path(_ name: String) -> String { directory.file("site/" + name) }

        func write(_ text: String, as name: String, at time: Int? = nil) throws {
            try directory.write(text, as: "site/" + name)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: TimeInterval(time ?? modified))],
                ofItemAtPath: path(name))
        }

        func link(_ name: String, to target: String) throws {
            try FileManager.default.createSymbolicLink(atPath: path(name), withDestinationPath: target)
        }

        func get(
            _ target: String, _ headers: HTTPFields = [:], method: HTTPRequest.Method = .get
        ) async throws -> Response? {
            try await files.respond(to: Request(method, target, headers: headers))
        }
    }

    private func text(_ response: Response?) -> String? {
        response.map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test(
        "Paths map to files with their types",
        arguments: [
            ("/", "<p>start</p>", "text/html; charset=utf-8"),
            ("/index.html", "<p>start</p>", "text/html; charset=utf-8"),
            ("/docs/", "<p>docs</p>", "text/html; charset=utf-8"), ("/a%20b.txt", "blank", "text/plain; charset=utf-8"),
            ("/style.css?v=1", style, "text/css; charset=utf-8"), ("/noise.png", "PNG", "image/png"),
            ("/data.bin", "0123456789", "application/octet-stream"), ("/empty.txt", "", "text/plain; charset=utf-8"),
            ("/.well-known/apple-app-site-association", "{}", "application/json"),
            ("/.well-known/assetlinks.json", "[]", "application/json"),
        ])
    func found(_ target: String, _ content: String, _ type: String) async throws {
        let site = try Site()
        let response = try #require(try await site.get(target))
        #expect(response.status == .ok)
        #expect(text(response) == content)
        #expect(response.headers[.contentType] == type)
        #expect(response.headers[.lastModified] == "Tue, 14 Nov 2023 22:13:20 GMT")
        #expect(response.headers[.cacheControl] == "public, max-age=300")
        #expect(response.headers[.acceptRanges] == "bytes")
        #expect(response.headers[.vary] == "Accept-Encoding")
        #expect(response.headers[.eTag]?.count == 34)
    }

    @Test(
        "No path leads out of the folder, to hidden files, or to anything but files",
        arguments: [
            "/nothing", "/docs", "/.env", "/.git/config", "/.well-known/.hidden", "/docs/.well-known/x.json",
            "//style.css",
            "/docs//index.html", "/style.css/", "/style.css/x", "/.well-known", "/.well-known/", "/outside.txt",
            "/outside-absolute.txt", "/folder-outside/secret.txt", "/pipe", "/loop", "/STYLE.CSS", "/style.css%20",
        ])
    func missing(_ target: String) async throws {
        let site = try Site()
        try site.link("outside.txt", to: "../secret.txt")
        try site.link("outside-absolute.txt", to: site.directory.file("secret.txt"))
        try site.link("folder-outside", to: "..")
        try site.link("loop", to: "loop")
        #expect(mkfifo(site.path("pipe"), 0o600) == 0)
        #expect(try await site.get(target) == nil)
    }

    @Test(
        "Paths that the request parser refuses are refused here too",
        arguments: [
            "/../secret.txt", "/docs/../style.css", "/./style.css", "/a\\b", "/style.css\0", "style.css", "", "/a\nb",
            "/..", "/.", "//", "/\u{7F}", "/\u{602}/../secret.txt", "/\u{602}/.git/config",
        ])
    func impossiblePaths(_ path: String) { #expect(SitePath.file(path) == nil) }

    @Test("A path may have 1024 bytes")
    func longPath() {
        let path = "/" + String(repeating: "a/", count: 511) + "b"
        #expect(SitePath.file(path) == String(path.dropFirst()))
        #expect(SitePath.file(path + "c") == nil)
    }

    @Test(
        "Dot segments and encoded slashes are refused by the parser",
        arguments: [
            "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/..%5csecret.txt", "/style.css%00.txt", "/docs/%2E%2e/style.css",
        ])
    func refusedPaths(_ target: String) { #expect(throws: RequestError.self) { try Request(.get, target) } }

    @Test("A symbolic link within the folder is followed")
    func linkInside() async throws {
        let site = try Site()
        try FileManager.default.createDirectory(atPath: site.path("..data"), withIntermediateDirectories: true)
        try site.write("inside", as: "..data/mounted.txt")
        try site.link("mounted.txt", to: "..data/mounted.txt")
        #expect(text(try await site.get("/mounted.txt")) == "inside")
    }

    @Test(
        "A symbolic link to a hidden file, or through a hidden folder, is not followed",
        arguments: [
            ("environment.txt", ".env"), ("config", ".git/config"), ("repository", ".git"), ("hidden", "docs/.hidden"),
            ("well-known.txt", ".well-known/.hidden"), ("twice", "environment.txt"), ("folder", "linked-folder"),
            ("dots.txt", "..secret"), ("nested", "docs/.well-known/x.json"),
        ])
    func linkToHidden(_ name: String, _ target: String) async throws {
        let site = try Site()
        try site.write("SECRET", as: "docs/.hidden")
        try site.write("SECRET", as: "..secret")
        try site.link("linked-folder", to: ".git")
        if name == "twice" { try site.link("environment.txt", to: ".env") }
        try site.link(name, to: target)
        let path = ["repository", "folder"].contains(name) ? name + "/config" : name
        #expect(try await site.get("/" + path) == nil)
        // Nor as the compressed form of another file.
        try site.write("visible", as: "visible.txt")
        try site.link("visible.txt.gz", to: target)
        let visible = try await site.get("/visible.txt", [.acceptEncoding: "gzip"])
        #expect(text(visible) == "visible" && visible?.headers[.contentEncoding] == nil)
    }

    @Test(
        "A symbolic link to a file, through a folder, or to one in .well-known is followed",
        arguments: [
            ("/other.css", "other.css", "style.css"), ("/papers/index.html", "papers", "docs"),
            ("/links.json", "links.json", ".well-known/assetlinks.json"), ("/docs/up.txt", "docs/up.txt", "../a b.txt"),
        ])
    func linkToVisible(_ path: String, _ name: String, _ target: String) async throws {
        let site = try Site()
        try site.link(name, to: target)
        #expect(try await site.get(path)?.status == .ok)
    }

    @Test("The client chooses the coding, and each coding has its own tag")
    func codings() async throws {
        let site = try Site()
        let plain = try #require(try await site.get("/style.css"))
        let coded = try #require(try await site.get("/style.css", [.acceptEncoding: "gzip"]))
        #expect(coded.headers[.contentEncoding] == "gzip" && plain.headers[.contentEncoding] == nil)
        #expect(ResponseCompressionTests.unzipped(coded.body) == Self.style)
        #expect(coded.headers[.eTag] != plain.headers[.eTag])
        #expect(coded.headers[.vary] == "Accept-Encoding")
        // Compression is not worthwhile.
        for name in ["/noise.png", "/data.bin", "/"] {
            let small = try #require(try await site.get(name, [.acceptEncoding: "gzip"]))
            #expect(small.headers[.contentEncoding] == nil && small.headers[.vary] == "Accept-Encoding")
        }
        let only = try #require(try await site.get("/style.css", [.acceptEncoding: "gzip, identity;q=0"]))
        #expect(only.headers[.contentEncoding] == "gzip")
        for accepted in ["identity;q=0, br", "gzip, identity;q=0"] {
            let error = await #expect(throws: HTTPError.self) {
                _ = try await site.get("/data.bin", [.acceptEncoding: accepted])
            }
            #expect(error?.status == .notAcceptable)
        }
    }

    @Test("A .gz beside the file is served in its place, unless it is older")
    func precompressed() async throws {
        let site = try Site()
        try site.write("coded beforehand", as: "index.html.gz")
        let coded = try #require(try await site.get("/", [.acceptEncoding: "gzip"]))
        #expect(text(coded) == "coded beforehand")
        #expect(coded.headers[.contentEncoding] == "gzip")
        #expect(coded.headers[.contentType] == "text/html; charset=utf-8")
        #expect(text(try await site.get("/")) == "<p>start</p>")
        try site.write("coded again", as: "index.html.gz")
        #expect(text(try await site.get("/", [.acceptEncoding: "gzip"])) == "coded again")
        try site.write("<p>later</p>", as: "index.html", at: site.modified + 1)
        #expect(text(try await site.get("/", [.acceptEncoding: "gzip"])) == "<p>later</p>")
        let itself = try #require(try await site.get("/index.html.gz", [.acceptEncoding: "gzip"]))
        #expect(itself.headers[.contentType] == "application/gzip" && itself.headers[.contentEncoding] == nil)
    }

    @Test("Changes on disk are visible at once, in the content and in the tag")
    func changes() async throws {
        let site = try Site()
        let tag = try #require(try await site.get("/data.bin")).headers[.eTag]
        #expect(try await site.get("/data.bin")?.headers[.eTag] == tag)
        for _ in 0..<3 {
            // The same length, in the same second.
            try site.write("9876543210", as: "data.bin")
            #expect(text(try await site.get("/data.bin")) == "9876543210")
            #expect(try await site.get("/data.bin")?.headers[.eTag] != tag)
            try site.write("0123456789", as: "data.bin")
            #expect(try await site.get("/data.bin")?.headers[.eTag] == tag)
        }
        try FileManager.default.removeItem(atPath: site.path("data.bin"))
        #expect(try await site.get("/data.bin") == nil)
    }

    @Test("A replaced folder is served at once; without a folder there are no files")
    func replacedFolder() async throws {
        let site = try Site()
        try FileManager.default.moveItem(atPath: site.path(""), toPath: site.directory.file("old"))
        #expect(try await site.get("/") == nil)
        try site.write("new", as: "index.html")
        #expect(text(try await site.get("/")) == "new")
    }

    static let date = "Tue, 14 Nov 2023 22:13:20 GMT"

    /// `TAG` in a request's fields stands for the file's tag.
    static let conditions: [(HTTPFields, Int)] = [
        ([.ifNoneMatch: "TAG"], 304), ([.ifNoneMatch: "W/TAG"], 304), ([.ifNoneMatch: "\"x\", TAG"], 304),
        ([.ifNoneMatch: "*"], 304), ([.ifNoneMatch: "\"x\""], 200), ([.ifNoneMatch: "TA"], 200),
        ([.ifNoneMatch: "\"x\",,W/\"y\", TAG"], 304), ([.ifNoneMatch: ""], 200),
        ([.ifModifiedSince: date], 304), ([.ifModifiedSince: "Tue, 14 Nov 2023 22:13:19 GMT"], 200),
        ([.ifModifiedSince: "Tue, 14 Nov 2023 22:13:21 GMT"], 304), ([.ifModifiedSince: "yesterday"], 200),
        // The tag takes precedence over the date.
        ([.ifNoneMatch: "\"x\"", .ifModifiedSince: date], 200),
        ([.ifNoneMatch: "TAG", .ifModifiedSince: "Thu, 01 Jan 1970 00:00:00 GMT"], 304),
    ]

    @Test(
        "A conditional request for unchanged content is 304 (RFC 9110 section 13)", arguments: conditions,
        [
            HTTPRequest.Method.get, .head,
        ])
    func conditional(_ condition: (HTTPFields, Int), _ method: HTTPRequest.Method) async throws {
        let site = try Site()
        let tag = try #require(try await site.get("/data.bin")).headers[.eTag] ?? ""
        let response = try #require(
            try await site.get("/data.bin", Self.filled(condition.0, tag: tag), method: method))
        #expect(response.status.code == condition.1)
        #expect(response.headers[.eTag] == tag)
        #expect(response.headers[.cacheControl] != nil && response.headers[.vary] != nil)
        #expect((response.headers[.contentType] == nil) == (condition.1 == 304))
        #expect(response.body.isEmpty == (condition.1 == 304))
    }

    @Test("The tag of one coding is not that of the other")
    func conditionalCodings() async throws {
        let site = try Site()
        let plain = try #require(try await site.get("/style.css")).headers[.eTag] ?? ""
        let fields: HTTPFields = [.acceptEncoding: "gzip", .ifNoneMatch: plain]
        #expect(try await site.get("/style.css", fields)?.status == .ok)
        #expect(try await site.get("/style.css", [.ifNoneMatch: plain])?.status == .notModified)
    }

    private static func filled(_ fields: HTTPFields, tag: String) -> HTTPFields {
        var filled = HTTPFields()
        for field in fields {
            let value = field.value.split(separator: "TAG", omittingEmptySubsequences: false).joined(separator: tag)
            filled.append(HTTPField(name: field.name, value: value))
        }
        return filled
    }

    /// Ranges of ten bytes; nil if the range is ignored.
    static let ranges: [(String, String?)] = [
        ("bytes=0-0", "0"), ("bytes=0-9", "0123456789"), ("bytes=2-4", "234"), ("bytes=7-", "789"),
        ("bytes=-3", "789"), ("bytes=5-99", "56789"), ("bytes=-99", "0123456789"), ("Bytes= 2-3 ", "23"),
        ("bytes=5-99999999999999999999", "56789"), ("bytes=9-9", "9"),
        ("bytes=4-2", nil), ("bytes=", nil), ("bytes=-", nil), ("bytes=a-b", nil), ("bytes=1", nil),
        ("lines=0-1", nil), ("bytes=0-1,3-4", nil), ("bytes=0-1,", nil), ("bytes=--1", nil), ("bytes=1-2-3", nil),
        ("bytes 0-1", nil), ("", nil), ("bytes=+1-2", nil),
    ]

    @Test("A single range gets that part, anything else the whole file", arguments: ranges)
    func range(_ range: String, _ part: String?) async throws {
        let site = try Site()
        let response = try #require(try await site.get("/data.bin", [.range: range]))
        #expect(response.status == (part == nil ? .ok : .partialContent))
        #expect(text(response) == part ?? "0123456789")
        let start = part?.first.map(String.init) ?? ""
        let end = part?.last.map(String.init) ?? ""
        #expect(response.headers[.contentRange] == (part == nil ? nil : "bytes \(start)-\(end)/10"))
    }

    @Test(
        "A range beyond the end is refused with the length",
        arguments: [
            "bytes=10-", "bytes=10-12", "bytes=99999999999999999999-", "bytes=-0",
        ])
    func unsatisfiable(_ range: String) async throws {
        let site = try Site()
        let error = await #expect(throws: HTTPError.self) { _ = try await site.get("/data.bin", [.range: range]) }
        #expect(error?.status == .rangeNotSatisfiable)
        #expect(error?.headers[.contentRange] == "bytes */10")
        #expect(try await site.get("/data.bin", [.range: range], method: .head)?.status == .ok)
    }

    @Test(
        "If-Range restricts a range to a version",
        arguments: [
            ("TAG", 206), ("\"x\"", 200), ("W/TAG", 200), (date, 206), ("Tue, 14 Nov 2023 22:13:21 GMT", 200),
            ("*", 200),
        ])
    func ifRange(_ condition: String, _ status: Int) async throws {
        let site = try Site()
        let tag = try #require(try await site.get("/data.bin")).headers[.eTag] ?? ""
        let fields = Self.filled([.range: "bytes=0-1", .ifRange: condition], tag: tag)
        #expect(try await site.get("/data.bin", fields)?.status.code == status)
    }

    @Test("A date in the same second as the response is not a strong validator")
    func youngDate() async throws {
        let site = try Site()
        try site.write("0123456789", as: "data.bin", at: site.now)
        let date = try #require(try await site.get("/data.bin")).headers[.lastModified] ?? ""
        #expect(try await site.get("/data.bin", [.range: "bytes=0-1", .ifRange: date])?.status == .ok)
        // A future date is not sent.
        try site.write("0123456789", as: "data.bin", at: site.now + 3600)
        #expect(try await site.get("/data.bin")?.headers[.lastModified] == date)
    }

    @Test("A range of a compressed file counts compressed bytes")
    func rangeOfCoding() async throws {
        let site = try Site()
        let whole = try #require(try await site.get("/style.css", [.acceptEncoding: "gzip"]))
        let part = try #require(
            try await site.get("/style.css", [.acceptEncoding: "gzip", .range: "bytes=10-"]))
        #expect(part.status == .partialContent)
        #expect(part.body == Array(whole.body[10...]))
        #expect(part.headers[.eTag] == whole.headers[.eTag] && part.headers[.contentEncoding] == "gzip")
    }

    @Test("Files can be read, not written")
    func methods() async throws {
        let site = try Site()
        for method in [HTTPRequest.Method.post, .put, .delete, .patch] {
            let error = await #expect(throws: HTTPError.self) { _ = try await site.get("/data.bin", method: method) }
            #expect(error?.status == .methodNotAllowed)
            #expect(error?.headers[.allow] == "GET, HEAD, OPTIONS")
            #expect(try await site.get("/nothing", method: method) == nil)
        }
        #expect(try await site.get("/data.bin", method: .options)?.headers[.allow] == "GET, HEAD, OPTIONS")
    }

    @Test("A file that is too large is not served")
    func tooLarge() async throws {
        var limits = StaticFiles.Limits()
        limits.fileBytes = 10
        let site = try Site(["ten.txt": "0123456789", "eleven.txt": "0123456789A"], limits: limits)
        #expect(text(try await site.get("/ten.txt")) == "0123456789")
        #expect(try await site.get("/eleven.txt") == nil)
    }

    @Test("The cache keeps the most recent contents within its limits")
    func cache() {
        var cache = SiteCache(maximumBytes: 30, maximumCount: 4)
        let moment = Duration.seconds(1000)
        func versions(_ size: Int) -> SiteCache.Versions {
            .init(
                file: .init(device: 1, number: 1, size: size, modified: moment, changed: moment), precompressed: nil)
        }
        func content(_ size: Int) -> SiteContent {
            SiteContent(path: "a", [UInt8](repeating: 1, count: size), modified: 0, precompressed: nil)
        }
        for name in ["a", "b", "c"] { cache.add(content(10), of: name, versions(10)) }
        #expect(cache.content(of: "a", versions(10)) != nil)
        #expect(cache.content(of: "a", versions(11)) == nil)
        cache.add(content(10), of: "d", versions(10))
        #expect(cache.content(of: "b", versions(10)) == nil)
        #expect(cache.content(of: "a", versions(10)) != nil)
        #expect(cache.byteCount == 30)
        cache.add(content(31), of: "a", versions(31))
        #expect(cache.content(of: "a", versions(31)) == nil)
        #expect(cache.byteCount == 20)
        for number in 0..<10 { cache.add(content(0), of: "\(number)", versions(0)) }
        #expect(cache.count == 4)
        cache.add(content(30), of: "all", versions(30))
        #expect(cache.content(of: "all", versions(30)) != nil)
        // Written just now: the file system's clock may not have advanced.
        #expect(versions(1).mayChangeUnseen(at: Timestamp(secondsSinceEpoch: 1002)))
        #expect(!versions(1).mayChangeUnseen(at: Timestamp(secondsSinceEpoch: 1003)))
        // Dated in the future: another write would have another date.
        #expect(!versions(1).mayChangeUnseen(at: Timestamp(secondsSinceEpoch: 900)))
        #expect(versions(1).mayChangeUnseen(at: Timestamp(secondsSinceEpoch: 998)))
    }

    @Test("A file that is sent to many is in memory once, also if the cache is too small for it")
    func shared() async throws {
        var limits = StaticFiles.Limits()
        limits.cacheBytes = 100
        let site = try Site(["large.bin": String(repeating: "0123456789", count: 1000)], limits: limits)
        let now = Int(Date().timeIntervalSince1970)
        for time in [site.modified, now] {
            // The second time, the file may change unseen, and is read for each request.
            try site.write(String(repeating: "abcdefghij", count: 1000), as: "large.bin", at: time)
            let first = try #require(try await site.get("/large.bin"))
            let owner = try #require(first.owner)
            for fields in [HTTPFields(), [.range: "bytes=10-"], [.range: "bytes=0-"]] {
                let next = try #require(try await site.get("/large.bin", fields))
                #expect(next.owner === owner)
                #expect(next.body == Array(first.body[(fields[.range] == "bytes=10-" ? 10 : 0)...]))
            }
            try site.write(String(repeating: "9876543210", count: 1000), as: "large.bin", at: time)
            let changed = try #require(try await site.get("/large.bin"))
            #expect(changed.owner !== owner && changed.body.first == UInt8(ascii: "9"))
        }
    }

    @Test("Conditional requests of many clients at once get 304, and the new content after a change")
    func conditionalLoad() async throws {
        let site = try Site()
        let handler: Handler = { request in
            try await site.files.respond(to: request) ?? Response(status: .notFound, headers: [:])
        }
        try await LiveServer.run(handler: handler) { live in
            /// The statuses and tags of many requests on many connections.
            @Sendable func answers(to fields: String...) async throws -> Set<[String]> {
                let text = ("GET /style.css HTTP/1.1\r\nHost: a\r\n" + fields.map { $0 + "\r\n" }.joined()) + "\r\n"
                return try await withThrowingTaskGroup(of: Set<[String]>.self) { group in
                    for _ in 0..<32 {
                        group.addTask {
                            let client = try await live.connect(limit: .seconds(60))
                            var answers: Set<[String]> = []
                            for _ in 0..<5 { try await client.send(text + text) }
                            for _ in 0..<10 {
                                let answer = try await client.readResponse()
                                answers.insert(["\(answer.status)", answer["etag"] ?? "", "\(answer.body.count)"])
                            }
                            await client.close()
                            return answers
                        }
                    }
                    return try await group.reduce(into: []) { $0.formUnion($1) }
                }
            }
            let plain = try await answers(to: "Accept-Encoding: identity")
            let coded = try await answers(to: "Accept-Encoding: gzip")
            let (first, second) = (try #require(plain.first), try #require(coded.first))
            #expect(plain.count == 1 && coded.count == 1 && first[0] == "200" && first[1] != second[1])
            for tag in [first[1], "W/" + first[1], "\"x\", " + first[1], "*"] {
                let unchanged = try await answers(to: "Accept-Encoding: identity", "If-None-Match: \(tag)")
                #expect(unchanged == [["304", first[1], "0"]])
            }
            let other = try await answers(to: "If-None-Match: \(first[1])", "Accept-Encoding: gzip")
            #expect(other.map { $0[0] } == ["200"])
            try site.write(String(repeating: "b { color: white }\n", count: 90), as: "style.css", at: site.modified + 9)
            let changed = try await answers(to: "Accept-Encoding: identity")
            #expect(changed.count == 1 && changed.first?[1] != first[1])
        }
    }

    @Test("Files are served over a socket on paths without a route")
    func overSocket() async throws {
        let site = try Site()
        var router = Router()
        router.get("/data.bin") { _ in Response(status: .ok, contentType: "text/plain", text: "route") }
        router.files = { try await site.files.respond(to: $0) }
        let made = router
        try await LiveServer.run(handler: { try await made.respond(to: $0) }) { live in
            let client = try await live.connect()
            try await client.send(request("GET /data.bin") + request("GET /noise.png") + request("GET /nothing"))
            #expect(try await client.readResponse().text == "route")
            #expect(try await client.readResponse().text == "PNG")
            #expect(try await client.readResponse().status == 404)
            try await client.send(request("HEAD /style.css", "Accept-Encoding: gzip"))
            let head = try await client.readResponse(toHead: true)
            #expect(head["content-encoding"] == "gzip" && head["content-length"].flatMap { Int($0) } ?? 0 > 0)
            try await client.send(request("GET /style.css", "Range: bytes=0-3"))
            #expect(try await client.readResponse().text == "p { ")
        }
    }
}
