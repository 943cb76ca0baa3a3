import Foundation
import HTTPServer
import HTTPTypes
import LatchkeyAPI
import LatchkeyConfiguration
import Primitives
import SignIn
import TestSupport
import Testing

@testable import Redirects

/// The pages that are part of the program, and what a browser sees on other paths.
@Suite("The site")
struct SiteTests {
    /// The responses of an API with the site and nothing else.
    private func respond(
        _ path: String, _ headers: HTTPFields = [:], method: HTTPRequest.Method = .get, hasConsole: Bool = false,
        in folder: String? = nil, at address: BaseURL = BaseURL("https://login.example/base")
    ) async throws -> Answer {
        let app = try TestApp()
        let api = LatchkeyAPI(
            useCases: app.useCases, apiKeys: APIKeys([]),
            files: StaticFiles(siteIn: folder, hasConsole: hasConsole, logger: app.log.logger), baseURL: address,
            features: [
                RedirectsFeature(RedirectsSettings(), in: .test(app.testStore.store) { $0.hasConsole = hasConsole })
            ],
            logger: app.log.logger)
        return Answer(try await api.handler()(Request(method, path, headers: headers)))
    }

    @Test("The program contains the files of Public, byte for byte")
    func compiled() throws {
        let folder = Repository.root.appendingPathComponent("Public")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let compiled = StaticFiles.compiledFiles(withConsole: true)
        #expect(Set(compiled.keys) == Set(names), "the list is in Sources/CLatchkeySite")
        for (name, read) in compiled {
            #expect(try Data(read()) == Data(contentsOf: folder.appendingPathComponent(name)), "\(name)")
        }
    }

    @Test("Without the console, none of its files is served, and every other file is")
    func console() async throws {
        let all = StaticFiles.compiledFiles(withConsole: true).keys
        let isOfConsole: (String) -> Bool = { $0 == "index.html" || $0.hasPrefix("console") }
        #expect(all.count(where: isOfConsole) > 5)
        for name in all {
            #expect(try await respond("/" + name).status == (isOfConsole(name) ? 404 : 200), "\(name)")
            #expect(try await respond("/" + name, hasConsole: true).status == 200, "\(name)")
        }
    }

    @Test("The front page is the sign-in page, the console, or that of the folder")
    func frontPage() async throws {
        let plain = try await respond("/")
        #expect(plain.status == 200 && plain.body.contains("<h1>Sign in</h1>"))
        #expect(plain.headers[.cacheControl] == "no-store")
        #expect(try await respond("/", hasConsole: true).body.contains("id=\"console\""))
        let directory = try TemporaryDirectory(files: ["index.html": "<p>hello</p>"])
        for hasConsole in [false, true] {
            #expect(try await respond("/", hasConsole: hasConsole, in: directory.path).body == "<p>hello</p>")
        }
        #expect(try await respond("/", method: .post).status == 405)
        let options = try await respond("/", method: .options)
        #expect(options.status == 204 && options.headers[.allow] == "GET, HEAD, OPTIONS")
        let lost = try await respond("/", at: BaseURL())
        #expect(lost.status == 200 && lost.body.contains("set <code>public_url</code>"))
    }

    /// What browsers and other clients send in Accept.
    static let accepted: [(field: String?, isPage: Bool)] = [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", true),
        ("text/html, application/xhtml+xml, image/jxr, */*;q=0.5", true), ("text/html", true), ("TEXT/HTML", true),
        ("text/*", true), ("text/html;q=0.5, application/json;q=0.4", true),
        ("text/html, application/json", false), ("text/html;q=0.4, application/json;q=0.5", false), ("*/*", false),
        ("application/json", false), ("text/html;q=0", false), ("text/html;q=0, text/*", false), ("", false),
        (nil, false),
    ]

    @Test("An unknown path is a page with a reference for browsers, and JSON for other clients", arguments: accepted)
    func unknownPath(_ field: String?, _ isPage: Bool) async throws {
        for path in ["/nothing", "/console.js", "/users/me/nothing", "/metrics", "/status"] {
            let answer = try await respond(path, field.map { [.accept: $0] } ?? [:])
            #expect(answer.status == 404)
            #expect((answer.error == "not_found") == !isPage, "\(path)")
            let type = isPage ? "text/html; charset=utf-8" : "application/json; charset=utf-8"
            #expect(answer.headers[.contentType] == type, "\(path)")
            #expect(answer.headers[.cacheControl] == "no-store")
            guard isPage else { continue }
            let reference = try #require(answer.requestID)
            #expect(answer.body.contains("Reference: <code>\(reference)</code>"))
            #expect(answer.body.contains("href=\"/base/\"") && answer.body.contains("href=\"/base/style.css\""))
        }
    }

    @Test("Errors of routes, and of methods that change something, are JSON for browsers too")
    func errors() async throws {
        let browser: HTTPFields = [.accept: "text/html,*/*;q=0.8"]
        #expect(try await respond("/users/me", browser).error == "invalid_api_key")
        #expect(try await respond("/nothing", browser, method: .post).error == "not_found")
        #expect(try await respond("/healthz", browser, method: .delete).error == "method_not_allowed")
    }
}
