/// The bytes of a request's body, at an address that holds until the exchange is over.
struct RequestContent: ~Copyable {
    private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 512, alignment: 1)
    private var count = 0

    deinit {
        buffer.deallocate()
    }

    mutating func hold(_ body: [UInt8]) -> UnsafeMutableRawPointer? {
        if body.count > buffer.count {
            buffer.deallocate()
            buffer = .allocate(byteCount: body.count, alignment: 1)
        }
        buffer.copyBytes(from: body)
        count = body.count
        return buffer.baseAddress
    }

    /// Codes and client secrets do not stay behind in a buffer that nobody needs; nor does a large buffer.
    mutating func erase() {
        UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]).initializeMemory(as: UInt8.self, repeating: 0)
        count = 0
        guard buffer.count > 16 * 1024 else { return }
        buffer.deallocate()
        buffer = .allocate(byteCount: 512, alignment: 1)
    }
}
