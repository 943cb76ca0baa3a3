import Glibc
import Observability
import Testing

@Suite struct LogSinkTests {
    private func pipe() -> (reader: Int32, writer: Int32) {
        var ends: [Int32] = [0, 0]
        #expect(Glibc.pipe(&ends) == 0)
        return (ends[0], ends[1])
    }

    private func readAll(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while case let count = read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("Lines are written in order, each with its line feed")
    func order() {
        let (reader, writer) = pipe()
        let sink = LogSink(descriptor: writer)
        for number in 0..<100 { sink.write(Array("line \(number)".utf8)) }
        sink.flush()
        close(writer)
        #expect(readAll(reader) == (0..<100).map { "line \($0)\n" }.joined())
        close(reader)
    }

    @Test("Lines beyond the capacity are dropped and counted, without blocking the writer")
    func dropping() async {
        let (reader, writer) = pipe()
        // Larger than any pipe's buffer, so that the queue blocks until the reader reads.
        let sink = LogSink(descriptor: writer, capacity: 400_000)
        let line = [UInt8](repeating: UInt8(ascii: "x"), count: 999)
        for _ in 0..<5000 { sink.write(line) }
        let text = await withCheckedContinuation { done in
            Thread.detach {
                sink.flush()
                close(writer)
            }
            Thread.detach { done.resume(returning: readAll(reader)) }
        }
        close(reader)
        #expect(text.contains(" log lines dropped"))
        #expect(text.utf8.count < 2_000_000)
    }

    @Test("Dropped lines are counted also if no other line waits")
    func droppingAlone() {
        let (reader, writer) = pipe()
        let sink = LogSink(descriptor: writer, capacity: 4)
        sink.write(Array("too long".utf8))
        sink.flush()
        close(writer)
        #expect(readAll(reader) == "(1 log lines dropped: the reader is too slow)\n")
        close(reader)
    }

    @Test("Lines for a closed pipe are dropped, and the next reader gets later lines")
    func brokenPipe() {
        signal(SIGPIPE, SIG_IGN)
        let (reader, writer) = pipe()
        close(reader)
        let sink = LogSink(descriptor: writer)
        sink.write(Array("lost".utf8))
        sink.flush()
        let (next, end) = pipe()
        #expect(dup2(end, writer) == writer)
        close(end)
        sink.write(Array("kept".utf8))
        sink.flush()
        close(writer)
        #expect(readAll(next) == "kept\n")
        close(next)
    }
}

/// A thread of the C library, so that a blocking test does not block other tests.
private enum Thread {
    static func detach(_ body: @escaping @Sendable () -> Void) {
        final class Box {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        var thread = pthread_t()
        let box = Unmanaged.passRetained(Box(body)).toOpaque()
        pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            }, box)
        pthread_detach(thread)
    }
}
