import Glibc
package import LatchkeyService

/// The lines of an input, one after another. Only one line and one piece of the input are in memory.
package struct LineReader: Sendable {
    package enum Line: Sendable, Hashable {
        /// Without the line feed.
        case bytes([UInt8])
        /// Longer than the limit.
        case tooLong
    }

    private let limit: Int
    private let nextPiece: @Sendable () throws(AdministratorError) -> [UInt8]
    private var piece: ArraySlice<UInt8> = []

    /// - Parameters:
    ///   - limit: The most bytes of a line.
    ///   - nextPiece: Reads on; empty at the end.
    package init(limit: Int, _ nextPiece: @escaping @Sendable () throws(AdministratorError) -> [UInt8]) {
        self.limit = limit
        self.nextPiece = nextPiece
    }

    /// The next line; nil at the end. The last line may lack its line feed.
    package mutating func next() throws(AdministratorError) -> Line? {
        var line: [UInt8] = []
        var isTooLong = false
        while true {
            if piece.isEmpty {
                piece = try nextPiece()[...]
                if piece.isEmpty { return isTooLong ? .tooLong : line.isEmpty ? nil : .bytes(line) }
            }
            let end = piece.firstIndex(of: UInt8(ascii: "\n"))
            let part = piece[..<(end ?? piece.endIndex)]
            piece = piece[(end.map { $0 + 1 } ?? piece.endIndex)...]
            isTooLong = isTooLong || part.count > limit - line.count
            line = isTooLong ? [] : line + part
            if end != nil { return isTooLong ? .tooLong : .bytes(line) }
        }
    }
}

/// A file that a command reads in pieces, or standard input.
final class InputFile: Sendable {
    private let descriptor: CInt
    /// The most bytes of a read.
    private static let pieceBytes = 65_536

    /// - Parameter path: `-` for standard input.
    init(_ path: String) throws(AdministratorError) {
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw AdministratorError("\(path): \(String(cString: strerror(errno)))") }
    }

    deinit {
        if descriptor != STDIN_FILENO { close(descriptor) }
    }

    /// Waits for the next bytes; empty at the end.
    func read() throws(AdministratorError) -> [UInt8] {
        while true {
            var count = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { buffer, initialized in
                count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                initialized = max(count, 0)
            }
            if count >= 0 { return bytes }
            guard errno == EINTR else {
                throw AdministratorError("the input cannot be read: \(String(cString: strerror(errno)))")
            }
        }
    }
}
