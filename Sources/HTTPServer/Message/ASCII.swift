/// Character classes of HTTP's grammar.
enum ASCII {
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")
    static let carriageReturn = UInt8(ascii: "\r")
    static let lineFeed = UInt8(ascii: "\n")
    static let colon = UInt8(ascii: ":")

    private static let token: [Bool] = alphanumeric(and: "!#$%&'*+-.^_`|~")
    private static let target: [Bool] = alphanumeric(and: "-._~!$&'()*+,;=:@/?%")

    /// `tchar` of RFC 9110 section 5.6.2: methods and field names.
    static func isToken(_ byte: UInt8) -> Bool { token[Int(byte)] }

    /// Bytes of a path and query (RFC 3986 sections 3.3, 3.4). No `#`: a fragment is not sent.
    static func isTarget(_ byte: UInt8) -> Bool { target[Int(byte)] }

    /// Bytes of a field value (RFC 9110 section 5.5): visible characters, space, tab, and bytes above 127.
    static func isFieldValue(_ byte: UInt8) -> Bool { (byte >= 0x20 && byte != 0x7F) || byte == tab }

    static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }

    private static func alphanumeric(and others: StaticString) -> [Bool] {
        var table = [Bool](repeating: false, count: 256)
        others.withUTF8Buffer { for byte in $0 { table[Int(byte)] = true } }
        for byte in UInt8(ascii: "0")...UInt8(ascii: "9") { table[Int(byte)] = true }
        for byte in UInt8(ascii: "A")...UInt8(ascii: "Z") { table[Int(byte)] = true }
        for byte in UInt8(ascii: "a")...UInt8(ascii: "z") { table[Int(byte)] = true }
        return table
    }
}
