#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A directory for one test, removed with its last reference.
public final class TemporaryDirectory: Sendable {
    /// The absolute path.
    public let path: String

    public init() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "latchkey-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        path = directory.path
    }

    /// A directory with files, by path. Intermediate folders are created.
    public convenience init(files: [String: String]) throws {
        try self.init()
        for (name, text) in files { try write(text, as: name) }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Writes a file and creates its intermediate folders.
    public func write(_ text: String, as name: String) throws {
        let url = URL(fileURLWithPath: file(name))
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    /// The path of a file in the directory. Does not create the file.
    public func file(_ name: String) -> String { path + "/" + name }
}
