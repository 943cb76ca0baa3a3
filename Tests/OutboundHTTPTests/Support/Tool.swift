import Foundation

/// A program of the system that a test needs; a test fails where it is missing.
enum Tool {
    struct Failed: Error {
        let program: String
        let status: Int32
    }

    /// Runs it and gives what it wrote.
    static func run(_ program: String, _ arguments: [String], in directory: URL? = nil) async throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.currentDirectoryURL = directory
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let bytes = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: output.fileHandleForReading.readDataToEndOfFile()) }
        }
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed(program: program, status: process.terminationStatus) }
        return Array(bytes)
    }
}
