/// Where a request stands in a trace that somebody else began (W3C Trace Context, Recommendation of 2021-11-23).
///
/// It is passed on with ``current``, and costs a request that came without one nothing.
public struct TraceContext: Sendable, Hashable {
    /// 32 hexadecimal digits, not all of them 0.
    public let traceID: String
    /// 16 hexadecimal digits, not all of them 0.
    public let spanID: String
    /// Of the flags, whether the trace is recorded by whoever began it. The others are none of this version's.
    public let isSampled: Bool

    /// The one of the request that is being answered; nil if it came without.
    @TaskLocal public static var current: TraceContext?

    /// Reads a `traceparent` field strictly (section 3.2): in version 00 there is nothing behind the flags, in a later one
    /// whatever that version has after a hyphen. Version ff, ids of zeros alone, and digits in upper case are invalid.
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

    private init(traceID: String, spanID: String, isSampled: Bool) {
        self.traceID = traceID
        self.spanID = spanID
        self.isSampled = isSampled
    }

    /// A new span below this one.
    public func child(_ random: RandomSource = .system) -> TraceContext {
        var bytes = random.bytes(8)
        // All zeros are no id.
        if bytes.allSatisfy({ $0 == 0 }), !bytes.isEmpty { bytes[0] = 1 }
        let span = bytes.reduce(into: "") { $0 += ($1 < 16 ? "0" : "") + String($1, radix: 16) }
        return TraceContext(traceID: traceID, spanID: span, isSampled: isSampled)
    }

    /// As a `traceparent` field has it.
    public var traceparent: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }

    private static func hexadecimal(_ bytes: ArraySlice<UInt8>) -> String? {
        let areDigits = bytes.allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
        return areDigits ? String(decoding: bytes, as: UTF8.self) : nil
    }
}
