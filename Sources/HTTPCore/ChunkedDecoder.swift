import Primitives

/// Decodes the chunked transfer coding (RFC 9112 section 7.1) incrementally.
///
/// A pure value. It finds the content and the trailers in the bytes it is given, and keeps neither: its user collects
/// the content, and judges the trailers like its other fields.
package struct ChunkedDecoder: Sendable {
    /// What a recipient accepts.
    package struct Rules: Sendable {
        /// The most digits of a size, leading zeros included.
        package var sizeDigits = 16
        /// The most bytes of a size with its extensions, without the line feed.
        package var sizeLineBytes = 1024
        /// The most bytes of all extensions and of all lines after the last chunk.
        package var overheadBytes: Int
        package var trailerFields: Int
        /// The most bytes of content.
        package var contentBytes: Int
        /// Whether extensions must have the grammar of RFC 9112 section 7.1.1. Otherwise they may have any characters
        /// of a field value, white space may follow a size, as some senders pad it, and the lines after the last chunk
        /// may end with a line feed alone (RFC 9112 section 2.2).
        package var isStrict: Bool

        package init(overheadBytes: Int, contentBytes: Int, trailerFields: Int = .max, isStrict: Bool = true) {
            self.overheadBytes = overheadBytes
            self.contentBytes = contentBytes
            self.trailerFields = trailerFields
            self.isStrict = isStrict
        }
    }

    /// What comes next in the bytes.
    package enum Step: Sendable, Hashable {
        /// Content, at these indices of the bytes.
        case content(Range<Int>)
        /// A trailer field, in ``ChunkedDecoder/trailer``.
        case trailer
        /// All bytes are used, and the message is not complete.
        case needsMore
        case complete
    }

    private enum State { case size, content(left: Int), contentEnd, trailers, complete }

    private let rules: Rules
    private var state = State.size
    /// The line so far.
    private var line: [UInt8] = []
    private var overheadBytes = 0
    private var trailerCount = 0
    private var contentBytes = 0
    /// The last trailer field's line, without its end.
    package private(set) var trailer: [UInt8] = []

    package init(_ rules: Rules) { self.rules = rules }

    package var isComplete: Bool { if case .complete = state { true } else { false } }

    /// Reads up to the next content or trailer, and advances `index` over what belongs to the message.
    package mutating func next(_ bytes: Span<UInt8>, from index: inout Int) throws(ChunkedCodingError) -> Step {
        while true {
            if case .complete = state { return .complete }
            guard index < bytes.count else { return .needsMore }
            if case .content(let left) = state {
                let start = index
                index += min(left, bytes.count - start)
                state = index - start == left ? .contentEnd : .content(left: left - (index - start))
                return .content(start..<index)
            }
            let byte = bytes[index]
            index += 1
            if try receive(byte) { return .trailer }
        }
    }

    /// Takes a byte outside the content; true if it ends a trailer field.
    private mutating func receive(_ byte: UInt8) throws(ChunkedCodingError) -> Bool {
        if case .trailers = state { try countOverhead(1) }
        guard byte == ASCII.lineFeed else {
            if line.last == ASCII.carriageReturn { throw .bareCarriageReturn(part) }
            line.append(byte)
            try checkUnfinishedLine()
            return false
        }
        if line.last == ASCII.carriageReturn {
            line.removeLast()
        } else {
            guard part == .trailers, !rules.isStrict else { throw .bareLineFeed(part) }
        }
        return try endLine()
    }

    private func checkUnfinishedLine() throws(ChunkedCodingError) {
        switch state {
        case .size: guard line.count <= rules.sizeLineBytes else { throw .extensions }
        case .contentEnd: guard line == [ASCII.carriageReturn] else { throw .contentEnd }
        case .content, .trailers, .complete: break
        }
    }

    private mutating func endLine() throws(ChunkedCodingError) -> Bool {
        switch state {
        case .size:
            let size = try parseSize()
            guard size <= rules.contentBytes - contentBytes else { throw .contentTooLarge }
            contentBytes += size
            state = size > 0 ? .content(left: size) : .trailers
        case .contentEnd: state = .size
        case .trailers where line.isEmpty: state = .complete
        case .trailers:
            trailerCount += 1
            guard trailerCount <= rules.trailerFields else { throw .tooManyTrailers }
            swap(&trailer, &line)
            line.removeAll(keepingCapacity: true)
            return true
        case .content, .complete: break
        }
        line.removeAll(keepingCapacity: true)
        return false
    }

    private mutating func parseSize() throws(ChunkedCodingError) -> Int {
        var size = 0
        var digits = 0
        while digits < line.count, let value = line[digits].hexadecimalValue {
            digits += 1
            guard digits <= rules.sizeDigits else { throw .size }
            let (shifted, overflow) = size.multipliedReportingOverflow(by: 16)
            guard !overflow else { throw .size }
            size = shifted + Int(value)
        }
        guard digits > 0 else { throw .size }
        guard digits < line.count else { return size }
        let extensions = line[digits...]
        let first = extensions.first { !ASCII.isWhitespace($0) }
        guard first == UInt8(ascii: ";") || !rules.isStrict && first == nil else { throw .size }
        try countOverhead(extensions.count)
        guard extensions.allSatisfy(ASCII.isFieldValue), !rules.isStrict || Self.areWellFormed(extensions) else {
            throw .extensions
        }
        return size
    }

    /// Whether they are `;name=value` and so on (RFC 9112 section 7.1.1).
    private static func areWellFormed(_ extensions: ArraySlice<UInt8>) -> Bool {
        var scanner = FieldScanner(String(decoding: extensions, as: UTF8.self))
        while !scanner.rest.isEmpty {
            scanner.skipSpace()
            guard scanner.take(UInt8(ascii: ";")) else { return false }
            scanner.skipSpace()
            guard !scanner.text(while: \.isToken).isEmpty else { return false }
            var value = scanner
            value.skipSpace()
            guard value.take(UInt8(ascii: "=")) else { continue }
            value.skipSpace()
            let isQuoted = value.rest.first == UInt8(ascii: "\"")
            guard isQuoted ? value.quoted() != nil : !value.text(while: \.isToken).isEmpty else { return false }
            scanner = value
        }
        return true
    }

    private mutating func countOverhead(_ bytes: Int) throws(ChunkedCodingError) {
        overheadBytes += bytes
        guard overheadBytes <= rules.overheadBytes else { throw .tooMuchOverhead(part) }
    }

    /// The part of the message that the line is of.
    private var part: ChunkedCodingError.Part {
        switch state {
        case .size: .size
        case .content, .contentEnd: .contentEnd
        case .trailers, .complete: .trailers
        }
    }
}

package enum ChunkedCodingError: Error, Sendable, Hashable {
    package enum Part: Sendable, Hashable { case size, contentEnd, trailers }

    case size, extensions
    /// Content that CR LF does not follow.
    case contentEnd
    case bareLineFeed(Part), bareCarriageReturn(Part)
    case tooMuchOverhead(Part), tooManyTrailers, contentTooLarge
}
