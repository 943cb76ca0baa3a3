import Glibc

/// What the command tells whoever started it.
enum Console {
    /// A line on standard output, at once: whoever waits for the address reads it through a pipe.
    static func say(_ line: String) { write(line, to: STDOUT_FILENO) }

    /// A line on standard error.
    static func warn(_ line: String) { write(line, to: STDERR_FILENO) }

    private static func write(_ line: String, to descriptor: Int32) {
        let bytes = Array((line + "\n").utf8)
        var sent = 0
        bytes.withUnsafeBytes { buffer in
            while sent < buffer.count {
                let count = Glibc.write(descriptor, buffer.baseAddress?.advanced(by: sent), buffer.count - sent)
                // Nobody listens any more, or the pipe is broken: the message is not worth more than that.
                guard count > 0 else { return }
                sent += count
            }
        }
    }
}
