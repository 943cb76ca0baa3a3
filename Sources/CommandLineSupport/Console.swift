import Glibc
import LatchkeyConfiguration

/// What a command tells its user, and is given by them.
package enum Console {
    /// Writes a line to standard error.
    package static func warn(_ line: String) { warnPart(line + "\n") }

    /// Writes a part of a line to standard error. A broken pipe loses the text and nothing else.
    package static func warnPart(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// The bytes of standard input; nil if it cannot be read, or has more than `limit`.
    package static func readInput(limit: Int) -> [UInt8]? { try? FileReader.standardInput(limit: limit) }
}

extension String {
    /// Without the white space at its ends, which editors and `echo` add.
    package var withoutOuterWhitespace: String {
        let start = drop(while: \.isWhitespace)
        return String(start[..<(start.lastIndex { !$0.isWhitespace }.map(start.index(after:)) ?? start.startIndex)])
    }
}
