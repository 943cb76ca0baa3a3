#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A directory for one test, removed with all that is in it when nothing refers to it any more.
public final class TemporaryDirectory: Sendable {
    /// Absolute.
    public let path: String

    public init() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "latchkey-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        path = directory.path
    }

    /// A directory with files in it, by path; the folders on the way are made.
    public convenience init(files: [String: String]) throws {
        try self.init()
        for (name, text) in files { try write(text, as: name) }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Writes a file, and makes the folders on its way.
    public func write(_ text: String, as name: String) throws {
        let url = URL(fileURLWithPath: file(name))
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    /// The path of a file in the directory; the file itself is not made.
    public func file(_ name: String) -> String { path + "/" + name }
}
