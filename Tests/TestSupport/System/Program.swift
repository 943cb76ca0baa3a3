import Foundation

/// Runs programs of the system. A test fails if its program is missing.
public enum Program {
    public struct Ending: Sendable {
        public let status: Int32
        /// Standard output and standard error, together.
        public let output: String
    }

    /// Runs a program to its end, and kills it after a minute, times ``Patience/factor``.
    /// - Parameter input: The standard input, which must fit into a pipe.
    public static func run(
        _ name: String, _ arguments: [String], in directory: String? = nil, input: String = ""
    ) async throws -> Ending {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [name] + arguments
        if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
        let (output, inputPipe) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = output
        process.standardInput = inputPipe
        try process.run()
        try inputPipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try inputPipe.fileHandleForWriting.close()
        let identifier = process.processIdentifier
        let end = DispatchWorkItem { _ = kill(identifier, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(60 * Patience.factor), execute: end)
        let data = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: output.fileHandleForReading.readDataToEndOfFile()) }
        }
        process.waitUntilExit()
        end.cancel()
        return Ending(status: process.terminationStatus, output: String(decoding: data, as: UTF8.self))
    }
}
