import Foundation
import TestSupport
import Testing

/// Links between `README.md`, `docs/` and the other files.
@Suite struct DocumentLinkTests {
    private struct Link {
        let document: String
        let line: Int
        let target: String

        var path: String { String(target.prefix { $0 != "#" }) }
        var anchor: String? { target.contains("#") ? String(target.drop { $0 != "#" }.dropFirst()) : nil }
    }

    private static let root = Repository.root

    private static func documents() throws -> [String] {
        let files = FileManager.default
        let guides = try files.contentsOfDirectory(atPath: root.appendingPathComponent("docs").path)
        return ["README.md", "Benchmarks/README.md"]
            + guides.filter { $0.hasSuffix(".md") }.sorted().map { "docs/" + $0 }
    }

    private static func lines(of document: String) throws -> [Substring] {
        try String(contentsOf: root.appendingPathComponent(document), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// Lines outside fenced blocks, with their numbers.
    private static func prose(of document: String) throws -> [(line: Int, text: Substring)] {
        var isCode = false
        return try lines(of: document).enumerated().compactMap { index, line in
            if line.drop(while: { $0 == " " }).hasPrefix("```") {
                isCode.toggle()
                return nil
            }
            return isCode ? nil : (index + 1, line)
        }
    }

    private static func links(of document: String) throws -> [Link] {
        try prose(of: document).flatMap { line, text in
            let targets =
                text.matches(of: /\]\(([^)\s]+)\)/).map(\.1) + text.matches(of: /(?:src|href)="([^"]+)"/).map(\.1)
            return targets.map { Link(document: document, line: line, target: String($0)) }
        }
    }

    /// The fragment of a heading: lower case, with hyphens for spaces and without punctuation.
    private static func anchors(of document: String) throws -> Set<String> {
        var anchors: Set<String> = []
        for (_, text) in try prose(of: document) where text.hasPrefix("#") {
            let heading = text.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces).lowercased()
            let kept = heading.filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
            let anchor = kept.replacing(" ", with: "-")
            var name = anchor
            var count = 0
            while anchors.contains(name) {
                count += 1
                name = "\(anchor)-\(count)"
            }
            anchors.insert(name)
        }
        return anchors
    }

    @Test("Every link within the repository leads to an existing file and heading")
    func links() throws {
        var count = 0
        for link in try Self.documents().flatMap({ try Self.links(of: $0) }) where !link.target.contains("://") {
            count += 1
            let folder = Self.root.appendingPathComponent(link.document).deletingLastPathComponent()
            let file = link.path.isEmpty ? link.document : nil
            let url = file.map { Self.root.appendingPathComponent($0) } ?? folder.appendingPathComponent(link.path)
            let location = "\(link.document):\(link.line): \(link.target)"
            #expect(url.standardizedFileURL.path.hasPrefix(Self.root.path), "\(location) leads out of the repository")
            #expect(FileManager.default.fileExists(atPath: url.path), "\(location) leads nowhere")
            guard let anchor = link.anchor, url.pathExtension == "md" else { continue }
            let document = url.standardizedFileURL.path.dropFirst(Self.root.path.count + 1)
            #expect(try Self.anchors(of: String(document)).contains(anchor), "\(location) is no heading of \(document)")
        }
        #expect(count > 100)
    }

    @Test("The list of guides links every guide")
    func guides() throws {
        let listed = Set(try Self.links(of: "docs/README.md").map(\.path))
        for document in try Self.documents() where document.hasPrefix("docs/") && document != "docs/README.md" {
            #expect(listed.contains(String(document.dropFirst("docs/".count))), "\(document) is not in docs/README.md")
        }
    }
}
