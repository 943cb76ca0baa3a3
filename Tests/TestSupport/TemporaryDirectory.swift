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

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of a file in the directory; the file itself is not made.
    public func file(_ name: String) -> String { path + "/" + name }
}
