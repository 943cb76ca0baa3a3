import Foundation
import Synchronization
import TestSupport

/// The built `latchkey`, run as a process of its own.
final class LatchkeyProcess: Sendable {
    struct NotBuilt: Error {}
    struct DidNotListen: Error { let output: String }

    /// What a process said and how it ended.
    struct Ending: Sendable {
        let status: Int32
        let output: String
    }

    private let process = Process()
    private let output = Mutex(Data())
    private let pipe = Pipe()
    /// Whether the output has come to its end, which may be after the process's own.
    private let isDrained = Mutex(false)
    /// Posted with all it says, and at its end.
    private let news = ChangeSignal()

    /// Starts the program; its standard output and error are collected together. Its standard input has nothing, or the
    /// text given, which has to fit into a pipe.
    init(
        _ arguments: [String], environment: [String: String] = [:], directory: String? = nil, input: String? = nil
    ) throws {
        guard let program = LatchkeyProcess.program else { throw NotBuilt() }
        process.executableURL = program
        process.arguments = arguments
        process.environment = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""].merging(environment) { $1 }
        if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
        process.standardInput = FileHandle.nullDevice
        if let input {
            let inputPipe = Pipe()
            process.standardInput = inputPipe
            try inputPipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try inputPipe.fileHandleForWriting.close()
        }
        process.standardOutput = pipe
        process.standardError = pipe
        process.terminationHandler = { [news] _ in news.post() }
        try process.run()
        read(pipe.fileHandleForReading)
    }

    /// A test that fails before it has ended its process leaves none behind.
    deinit {
        if process.isRunning { send(SIGKILL) }
    }

    /// Collects what it says, on a thread of its own.
    ///
    /// A `readabilityHandler` is a Dispatch source. These come and go here with each process, on many queues, and on
    /// Linux that can crash Dispatch (swiftlang/swift-corelibs-libdispatch issue 949).
    private func read(_ handle: FileHandle) {
        Thread { [weak self] in
            while true {
                let data = handle.availableData
                self?.output.withLock { $0.append(data) }
                if data.isEmpty { self?.isDrained.withLock { $0 = true } }
                self?.news.post()
                if data.isEmpty { return }
            }
        }.start()
    }

    /// All it has said so far.
    var said: String { output.withLock { String(decoding: $0, as: UTF8.self) } }

    /// The port of the first `http://127.0.0.1:PORT` after `prefix` in what it says.
    func port(after prefix: String) async throws -> UInt16 {
        try await wait { said in
            guard let start = said.range(of: prefix)?.upperBound,
                let url = said[start...].range(of: "http://127.0.0.1:")?.upperBound
            else { return nil }
            let digits = said[url...].prefix { $0.isNumber }
            return said[url...].count > digits.count ? UInt16(digits) : nil
        }
    }

    /// Waits until something is found in what it says, at most 30 s and no longer than it says anything.
    func wait<Value>(for find: (String) -> Value?) async throws -> Value {
        let found: Value?? = await news.wait(atMostSeconds: 30) {
            // In this order: what was said before the end is looked at after it.
            let isOver = hasEnded
            if let value = find(said) { return .some(value) }
            return isOver ? .some(nil) : nil
        }
        guard let value = found ?? nil else { throw DidNotListen(output: said) }
        return value
    }

    /// Whether it has ended and all that it said is there.
    var hasEnded: Bool { !process.isRunning && isDrained.withLock { $0 } }

    var identifier: Int32 { process.processIdentifier }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Waits for its end and for all that it said, at most 60 s; then it is killed.
    func ending() async -> Ending {
        let isOver: Bool? = await news.wait(atMostSeconds: 60) { hasEnded ? true : nil }
        if isOver == nil {
            send(SIGKILL)
            _ = await news.wait(atMostSeconds: 10) { hasEnded ? true : nil }
        }
        return Ending(status: process.terminationStatus, output: said)
    }

    /// The program, which is built beside the tests.
    static let program: URL? = {
        let here = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let program = here.appendingPathComponent("latchkey")
        return FileManager.default.isExecutableFile(atPath: program.path) ? program : nil
    }()
}
