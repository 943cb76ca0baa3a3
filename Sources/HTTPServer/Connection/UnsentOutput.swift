/// The bytes of a connection that its socket has not taken. Content that others hold too is referenced.
struct UnsentOutput {
    private var pieces: [ResponseContent] = []
    /// Where the first piece continues.
    private var start = 0
    /// Bytes that no other object holds.
    private(set) var ownBytes = 0

    var isEmpty: Bool { pieces.isEmpty }

    mutating func add(_ bytes: [UInt8]) { add(ResponseContent(bytes)) }

    mutating func add(_ content: ResponseContent) {
        guard content.count > 0 else { return }
        if pieces.isEmpty { start = content.part.lowerBound }
        pieces.append(content)
        if content.owner == nil { ownBytes += content.bytes.count }
    }

    /// Passes the bytes to `send`, piece by piece, until it takes less than a piece.
    /// - Parameter send: Gets bytes, and whether others follow; returns how many it took, nil for a failure.
    /// - Returns: How many were taken; nil after a failure.
    mutating func send(_ send: (UnsafeRawBufferPointer, Bool) -> Int?) -> Int? {
        var total = 0
        var sent = 0
        while sent < pieces.count {
            let piece = pieces[sent]
            let hasMore = sent + 1 < pieces.count
            let taken = piece.bytes.withUnsafeBytes {
                send(UnsafeRawBufferPointer(rebasing: $0[start..<piece.part.upperBound]), hasMore)
            }
            guard let taken else { return nil }
            total += taken
            start += taken
            guard start == piece.part.upperBound else { break }
            if piece.owner == nil { ownBytes -= piece.bytes.count }
            sent += 1
            start = hasMore ? pieces[sent].part.lowerBound : 0
        }
        pieces.removeFirst(sent)
        return total
    }
}
