import Primitives
import Synchronization

/// Makes a short id for each request: six characters of this process, a hyphen, and a count in base 36.
///
/// Up to fifteen bytes, which a `String` holds without an allocation.
final class RequestIDs: Sendable {
    private static let alphabet = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)

    private let process: [UInt8]
    private let count = Atomic<UInt64>(0)

    init(random: RandomSource) {
        process = random.bytes(6).map { Self.alphabet[Int($0) % Self.alphabet.count] }
    }

    func next() -> String {
        var number = count.wrappingAdd(1, ordering: .relaxed).newValue
        var digits: [8 of UInt8] = .init(repeating: 0)
        var start = 8
        while start > 0, number > 0 || start == 8 {
            start -= 1
            digits[start] = Self.alphabet[Int(number % 36)]
            number /= 36
        }
        return String(unsafeUninitializedCapacity: 15) { buffer in
            var written = 0
            for byte in process.prefix(6) {
                buffer[written] = byte
                written += 1
            }
            buffer[written] = UInt8(ascii: "-")
            written += 1
            for index in start..<8 {
                buffer[written] = digits[index]
                written += 1
            }
            return written
        }
    }
}
