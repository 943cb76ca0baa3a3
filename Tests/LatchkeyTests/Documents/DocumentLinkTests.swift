import Foundation
import TestSupport
import Testing

/// Links between `README.md`, `docs/` and the other files, and the pages of `docs/` that other files name.
@Suite struct DocumentLinkTests {
    private struct Link {
        let document: String
        let line: Int
        let target: String

        var path: String { String(target.prefix { $0 != "#" }) }
        var anchor: String? { target.contains("#") ? String(target.drop { $0 != "#" }.dropFirst()) : nil }
    }

    private static let root = Repository.root

    private static func documents() throws -> [String] { try Example.documents() + ["Benchmarks/README.md"] }

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

    @Test("The list of pages links every page")
    func list() throws {
        let listed = Set(try Self.links(of: "docs/README.md").map(\.path))
        for document in try Self.documents() where document.hasPrefix("docs/") && document != "docs/README.md" {
            #expect(listed.contains(String(document.dropFirst("docs/".count))), "\(document) is not in docs/README.md")
        }
    }

    @Test("Every source, test and script that a page names exists")
    func files() throws {
        var count = 0
        for document in try Self.documents() {
            for (line, text) in try Self.prose(of: document) {
                for match in text.matches(of: /`((?:Sources|Tests|Config|scripts|Benchmarks|Examples)\/[^`\s…]+)`/) {
                    count += 1
                    let exists = FileManager.default.fileExists(atPath: Repository.path(String(match.1)))
                    #expect(exists, "\(document):\(line): there is no \(match.1)")
                }
            }
        }
        #expect(count > 50)
    }

    /// The names of the files in a folder, and of its subfolders, by path.
    private static func paths(in folder: String) -> [String] {
        let names = FileManager.default.enumerator(atPath: Repository.path(folder))
        return names?.compactMap { $0 as? String }.map { "/\(folder)/\($0)" } ?? []
    }

    @Test("Each row of \"Where to find what\" names files that exist, and suites that do")
    func places() throws {
        let files = Self.paths(in: "Sources")
        let suites = Set(
            try Self.paths(in: "Tests").filter { $0.hasSuffix("Tests.swift") }.flatMap { path in
                try Repository.text(String(path.dropFirst())).matches(of: /struct (\w+Tests)\b/).map { String($0.1) }
            })
        let rows = try Self.prose(of: "docs/architecture.md")
            .drop { $0.text != "## Where to find what" }.prefix { $0.text != "## Folders" }
            .filter { $0.text.hasPrefix("| ") }.dropFirst()
        for (line, text) in rows {
            let cells = text.split(separator: " | ").map { $0.matches(of: /`([^`]+)`/).map { String($0.1) } }
            guard cells.count == 3, let named = cells.last, !named.isEmpty else {
                Issue.record("line \(line) names no suites: \(text)")
                continue
            }
            let missing =
                named.filter { !suites.contains($0) }
                + cells[1].filter { name in
                    name.hasSuffix(".swift") && !name.contains("…") && !files.contains { $0.hasSuffix("/" + name) }
                }
            #expect(missing == [], "line \(line) names what does not exist")
        }
        #expect(rows.count > 25)
    }

    /// The texts in which operators and developers find the name of a page: comments, error messages, help.
    private static func sources() throws -> [(path: String, text: String)] {
        let folders = [
            "Sources", "Clients", "Tests", "Public", "Config", "scripts", "Benchmarks", "Examples", "Fuzz", ".ci",
        ]
        let files = folders.flatMap { folder in
            let names = FileManager.default.enumerator(
                at: root.appendingPathComponent(folder), includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
            return names?.compactMap { $0 as? URL } ?? []
        }
        let single = ["README.md", "Makefile", "Dockerfile", "Package.swift", "compose.yaml"]
        return (files + single.map(root.appendingPathComponent)).compactMap { file in
            guard !file.hasDirectoryPath, let text = try? String(contentsOf: file, encoding: .utf8) else { return nil }
            return (String(file.path.dropFirst(root.path.count + 1)), text)
        }
    }

    @Test("Every page of docs that a file names exists, with its heading")
    func named() throws {
        var count = 0
        for (path, text) in try Self.sources() {
            // A page of another site may have such an address, too.
            for match in text.replacing(/https?:\/\/[^\s"'<>]+/, with: "").matches(
                of: /docs\/[A-Za-z0-9_\/-]+\.(?:md|png)(#[a-z0-9_-]+)?/)
            {
                count += 1
                let page = String(match.0.prefix { $0 != "#" })
                guard FileManager.default.fileExists(atPath: Repository.path(page)) else {
                    Issue.record("\(path) names \(page), which does not exist")
                    continue
                }
                guard let anchor = match.1?.dropFirst() else { continue }
                #expect(try Self.anchors(of: page).contains(String(anchor)), "\(path): \(match.0)")
            }
        }
        #expect(count > 100)
    }
}
