import Foundation
import Synchronization
import TestSupport

/// The built `latchkey`, or another built program, in its own process.
final class LatchkeyProcess: Sendable {
    struct NotBuilt: Error {}
    struct DidNotListen: Error { let output: String }

    /// A process's output and exit status.
    struct Ending: Sendable {
        let status: Int32
        let output: String
    }

    private let process = Process()
    private let output = Mutex(Data())
    private let pipe = Pipe()
    /// Whether the output has ended, which may be after the process's exit.
    private let isDrained = Mutex(false)
    /// Posted on all output and at the exit.
    private let news = ChangeSignal()

    /// Starts the program and collects its standard output and error together. The standard input is empty, or the
    /// given text, which must fit into a pipe.
    /// - Parameters:
    ///   - program: Another built program.
    ///   - launcher: A program with its arguments that replaces itself by the one named after them.
    init(
        _ arguments: [String], of program: String = "latchkey", under launcher: [String] = [],
        environment: [String: String] = [:], directory: String? = nil, input: String? = nil
    ) throws {
        guard let program = LatchkeyProcess.program(program) else { throw NotBuilt() }
        process.executableURL = launcher.isEmpty ? program : URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = launcher.isEmpty ? arguments : launcher + [program.path] + arguments
        process.environment = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""]
            .merging(Patience.sanitizerOptions) { $1 }.merging(environment) { $1 }
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

    /// A demonstration, with its carriers on a free port: `latchkey-dev demo`.
    static func demonstration(
        _ options: [String] = [], port: UInt16 = 0, environment: [String: String] = [:], directory: String
    ) throws -> LatchkeyProcess {
        try LatchkeyProcess(
            ["demo", "--port", String(port), "--simulator-port", "0"] + options, of: "latchkey-dev",
            environment: environment, directory: directory)
    }

    /// A failing test leaves no process behind.
    deinit {
        if process.isRunning { send(SIGKILL) }
    }

    /// Collects the output on its own thread.
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

    /// The output so far.
    var said: String { output.withLock { String(decoding: $0, as: UTF8.self) } }

    /// The port of the first `http://127.0.0.1:PORT` after `prefix` in the output.
    func port(after prefix: String) async throws -> UInt16 {
        try await wait { said in
            guard let start = said.range(of: prefix)?.upperBound,
                let url = said[start...].range(of: "http://127.0.0.1:")?.upperBound
            else { return nil }
            let digits = said[url...].prefix { $0.isNumber }
            return said[url...].count > digits.count ? UInt16(digits) : nil
        }
    }

    /// Waits until `find` finds something in the output, at most 30 s and no longer than the process runs.
    func wait<Value>(for find: (String) -> Value?) async throws -> Value {
        let found: Value?? = await news.wait(atMostSeconds: 30) {
            // In this order, so that output from before the exit is still searched.
            let isOver = hasEnded
            if let value = find(said) { return .some(value) }
            return isOver ? .some(nil) : nil
        }
        guard let value = found ?? nil else { throw DidNotListen(output: said) }
        return value
    }

    /// Whether the process has ended and all of its output was read.
    var hasEnded: Bool { !process.isRunning && isDrained.withLock { $0 } }

    var identifier: Int32 { process.processIdentifier }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Waits for the exit and all output. Kills the process after 60 s.
    func ending() async -> Ending {
        let isOver: Bool? = await news.wait(atMostSeconds: 60) { hasEnded ? true : nil }
        if isOver == nil {
            send(SIGKILL)
            _ = await news.wait(atMostSeconds: 10) { hasEnded ? true : nil }
        }
        return Ending(status: process.terminationStatus, output: said)
    }

    /// The program, which is built beside the tests.
    static let program = program("latchkey")

    private static func program(_ name: String) -> URL? {
        let here = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let program = here.appendingPathComponent(name)
        return FileManager.default.isExecutableFile(atPath: program.path) ? program : nil
    }
}
