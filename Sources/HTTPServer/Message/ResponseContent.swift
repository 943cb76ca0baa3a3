/// The content of a response.
struct ResponseContent: Sendable {
    let bytes: [UInt8]
    /// The bytes to send.
    let part: Range<Int>
    /// Holds the bytes for other responses, too; nil if they are of this response only.
    let owner: (any AnyObject & Sendable)?

    init(_ bytes: [UInt8], part: Range<Int>? = nil, owner: (any AnyObject & Sendable)? = nil) {
        self.bytes = bytes
        self.part = part?.clamped(to: bytes.indices) ?? bytes.indices
        self.owner = owner
    }

    var count: Int { part.count }

    var array: [UInt8] { part.count == bytes.count ? bytes : Array(bytes[part]) }
}
