import Foundation
import HTTPServer
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@Suite("Files of the program")
struct BuiltInFilesTests {
    private static let style = String(repeating: "p { color: black }\n", count: 100)
    private static let builtIn = BuiltInFiles([
        "index.html": { Array("<p>program</p>".utf8) }, "style.css": { Array(style.utf8) },
        "docs/index.html": { Array("<p>docs</p>".utf8) },
    ])

    private func site(in folder: String? = nil, _ builtIn: BuiltInFiles = Self.builtIn) -> StaticFiles {
        StaticFiles(
            folder: folder, builtIn: builtIn, fields: [.cacheControl: "public, max-age=300"],
            logger: LiveServer.silentLogger)
    }

    private func text(_ response: Response?) -> String? {
        response.map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test(
        "are served by path, with type, tag and caching, and without a time",
        arguments: [
            ("/", "<p>program</p>", "text/html; charset=utf-8"), ("/style.css", style, "text/css; charset=utf-8"),
            ("/docs/", "<p>docs</p>", "text/html; charset=utf-8"),
        ])
    func served(_ target: String, _ content: String, _ type: String) async throws {
        let response = try #require(try await site().respond(to: Request(.get, target)))
        #expect(response.status == .ok && text(response) == content)
        #expect(response.headers[.contentType] == type)
        #expect(response.headers[.cacheControl] == "public, max-age=300")
        #expect(response.headers[.acceptRanges] == "bytes")
        #expect(response.headers[.lastModified] == nil)
        #expect(response.headers[.eTag]?.count == 34)
    }

    @Test(
        "are missing under every other path", arguments: ["/nothing", "/docs", "/style.css/", "//style.css", "/.env"])
    func missing(_ target: String) async throws {
        #expect(try await site().respond(to: Request(.get, target)) == nil)
    }

    @Test("answer conditions, ranges, methods and codings as files of a folder do")
    func conditions() async throws {
        let files = site()
        let tag = try #require(try await files.respond(to: Request(.get, "/style.css"))?.headers[.eTag])
        func status(_ headers: HTTPFields, _ method: HTTPRequest.Method = .get) async throws -> Int? {
            try await files.respond(to: Request(method, "/style.css", headers: headers))?.status.code
        }
        #expect(try await status([.ifNoneMatch: tag]) == 304)
        #expect(try await status([.ifNoneMatch: "\"other\""]) == 200)
        // Without a time of the file no date holds.
        #expect(try await status([.ifModifiedSince: "Tue, 14 Nov 2083 22:13:20 GMT"]) == 200)
        #expect(try await status([.range: "bytes=0-9"]) == 206)
        #expect(try await status([.range: "bytes=0-9", .ifRange: tag]) == 206)
        #expect(try await status([.range: "bytes=0-9", .ifRange: "Tue, 14 Nov 2083 22:13:20 GMT"]) == 200)
        #expect(try await status([:], .options) == 204)
        await #expect(throws: HTTPError.self) { try await status([:], .post) }
        let coded = try #require(
            try await files.respond(to: Request(.get, "/style.css", headers: [.acceptEncoding: "gzip"])))
        #expect(coded.headers[.contentEncoding] == "gzip" && coded.headers[.vary] == "Accept-Encoding")
        #expect(coded.body.count < Self.style.utf8.count && coded.headers[.eTag] != tag)
    }

    @Test("give way to files of the folder with the same path, and come back when those are removed")
    func folder() async throws {
        let directory = try TemporaryDirectory(files: ["index.html": "<p>folder</p>", "own.txt": "own"])
        let files = site(in: directory.path)
        func get(_ target: String) async throws -> String? {
            text(try await files.respond(to: Request(.get, target)))
        }
        #expect(try await get("/") == "<p>folder</p>")
        #expect(try await get("/own.txt") == "own")
        #expect(try await get("/style.css") == Self.style)
        try FileManager.default.removeItem(atPath: directory.file("index.html"))
        #expect(try await get("/") == "<p>program</p>")
        #expect(text(try await self.site(in: directory.file("nothing")).respond(to: Request(.get, "/"))) != nil)
    }

    @Test("are read once")
    func once() async throws {
        let reads = ReadCounter()
        let files = site(in: nil, BuiltInFiles(["a.txt": { reads.count() }]))
        for _ in 0..<3 { _ = try await files.respond(to: Request(.get, "/a.txt")) }
        #expect(reads.total == 1)
    }
}

private final class ReadCounter: Sendable {
    private let reads = Mutex(0)

    var total: Int { reads.withLock { $0 } }

    func count() -> [UInt8] {
        reads.withLock { $0 += 1 }
        return [0x61]
    }
}
