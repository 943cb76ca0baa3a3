import Foundation

/// Runs a program of the system that a test needs; a test fails where it is missing.
public enum Program {
    public struct Ending: Sendable {
        public let status: Int32
        /// Standard output and standard error, together.
        public let output: String
    }

    /// Runs it to its end; after a minute it is killed.
    /// - Parameter input: What it finds at its standard input; has to fit into a pipe.
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
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(60), execute: end)
        let data = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: output.fileHandleForReading.readDataToEndOfFile()) }
        }
        process.waitUntilExit()
        end.cancel()
        return Ending(status: process.terminationStatus, output: String(decoding: data, as: UTF8.self))
    }
}
