/// The position of a request in a distributed trace (W3C Trace Context, Recommendation of 2021-11-23).
///
/// ``current`` carries it along. A request without a trace pays nothing.
public struct TraceContext: Sendable, Hashable {
    /// 32 hexadecimal digits, not all of them 0.
    public let traceID: String
    /// 16 hexadecimal digits, not all of them 0.
    public let spanID: String
    /// The `sampled` flag: the caller may have recorded the trace. Version 00 has no other flag.
    public let isSampled: Bool

    /// The trace of the request being handled; nil if it has none.
    @TaskLocal public static var current: TraceContext?
}

extension TraceContext {
    /// Reads a `traceparent` field strictly (section 3.2). In version 00 nothing follows the flags; in a later one,
    /// anything after a hyphen. Version ff, ids of only zeros, and upper-case digits are invalid.
    public init?(traceparent text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 55, [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
            let version = Self.hexadecimal(bytes[0..<2]), let trace = Self.hexadecimal(bytes[3..<35]),
            let span = Self.hexadecimal(bytes[36..<52]), Self.hexadecimal(bytes[53..<55]) != nil
        else { return nil }
        guard version != "ff", trace.contains(where: { $0 != "0" }), span.contains(where: { $0 != "0" }) else {
            return nil
        }
        if bytes.count > 55 {
            guard version != "00", bytes[55] == UInt8(ascii: "-") else { return nil }
        }
        traceID = trace
        spanID = span
        // The lowest bit of the last digit.
        isSampled = "13579bdf".utf8.contains(bytes[54])
    }

    /// The first span of a new trace.
    /// - Parameter isSampled: Decides by the 16 bytes of the trace id whether the trace is recorded.
    public static func root(_ random: RandomSource = .system, isSampled: ([UInt8]) -> Bool) -> TraceContext {
        let trace = id(of: 16, random)
        return TraceContext(
            traceID: trace.hexadecimal, spanID: id(of: 8, random).hexadecimal, isSampled: isSampled(trace))
    }

    /// A new child span.
    public func child(_ random: RandomSource = .system) -> TraceContext {
        TraceContext(traceID: traceID, spanID: Self.id(of: 8, random).hexadecimal, isSampled: isSampled)
    }

    private static func id(of count: Int, _ random: RandomSource) -> [UInt8] {
        var bytes = random.bytes(count)
        // An id of only zeros is invalid.
        if bytes.allSatisfy({ $0 == 0 }), !bytes.isEmpty { bytes[0] = 1 }
        return bytes
    }

    /// The value of a `traceparent` field.
    public var traceparent: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }

    private static func hexadecimal(_ bytes: ArraySlice<UInt8>) -> String? {
        let areDigits = bytes.allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
        return areDigits ? String(decoding: bytes, as: UTF8.self) : nil
    }
}
