extension JSONParser {
    /// Reads a string that begins at the position, with its quotation mark.
    mutating func parseString() throws(JSONSyntaxError) -> String {
        position += 1
        let start = position
        var isASCII = true
        try skipPlainBytes(&isASCII)
        if bytes[position] == UInt8(ascii: "\\") { return try parseEscapedString(from: start) }
        let run = UnsafeBufferPointer(rebasing: bytes[start..<position])
        position += 1
        if isASCII { return String(decoding: run, as: UTF8.self) }
        return try text(run, from: start)
    }

    private func text(_ bytes: some Collection<UInt8>, from start: Int) throws(JSONSyntaxError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw JSONSyntaxError(code: .invalidUTF8, offset: start)
        }
        guard text.isStreamSafe else { throw JSONSyntaxError(code: .tooManyMarks, offset: start) }
        return text
    }

    /// Skips unescaped bytes up to a quotation mark or backslash, one of which must come.
    @inline(__always)
    private mutating func skipPlainBytes(_ isASCII: inout Bool) throws(JSONSyntaxError) {
        while true {
            skipPlainWords()
            guard position < count else { throw error(.unexpectedEnd) }
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return }
            guard byte >= 0x20 else { throw error(.controlCharacter) }
            position += 1
            guard byte >= 0x80 else { continue }
            isASCII = false
            while position < count, bytes[position] >= 0x80 { position += 1 }
        }
    }

    /// Skips bytes, eight at once, up to the first that is not ASCII or may end a run. The bit tests are the well-known
    /// ones for "a byte of the word is less than n" and "a byte is zero"; the lowest byte that they mark is one.
    private mutating func skipPlainWords() {
        guard let base = UnsafeRawPointer(bytes.baseAddress) else { return }
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        while count - position >= 8 {
            let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            let quotes = word ^ (ones &* 0x22)
            let backslashes = word ^ (ones &* 0x5C)
            let controls = (word &- ones &* 0x20) & ~word
            let marks = ((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes)
            let found = (controls | marks | word) & highs
            guard found == 0 else { return position += found.trailingZeroBitCount / 8 }
            position += 8
        }
    }

    private mutating func parseEscapedString(from start: Int) throws(JSONSyntaxError) -> String {
        var text = Array(bytes[start..<position])
        while true {
            let runStart = position
            var isASCII = true
            try skipPlainBytes(&isASCII)
            if position > runStart {
                text.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[runStart..<position]))
            }
            let ended = bytes[position] == UInt8(ascii: "\"")
            if ended { break }
            try parseEscape(into: &text)
        }
        position += 1
        return try self.text(text, from: start)
    }

    /// Reads an escape that begins at the position, with its backslash.
    private mutating func parseEscape(into text: inout [UInt8]) throws(JSONSyntaxError) {
        position += 1
        guard position < count else { throw error(.unexpectedEnd) }
        let letter = bytes[position]
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(letter)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): return text.append(contentsOf: UTF8.encode(try parseUnicodeEscape()) ?? .init())
        default: throw error(.invalidEscape)
        }
        position += 1
    }

    /// Reads the four digits after a `u`, and the low surrogate that must follow a high one (RFC 8259 section 7).
    private mutating func parseUnicodeEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
        let start = position
        position += 1
        let first = try parseFourDigits()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, position + 1 < count, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { throw JSONSyntaxError(code: .loneSurrogate, offset: start) }
        position += 2
        let second = try parseFourDigits()
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
        else { throw JSONSyntaxError(code: .loneSurrogate, offset: start) }
        return scalar
    }

    private mutating func parseFourDigits() throws(JSONSyntaxError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard position < count else { throw error(.unexpectedEnd) }
            guard let digit = bytes[position].hexadecimalValue else { throw error(.invalidEscape) }
            value = value << 4 | UInt16(digit)
            position += 1
        }
        return value
    }
}
