import Dispatch
import Glibc
import Synchronization

/// Takes log lines to a file descriptor, from a queue of its own: whoever logs never waits for whoever reads.
///
/// When the reader is slower than the writers for long, lines are dropped rather than memory grown, and a line says
/// how many.
public final class LogSink: Sendable {
    private struct Pending {
        var bytes: [UInt8] = []
        var dropped = 0
        var isScheduled = false
    }

    private let descriptor: Int32
    private let capacity: Int
    private let pending = Mutex(Pending())
    private let queue = DispatchQueue(label: "log")

    /// - Parameters:
    ///   - descriptor: Where to write; 2 is standard error. It is not closed.
    ///   - capacity: Bytes that may wait.
    public init(descriptor: Int32 = 2, capacity: Int = 1 << 20) {
        self.descriptor = descriptor
        self.capacity = capacity
    }

    /// The process's standard error.
    public static let standardError = LogSink()

    /// Adds a line; its line feed is added here.
    public func write(_ line: [UInt8]) {
        let mustSchedule = pending.withLock { pending in
            guard pending.bytes.count + line.count < capacity else {
                pending.dropped += 1
                return false
            }
            pending.bytes.append(contentsOf: line)
            pending.bytes.append(UInt8(ascii: "\n"))
            defer { pending.isScheduled = true }
            return !pending.isScheduled
        }
        if mustSchedule { queue.async { self.drain() } }
    }

    /// Waits until all lines so far are written. For the end of the process; not for tasks.
    public func flush() { queue.sync { drain() } }

    private func drain() {
        while true {
            let (bytes, dropped) = pending.withLock { pending in
                defer {
                    if pending.bytes.isEmpty { pending.isScheduled = false }
                    pending.bytes = []
                    pending.dropped = 0
                }
                return (pending.bytes, pending.dropped)
            }
            guard !bytes.isEmpty else { return }
            writeAll(bytes)
            if dropped > 0 { writeAll(Array("(\(dropped) log lines dropped: the reader is too slow)\n".utf8)) }
        }
    }

    /// A reader that is gone must not end the process or keep it: what cannot be written is forgotten.
    private func writeAll(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { buffer in
            var start = 0
            while start < buffer.count {
                let count = Glibc.write(descriptor, buffer.baseAddress?.advanced(by: start), buffer.count - start)
                if count < 0 {
                    guard errno == EINTR else { return }
                } else {
                    start += count
                }
            }
        }
    }
}
