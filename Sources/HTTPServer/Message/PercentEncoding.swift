import Primitives

/// Percent-encoding (RFC 3986 section 2.1).
package enum PercentEncoding {
    /// Decodes a path; nil for a malformed escape, a NUL, bytes that are not UTF-8, or a character with more combining
    /// marks than text has.
    package static func decodePath(_ bytes: some Collection<UInt8>) -> String? {
        decode(bytes, plusIsSpace: false)
    }

    /// Decodes a name or value of a form, in which `+` stands for a space.
    package static func decodeForm(_ bytes: some Collection<UInt8>) -> String? {
        decode(bytes, plusIsSpace: true)
    }

    private static func decode(_ bytes: some Collection<UInt8>, plusIsSpace: Bool) -> String? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            bytes.formIndex(after: &index)
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = digit(bytes, &index), let low = digit(bytes, &index) else { return nil }
                decoded.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: decoded.append(UInt8(ascii: " "))
            default: decoded.append(byte)
            }
            if decoded.last == 0 { return nil }
        }
        guard let text = String(validating: decoded, as: UTF8.self), text.isStreamSafe else { return nil }
        return text
    }

    private static func digit<Bytes: Collection<UInt8>>(_ bytes: Bytes, _ index: inout Bytes.Index) -> UInt8? {
        guard index < bytes.endIndex else { return nil }
        defer { bytes.formIndex(after: &index) }
        return ASCII.hexadecimalValue(bytes[index])
    }
}
