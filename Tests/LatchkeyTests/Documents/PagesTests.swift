import Foundation
import TestSupport
import Testing

/// The pages of `Public/`, with a policy that allows only files of this server.
@Suite struct PagesTests {
    private static let folder = Repository.root.appendingPathComponent("Public")

    @Test("Pages have no inline scripts or styles and load nothing from other origins; every file they name exists")
    func pages() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        let pages = files.filter { $0.hasSuffix(".html") }
        #expect(pages.contains("api.html"))
        for page in pages {
            let text = try String(contentsOf: Self.folder.appendingPathComponent(page), encoding: .utf8)
            #expect(text.firstMatch(of: /<style|\sstyle=|\son[a-z]+=|javascript:/) == nil, "\(page)")
            #expect(text.firstMatch(of: /<script(?![^>]*\ssrc=)/) == nil, "\(page)")
            for match in text.matches(of: /(?:src|href)="([^"#]*)/) {
                let name = match.1.hasPrefix("/") ? match.1.dropFirst() : match.1
                let routes = ["", "./", "healthz", "readyz", "openapi.json", "metrics", "sign-in", "status"]
                let isRoute = routes.contains(String(name))
                #expect(isRoute || files.contains(String(name)), "\(page) names \(name)")
            }
        }
        for script in files.filter({ $0.hasSuffix(".js") }) {
            let text = try String(contentsOf: Self.folder.appendingPathComponent(script), encoding: .utf8)
            let unsafe = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/
            #expect(text.firstMatch(of: unsafe) == nil, "\(script)")
        }
    }
}
