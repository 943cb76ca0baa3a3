import Foundation
import Synchronization
import Testing

/// A server in Python, which knows nothing of our code. It prints its port, then serves until it is stopped.
final class PythonServer: Sendable {
    let port: Int
    private let process: Mutex<Process>

    init(_ program: String, _ arguments: [String]) async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", program] + arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let line = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: output.fileHandleForReading.availableData) }
        }
        self.process = Mutex(process)
        let text = String(decoding: line, as: UTF8.self).split(separator: "\n").first
        port = try #require(text.flatMap { Int($0) }, "python3 did not start a server")
    }

    /// By SIGKILL: what was started on one of Dispatch's threads has that thread's signal mask, and takes no SIGTERM.
    func stop() { process.withLock { _ = kill($0.processIdentifier, SIGKILL) } }
}
