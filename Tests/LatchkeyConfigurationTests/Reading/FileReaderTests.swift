import Glibc
import LatchkeyConfiguration
import Testing

@Suite("Reading files")
struct FileReaderTests {
    /// Runs `body` with a new directory, which is removed afterwards.
    private func withDirectory(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/latchkey-configuration-XXXXXX".utf8CString)
        let made: String? = template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        let directory = try #require(made)
        defer {
            for name in ["file", "pipe"] { unlink("\(directory)/\(name)") }
            rmdir(directory)
        }
        try body(directory)
    }

    private func write(_ bytes: [UInt8], to path: String, mode: mode_t) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode)
        try #require(file >= 0)
        #expect(Glibc.write(file, bytes, bytes.count) == bytes.count)
        #expect(fchmod(file, mode) == 0)
        close(file)
    }

    @Test("A file within the limit is read completely, with whether every user can read it")
    func whole() throws {
        try withDirectory { directory in
            let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
            for (mode, isOpen) in [(mode_t(0o600), false), (0o644, true)] {
                try write(bytes, to: directory + "/file", mode: mode)
                let contents = try FileReader.system.contents(of: directory + "/file", limit: 100_000)
                #expect(contents.bytes == bytes)
                #expect(contents.isReadableByAll == isOpen)
            }
            #expect(throws: FileReader.ReadError.tooLarge) {
                try FileReader.system.contents(of: directory + "/file", limit: 99_999)
            }
        }
    }

    @Test("Only regular files are read, and a pipe does not block the reader")
    func noFile() throws {
        try withDirectory { directory in
            let system = FileReader.system
            #expect(mkfifo(directory + "/pipe", 0o600) == 0)
            #expect(throws: FileReader.ReadError.notRegular) { try system.contents(of: directory + "/pipe", limit: 9) }
            #expect(throws: FileReader.ReadError.notRegular) { try system.contents(of: directory, limit: 9) }
            #expect(throws: FileReader.ReadError.notRegular) { try system.contents(of: "/dev/zero", limit: 9) }
            #expect(throws: FileReader.ReadError.notFound) { try system.contents(of: directory + "/none", limit: 9) }
            #expect(throws: FileReader.ReadError.notFound) { try system.contents(of: "/dev/null/none", limit: 9) }
        }
    }
}
