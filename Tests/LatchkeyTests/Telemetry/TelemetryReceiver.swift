import Foundation
import Primitives
import Synchronization
import TestSupport
import Testing

/// A real receiver, by default of OpenTelemetry's protocol: `Tests/Telemetry/receiver.py`, which shares no code with
/// the exporter.
final class TelemetryReceiver: Sendable {
    let port: UInt16
    private let process: Mutex<Process>
    private let input: FileHandle
    private let text = Mutex("")
    private let news = ChangeSignal()

    /// - Parameter script: Prints its port, and then a line of JSON for each request.
    init(_ script: String = "Tests/Telemetry/receiver.py", _ arguments: [String] = []) async throws {
        let process = Process()
        let (output, input) = (Pipe(), Pipe())
        // `scripts/setup --test` makes it.
        process.executableURL = URL(fileURLWithPath: Repository.path(".build/venv/bin/python3"))
        process.arguments = ["-B", Repository.path(script)] + arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        self.process = Mutex(process)
        self.input = input.fileHandleForWriting
        let first = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: output.fileHandleForReading.availableData) }
        }
        port = try #require(
            UInt16(String(decoding: first, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)),
            "the receiver did not start; run scripts/setup --test")
        read(output.fileHandleForReading)
    }

    private func read(_ handle: FileHandle) {
        Thread { [weak self] in
            var data = handle.availableData
            while !data.isEmpty {
                self?.text.withLock { $0 += String(decoding: data, as: UTF8.self) }
                self?.news.post()
                data = handle.availableData
            }
        }.start()
    }

    var url: String { "http://127.0.0.1:\(port)" }

    /// Sets how exports are answered: `ok`, a status, or `hang`.
    func answer(_ mode: String) async throws {
        let answer = try await App(port: port, apiKey: nil).send(
            "POST", "/mode/\(mode)", headers: ["Content-Length: 0"])
        #expect(answer.status == 200)
    }

    /// By SIGKILL, as in ``LatchkeyProcess``: what was started on one of Dispatch's threads takes no SIGTERM.
    func stop() { process.withLock { _ = kill($0.processIdentifier, SIGKILL) } }

    /// All that was received, as text.
    var said: String { text.withLock { $0 } }

    /// The exports so far, in their order.
    var exports: [Export] {
        get throws {
            try said.split(separator: "\n").map { line in
                let limits = JSONLimits(bytes: 16 << 20, depth: 64, values: 1 << 20)
                let value = try JSONValue(parsing: Array(line.utf8), limits: limits)
                return Export(try #require(value.object))
            }
        }
    }

    /// Waits until there is such an export.
    func wait(for isIt: (Export) -> Bool) async throws {
        let found: Bool? = await news.wait(atMostSeconds: 60) {
            ((try? exports)?.contains(where: isIt) ?? false) ? true : nil
        }
        #expect(found == true, "\(said.suffix(2000))")
    }

    /// A decoded request.
    struct Export: Sendable {
        let path: String
        let mode: String?
        /// The request's fields, with lower-case names.
        let fields: [String: String]
        /// Why it could not be decoded.
        let error: String?
        private let export: JSONValue?

        init(_ line: JSONObject) {
            path = line["path"]?.string ?? ""
            mode = line["mode"]?.string
            error = line["error"]?.string
            export = line["export"]
            fields = Dictionary(
                (line["fields"]?.object?.members ?? []).map { ($0.name.lowercased(), $0.value.string ?? "") }
            ) { $1 }
        }

        private func list(_ kind: String, _ scope: String, _ name: String) -> [JSONObject] {
            (export?.object?[kind]?.array ?? []).flatMap { $0.object?[scope]?.array ?? [] }
                .flatMap { $0.object?[name]?.array ?? [] }.compactMap(\.object)
        }

        var spans: [ReceivedSpan] { list("resourceSpans", "scopeSpans", "spans").map(ReceivedSpan.init) }
        var metrics: [JSONObject] { list("resourceMetrics", "scopeMetrics", "metrics") }

        /// The attributes of the resource.
        var resource: [String: String] {
            let first = export?.object?.members.first?.value.array?.first?.object
            return ReceivedSpan.texts(first?["resource"]?.object?["attributes"])
        }
    }
}

/// A span as the receiver decoded it.
struct ReceivedSpan: Sendable {
    let traceID: String
    let spanID: String
    let parentSpanID: String?
    let name: String
    let kind: String
    let start: UInt64
    let end: UInt64
    let attributes: [String: String]
    let isError: Bool

    init(_ span: JSONObject) {
        func digits(_ name: String) -> String? {
            span[name]?.string.flatMap { Data(base64Encoded: $0) }.map(\.hexadecimal)
        }
        traceID = digits("traceId") ?? ""
        spanID = digits("spanId") ?? ""
        parentSpanID = digits("parentSpanId")
        name = span["name"]?.string ?? ""
        kind = span["kind"]?.string ?? ""
        start = span["startTimeUnixNano"]?.string.flatMap { UInt64($0) } ?? 0
        end = span["endTimeUnixNano"]?.string.flatMap { UInt64($0) } ?? 0
        attributes = Self.texts(span["attributes"])
        isError = span["status"]?.object?["code"]?.string == "STATUS_CODE_ERROR"
    }

    /// Attributes as texts.
    static func texts(_ attributes: JSONValue?) -> [String: String] {
        var texts: [String: String] = [:]
        for attribute in attributes?.array ?? [] {
            guard let key = attribute.object?["key"]?.string,
                let value = attribute.object?["value"]?.object?.members.first?.value
            else { continue }
            texts[key] = value.string ?? value.text
        }
        return texts
    }
}
