/// Encodes texts for URL queries and forms.
package enum PercentEncoding {
    private static let hexadecimal = Array("0123456789ABCDEF".utf8)

    /// The unreserved characters of RFC 3986 section 2.3.
    static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Appends a text with all but unreserved characters as `%XX`. That is right in a query as in a form, where both
    /// `+` and `%20` mean a space.
    static func append(_ text: String, to bytes: inout [UInt8]) {
        var text = text
        text.withUTF8 { text in
            // Most of what is sent needs no encoding at all.
            var start = 0
            for (index, byte) in text.enumerated() where !isUnreserved(byte) {
                bytes.append(contentsOf: text[start..<index])
                bytes.append(UInt8(ascii: "%"))
                bytes.append(hexadecimal[Int(byte >> 4)])
                bytes.append(hexadecimal[Int(byte & 15)])
                start = index + 1
            }
            bytes.append(contentsOf: text[start...])
        }
    }

    /// The items as `name=value&name=value`, both sides encoded.
    package static func form(_ items: [(name: String, value: String)]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        for item in items {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            append(item.name, to: &bytes)
            bytes.append(UInt8(ascii: "="))
            append(item.value, to: &bytes)
        }
        return bytes
    }
}
