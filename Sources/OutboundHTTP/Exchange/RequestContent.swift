/// The bytes of a request's body, at an address that is valid until the exchange ends.
struct RequestContent: ~Copyable {
    private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 512, alignment: 1)
    private var count = 0

    deinit { buffer.deallocate() }

    mutating func hold(_ body: [UInt8]) -> UnsafeMutableRawPointer? {
        if body.count > buffer.count {
            buffer.deallocate()
            buffer = .allocate(byteCount: body.count, alignment: 1)
        }
        buffer.copyBytes(from: body)
        count = body.count
        return buffer.baseAddress
    }

    /// Overwrites the bytes, because they may be codes and client secrets, and frees a large buffer.
    mutating func erase() {
        UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]).initializeMemory(as: UInt8.self, repeating: 0)
        count = 0
        guard buffer.count > 16 * 1024 else { return }
        buffer.deallocate()
        buffer = .allocate(byteCount: 512, alignment: 1)
    }
}
