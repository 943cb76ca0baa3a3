public import Foundation

/// The checkout that the tests were built from.
public enum Repository {
    /// The folder with `Package.swift`.
    public static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The path of a file or folder, given relative to the root.
    public static func path(_ relative: String) -> String { root.appendingPathComponent(relative).path }

    /// The text of a file, given relative to the root.
    /// - Throws: Foundation's error, if the file cannot be read or is not UTF-8.
    public static func text(_ relative: String) throws -> String {
        try String(contentsOfFile: path(relative), encoding: .utf8)
    }
}
