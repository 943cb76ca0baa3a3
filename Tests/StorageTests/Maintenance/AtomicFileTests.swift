import StorageModel
import TestSupport
import Testing

@testable import Administration

@Suite("Copies of files")
struct AtomicFileTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        try directory.write("", as: "copy")
    }

    @Test("A file of several buffers is copied")
    func long() throws {
        try directory.write(String(repeating: "0123456789", count: 250_000), as: "original")
        try AtomicFile.copy(directory.file("original"), into: directory.file("copy"))
        #expect(try directory.content("copy") == directory.content("original"))
    }

    /// Linux refuses sendfile(2) for this file.
    @Test("A file that the system only reads is copied")
    func readOnly() throws {
        try AtomicFile.copy("/proc/self/auxv", into: directory.file("copy"))
        #expect(try !directory.content("copy").isEmpty)
    }

    @Test("A failure to write is reported as one")
    func full() throws {
        try directory.write("content", as: "original")
        let error = try #require(throws: StorageError.self) {
            try AtomicFile.copy(directory.file("original"), into: "/dev/full")
        }
        #expect(error.code == .full)
        #expect(error.reason.contains("/dev/full cannot be written"), "\(error.reason)")
    }
}
