import HTTPCore

extension ASCII {
    private static let target: [Bool] = alphanumeric(and: "-._~!$&'()*+,;=:@/?%")

    /// Bytes of a path and query (RFC 3986 sections 3.3, 3.4). No `#`: a fragment is not sent.
    static func isTarget(_ byte: UInt8) -> Bool { target[Int(byte)] }

    private static func alphanumeric(and others: StaticString) -> [Bool] {
        var table = [Bool](repeating: false, count: 256)
        others.withUTF8Buffer { for byte in $0 { table[Int(byte)] = true } }
        for byte in UInt8(ascii: "0")...UInt8(ascii: "9") { table[Int(byte)] = true }
        for byte in UInt8(ascii: "A")...UInt8(ascii: "Z") { table[Int(byte)] = true }
        for byte in UInt8(ascii: "a")...UInt8(ascii: "z") { table[Int(byte)] = true }
        return table
    }
}
