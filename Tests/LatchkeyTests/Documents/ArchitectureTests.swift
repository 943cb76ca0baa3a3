import Foundation
import TestSupport
import Testing

/// The tables of docs/architecture.md, and the sources that they describe.
@Suite struct ArchitectureTests {
    /// The modules that each row of the table of packages stands for.
    private static let packages: [String: Set<String>] = [
        "apple/swift-crypto": ["Crypto", "CryptoExtras"], "apple/swift-http-types": ["HTTPTypes"],
        "apple/swift-log": ["Logging"], "apple/swift-distributed-tracing": ["Tracing"],
        "apple/swift-metrics": ["CoreMetrics"], "apple/swift-argument-parser": ["ArgumentParser"],
        "OpenSSL (system)": ["CLatchkeyOpenSSL"], "zlib (system)": ["CLatchkeyZlib"],
        "SQLite (system)": ["CLatchkeySQLite"], "libpq (system)": ["CLatchkeyPostgres"],
        "libyaml (system)": ["CLatchkeyYAML"], "libidn2 (system)": ["CLatchkeyIDN"],
    ]

    /// Modules that come with Swift or the system, and C of Latchkey's own that calls no other library.
    private static let ofPlatform: Set<String> = [
        "CLatchkeyPresets", "CLatchkeyRevision", "CLatchkeySite", "CLatchkeySystem", "CryptoKit", "Darwin", "Dispatch",
        "Foundation", "FoundationEssentials", "FoundationNetworking", "Glibc", "Musl", "Network", "Security",
        "Synchronization",
    ]

    /// The paths of all files, below the folder that has the modules.
    private let paths: [String]
    /// What the sources of each module import.
    private let imports: [String: Set<String>]

    /// Read once: it takes a second.
    private static let sources = Result { try read() }

    init() throws {
        (paths, imports) = try Self.sources.get()
    }

    private static func read() throws -> ([String], [String: Set<String>]) {
        var paths: [String] = []
        var imports: [String: Set<String>] = [:]
        for root in ["Sources", "Clients/Swift/Sources"] {
            let found =
                FileManager.default.enumerator(atPath: Repository.path(root))?.compactMap { $0 as? String } ?? []
            paths += found
            for path in found where path.hasSuffix(".swift") {
                // Only the lines that may be imports: a regex on each line of the sources takes seconds.
                let lines = try Repository.text("\(root)/\(path)").split(separator: "\n").filter {
                    $0.contains("import ")
                }
                let names = lines.compactMap { line in
                    line.firstMatch(of: /^ *(?:@\w+ )?(?:\w+ )?import (?:(?:struct|class|enum|func) )?(\w+)/)
                        .map { String($0.1) }
                }
                imports[module(path), default: []].formUnion(names)
            }
        }
        return (paths, imports)
    }

    private static func module(_ path: String) -> String { String(path.prefix { $0 != "/" }) }

    private static func names(_ cell: String) -> [String] { cell.matches(of: /`([^`]+)`/).map { String($0.1) } }

    /// The cells of the table below a heading.
    private static func rows(below heading: String, columns: Int) throws -> [[String]] {
        let page = try Repository.text("docs/architecture.md")
        let section = try #require(page.components(separatedBy: "\n## ").first { $0.hasPrefix(heading + "\n") })
        return try section.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst().map { row in
            let cells = row.dropFirst(2).dropLast(2).components(separatedBy: " | ")
            try #require(cells.count == columns, "\(row)")
            return cells
        }
    }

    @Test("Each module has one row, with the modules that its sources import")
    func modules() throws {
        let rows = try Self.rows(below: "Modules", columns: 3)
        #expect(rows.map { $0[0] }.sorted() == imports.keys.map { "`\($0)`" }.sorted())
        for row in rows {
            let found = Self.names(row[0]).reduce(into: Set<String>()) { $0.formUnion(imports[$1] ?? []) }
            #expect(
                Set(Self.names(row[2])) == found.intersection(imports.keys).subtracting(["Primitives"]), "\(row[0])")
        }
    }

    @Test("Each folder has one row: a module, or each folder of sources in it")
    func folders() throws {
        let swift = paths.filter { $0.hasSuffix(".swift") }.map { ($0 as NSString).deletingLastPathComponent }
        let all = Set(swift + paths.map(Self.module))
        let folders = all.filter { folder in folder.contains("/") || !all.contains { $0.hasPrefix(folder + "/") } }
        let named = try Self.rows(below: "Folders", columns: 2).flatMap { Self.names($0[0]) }.flatMap { name in
            name.hasSuffix("/…") ? folders.filter { $0.hasPrefix(name.dropLast()) } : [name]
        }
        #expect(folders.subtracting(named) == [], "these folders have no row")
        #expect(Set(named).subtracting(folders) == [], "these rows name no folder of sources")
        #expect(named.count == Set(named).count, "a folder has two rows")
        #expect(folders.count > 80)
    }

    @Test("Each package has one row, with the modules that import it")
    func packages() throws {
        let rows = try Self.rows(below: "Dependencies", columns: 3)
        #expect(rows.map { $0[0] }.sorted() == Self.packages.keys.sorted())
        for row in rows {
            let modules = Self.packages[row[0]] ?? []
            let importers = imports.filter { !$0.value.isDisjoint(with: modules) }.map(\.key)
            #expect(Self.names(row[2]).sorted() == importers.sorted(), "\(row[0])")
        }
        let known = Self.packages.values.reduce(Self.ofPlatform) { $0.union($1) }.union(imports.keys)
        #expect(imports.values.reduce(into: Set()) { $0.formUnion($1) }.subtracting(known) == [])
    }
}
