import Foundation

/// What a command tells its user.
package enum Console {
    /// Writes a line to standard output at once: a program that waits for the address reads it through a pipe.
    package static func print(_ line: String) { write(line, to: .standardOutput) }

    /// Writes a line to standard error.
    package static func warn(_ line: String) { write(line, to: .standardError) }

    /// A broken pipe loses the line and nothing else.
    private static func write(_ line: String, to file: FileHandle) {
        try? file.write(contentsOf: Data((line + "\n").utf8))
    }
}
