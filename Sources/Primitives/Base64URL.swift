/// Unpadded base64url (RFC 4648 section 5, as RFC 7515 section 2 uses it), strict: one text for one sequence of bytes.
public enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Each character's six bits; 255 for what is not of the alphabet.
    private static let values: [UInt8] = {
        var table = [UInt8](repeating: 255, count: 256)
        for (value, character) in alphabet.enumerated() { table[Int(character)] = UInt8(value) }
        return table
    }()

    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        String(unsafeUninitializedCapacity: (bytes.count * 4 + 2) / 3) { output in
            alphabet.withUnsafeBufferPointer { alphabet in
                var written = 0
                var held: UInt32 = 0
                var bits = 0
                for byte in bytes {
                    held = held << 8 | UInt32(byte)
                    bits += 8
                    while bits >= 6 {
                        bits -= 6
                        output[written] = alphabet[Int(held >> bits & 63)]
                        written += 1
                    }
                }
                if bits > 0 {
                    output[written] = alphabet[Int(held << (6 - bits) & 63)]
                    written += 1
                }
                return written
            }
        }
    }

    /// The bytes of a text, or nil if it has a character outside the alphabet (padding and white space too), an
    /// impossible length, or bits set in its last character that encode nothing.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let count = text.count
        guard count % 4 != 1 else { return nil }
        var valid = true
        let bytes = [UInt8](unsafeUninitializedCapacity: count * 3 / 4) { output, written in
            values.withUnsafeBufferPointer { values in
                var held: UInt32 = 0
                var bits = 0
                for character in text {
                    let value = values[Int(character)]
                    guard value < 64 else {
                        valid = false
                        return
                    }
                    held = held << 6 | UInt32(value)
                    bits += 6
                    if bits >= 8 {
                        bits -= 8
                        output[written] = UInt8(truncatingIfNeeded: held >> bits)
                        written += 1
                    }
                }
                if held & (1 << bits - 1) != 0 { valid = false }
            }
        }
        return valid ? bytes : nil
    }

    public static func decode(_ text: String) -> [UInt8]? { decode(text.utf8) }
}
