/// Character classes of HTTP's grammar. They are inlined into other modules, which ask for each byte of a message.
@usableFromInline
package enum ASCII {
    @inlinable @inline(__always) package static var space: UInt8 { UInt8(ascii: " ") }
    @inlinable @inline(__always) package static var tab: UInt8 { UInt8(ascii: "\t") }
    @inlinable @inline(__always) package static var carriageReturn: UInt8 { UInt8(ascii: "\r") }
    @inlinable @inline(__always) package static var lineFeed: UInt8 { UInt8(ascii: "\n") }
    @inlinable @inline(__always) package static var colon: UInt8 { UInt8(ascii: ":") }

    /// Bytes of a field value (RFC 9110 section 5.5): visible characters, space, tab, and bytes above 127.
    @inlinable @inline(__always) package static func isFieldValue(_ byte: UInt8) -> Bool {
        (byte >= 0x20 && byte != 0x7F) || byte == tab
    }

    @inlinable @inline(__always) package static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == space || byte == tab
    }
}
