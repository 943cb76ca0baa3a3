import Foundation
import Glibc
import Logging
import Observability
import Primitives
import Testing

@Suite struct LogThresholdTests {
    @Test("A threshold has the level that was set", arguments: Logger.Level.allCases.map { Optional($0) } + [nil])
    func level(level: Logger.Level?) {
        let threshold = LogThreshold(.info)
        threshold.level = level
        #expect(threshold.level == level)
        #expect(LogThreshold(level).level == level)
    }

    @Test("Loggers and their copies follow a shared threshold, unless they have their own level")
    func shared() {
        let threshold = LogThreshold(.warning)
        let logger = Logger(label: "test") { label in
            StructuredLogHandler(label: label, threshold: threshold, format: .text, sink: LogSink(descriptor: -1))
        }
        var copy = logger
        copy[metadataKey: "a"] = "b"
        var own = logger
        own.logLevel = .error
        #expect([logger.logLevel, copy.logLevel, own.logLevel] == [.warning, .warning, .error])
        threshold.level = .debug
        #expect([logger.logLevel, copy.logLevel, own.logLevel] == [.debug, .debug, .error])
    }

    @Test("With logging off, even critical messages are dropped")
    func off() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "latchkey-log-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        let descriptor = open(file, O_CREAT | O_RDWR, 0o600)
        let sink = LogSink(descriptor: descriptor)
        let threshold = LogThreshold(nil)
        let logger = Logger(label: "test") { label in
            StructuredLogHandler(label: label, threshold: threshold, format: .text, sink: sink)
        }
        logger.critical("one")
        threshold.level = .critical
        logger.critical("two")
        sink.flush()
        close(descriptor)
        let text = String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
        #expect(!text.contains("one"))
        #expect(text.contains("two"))
    }
}
