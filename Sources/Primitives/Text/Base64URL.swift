/// Unpadded base64url (RFC 4648 section 5, as RFC 7515 section 2 uses it), strict: each sequence of bytes has one text.
public enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Each character's six bits; 255 for what is not of the alphabet.
    private static let values: [UInt8] = {
        var table = [UInt8](repeating: 255, count: 256)
        for (value, character) in alphabet.enumerated() { table[Int(character)] = UInt8(value) }
        return table
    }()

    /// The text of some bytes.
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        bytes.withContiguousStorageIfAvailable { text(of: $0, alphabet, isPadded: false) } ?? encode(Array(bytes))
    }

    /// The bytes of a text, or nil if it has a character outside the alphabet (padding and white space too), an
    /// impossible length, or bits set in its last character that encode nothing.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        // Doubly optional: no contiguous storage, or no valid text.
        text.withContiguousStorageIfAvailable(decode(buffer:)) ?? decode(Array(text))
    }

    /// The bytes of a text, or nil if it is not valid.
    public static func decode(_ text: String) -> [UInt8]? { decode(text.utf8) }

    /// - Parameter isPadded: Whether the text is filled up with `=` to groups of four characters.
    static func text(of bytes: UnsafeBufferPointer<UInt8>, _ alphabet: [UInt8], isPadded: Bool) -> String {
        alphabet.withUnsafeBufferPointer { alphabet in
            String(unsafeUninitializedCapacity: bytes.count / 3 * 4 + 4) { output in
                var written = 0
                var index = 0
                while index + 3 <= bytes.count {
                    let group = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
                    output[written] = alphabet[group >> 18]
                    output[written + 1] = alphabet[group >> 12 & 63]
                    output[written + 2] = alphabet[group >> 6 & 63]
                    output[written + 3] = alphabet[group & 63]
                    written += 4
                    index += 3
                }
                let rest = bytes.count - index
                guard rest > 0 else { return written }
                // One byte has two characters, two bytes have three.
                let group = Int(bytes[index]) << 16 | (rest == 2 ? Int(bytes[index + 1]) << 8 : 0)
                for place in 0...rest { output[written + place] = alphabet[group >> (18 - 6 * place) & 63] }
                guard isPadded else { return written + rest + 1 }
                for place in rest + 1..<4 { output[written + place] = UInt8(ascii: "=") }
                return written + 4
            }
        }
    }

    private static func decode(buffer text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        let remainder = text.count % 4
        guard remainder != 1 else { return nil }
        // Not made with `unsafeUninitializedCapacity`, whose code is not specialized for bytes.
        var bytes = [UInt8](zeros: text.count / 4 * 3 + 2)
        var written = 0
        var isValid = true
        bytes.withUnsafeMutableBufferPointer { output in
            values.withUnsafeBufferPointer { values in
                let wholeGroups = text.count - remainder
                var index = 0
                var seen: UInt8 = 0
                while index < wholeGroups {
                    let (first, second) = (values[Int(text[index])], values[Int(text[index + 1])])
                    let (third, fourth) = (values[Int(text[index + 2])], values[Int(text[index + 3])])
                    seen |= first | second | third | fourth
                    let group = UInt32(first) << 18 | UInt32(second) << 12 | UInt32(third) << 6 | UInt32(fourth)
                    output[written] = UInt8(truncatingIfNeeded: group >> 16)
                    output[written + 1] = UInt8(truncatingIfNeeded: group >> 8)
                    output[written + 2] = UInt8(truncatingIfNeeded: group)
                    written += 3
                    index += 4
                }
                guard seen < 64 else { return isValid = false }
                guard remainder > 0 else { return }
                // Two characters hold one byte and four bits over, three hold two bytes and two bits over.
                let spare = remainder == 2 ? 4 : 2
                guard let group = held(text, from: index, count: remainder, values: values),
                    group & (1 << spare - 1) == 0
                else { return isValid = false }
                let rest = group >> spare
                if remainder == 3 {
                    output[written] = UInt8(truncatingIfNeeded: rest >> 8)
                    written += 1
                }
                output[written] = UInt8(truncatingIfNeeded: rest)
                written += 1
            }
        }
        guard isValid else { return nil }
        bytes.removeLast(bytes.count - written)
        return bytes
    }

    /// The bits of some characters of a text, at most ten, six each; nil if one is not of the alphabet.
    package static func bits(of text: UnsafeBufferPointer<UInt8>, from start: Int, count: Int) -> UInt64? {
        values.withUnsafeBufferPointer { held(text, from: start, count: count, values: $0) }
    }

    @inline(__always)
    private static func held(
        _ text: UnsafeBufferPointer<UInt8>, from start: Int, count: Int, values: UnsafeBufferPointer<UInt8>
    ) -> UInt64? {
        var bits: UInt64 = 0
        var seen: UInt8 = 0
        for index in start..<start + count {
            let value = values[Int(text[index])]
            seen |= value
            bits = bits << 6 | UInt64(value & 63)
        }
        return seen < 64 ? bits : nil
    }
}

/// Padded base64 (RFC 4648 section 4), as HTTP Basic has it.
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    package static func encode(_ bytes: [UInt8]) -> String {
        bytes.withUnsafeBufferPointer { Base64URL.text(of: $0, alphabet, isPadded: true) }
    }
}
