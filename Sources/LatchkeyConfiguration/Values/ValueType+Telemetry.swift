internal import OpenIDConnect

extension ValueType where Value == EndpointURL {
    /// The base URL of a telemetry receiver: https, or http to loopback, where a collector usually listens.
    static var receiverURL: ValueType<EndpointURL> {
        .scalar("an https URL, or an http URL on a loopback address", show: { $0.text }) {
            (text, _) throws(InvalidValueError) in
            let remedy = "give one such as http://127.0.0.1:4318 or https://otlp.example.com"
            guard let url = EndpointURL(text, policy: .allowLoopbackHTTP) else {
                throw InvalidValueError("is not the URL of a receiver on https, or on http on this machine", remedy)
            }
            guard !text.utf8.contains(UInt8(ascii: "?")) else { throw InvalidValueError("has a query", remedy) }
            return url
        }
    }
}

extension ValueType where Value == TelemetryHeader {
    static var telemetryHeader: ValueType<TelemetryHeader> {
        .scalar("a header field", show: { _ in "‹redacted›" }) { (text, _) throws(InvalidValueError) in
            guard let header = TelemetryHeader(text) else {
                throw InvalidValueError(
                    "is not a header field",
                    "write name=value, with commas, spaces and percent signs of the value percent-encoded")
            }
            return header
        }
    }
}

extension ValueType where Value == Double {
    /// A part of all, from 0 to 1.
    static var ratio: ValueType<Double> {
        .scalar(
            "a number from 0 to 1", schema: .ratio,
            show: shown
        ) { (text, _) throws(InvalidValueError) in
            let isNumber = (1...8).contains(text.utf8.count) && text.consists(of: "0123456789.")
            guard isNumber, let number = Double(text), (0...1).contains(number) else {
                throw InvalidValueError(
                    "is not a number from 0 to 1", "give one with at most six decimals, such as 0.05")
            }
            return number
        }
    }

    /// Without an exponent.
    private static func shown(_ number: Double) -> String {
        let millionths = Int((number * 1_000_000).rounded())
        guard millionths < 1_000_000 else { return "1" }
        let digits = String(1_000_000 + millionths).dropFirst()
        let decimals = String(digits.reversed().drop { $0 == "0" }.reversed())
        return decimals.isEmpty ? "0" : "0." + decimals
    }
}
