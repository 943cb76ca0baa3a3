import Dispatch
import Glibc
import Synchronization

/// Writes log lines to a file descriptor on its own queue, so that logging never waits for the reader.
///
/// If the reader is too slow, lines are dropped to bound the memory, and a line reports how many.
package final class LogSink: Sendable {
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
    ///   - descriptor: 2 is standard error. It is not closed.
    ///   - capacity: The most bytes that wait.
    package init(descriptor: Int32 = 2, capacity: Int = 1 << 20) {
        self.descriptor = descriptor
        self.capacity = capacity
    }

    package static let standardError = LogSink()

    /// Adds a line and a line feed.
    package func write(_ line: [UInt8]) {
        let mustSchedule = pending.withLock { pending in
            guard pending.bytes.count + line.count < capacity else {
                pending.dropped += 1
                return false
            }
            pending.bytes.append(contentsOf: line)
            pending.bytes.append(UInt8(ascii: "\n"))
            return !exchange(&pending.isScheduled, with: true)
        }
        if mustSchedule { queue.async { self.drain() } }
    }

    /// Waits until all lines so far are written. Blocks; for the end of a process.
    package func flush() { queue.sync { drain() } }

    private func drain() {
        while true {
            let (bytes, dropped) = pending.withLock { pending in
                let isDone = pending.bytes.isEmpty && pending.dropped == 0
                defer { pending = Pending(isScheduled: !isDone) }
                return (pending.bytes, pending.dropped)
            }
            guard !bytes.isEmpty || dropped > 0 else { return }
            writeAll(bytes)
            if dropped > 0 { writeAll(Array("(\(dropped) log lines dropped: the reader is too slow)\n".utf8)) }
        }
    }

    /// A closed reader must neither end nor block the process: lines that cannot be written are lost.
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
