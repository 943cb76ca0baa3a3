import LatchkeyConfiguration
import OpenIDConnect
import Primitives

/// The difference between this machine's clock and the carriers', by the `Date` of their responses.
struct ClockExamination {
    private let allowedSeconds: Int64

    init(_ configuration: Configuration) {
        allowedSeconds = configuration.idToken.clockSkewSeconds
    }

    func findings(_ exchanges: [ExchangeRecorder.Exchange]) -> [DoctorReport.Finding] {
        let answered = exchanges.filter { $0.response != nil }
        return Set(answered.map(\.host)).sorted().map { host in
            let skews = answered.filter { $0.host == host }.compactMap(skew)
            // A cache may send an old Date: the smallest difference is the most reliable.
            guard let least = skews.min(by: { $0.magnitude < $1.magnitude }) else {
                return .warning(
                    .clock, host, "its responses have no Date, so the clocks cannot be compared",
                    fix: "check that NTP sets this machine's clock")
            }
            return finding(least, host)
        }
    }

    private func finding(_ skew: Int64, _ host: String) -> DoctorReport.Finding {
        let magnitude = Int64(clamping: skew.magnitude)
        guard magnitude > 1 else { return .ok(.clock, host, "agrees with this machine's clock") }
        let message = "is \(magnitude) s \(skew > 0 ? "ahead of" : "behind") this machine's clock"
        let fix = "set this machine's clock with NTP; if it is right, tell the carrier"
        if magnitude > allowedSeconds {
            let refused = "\(message), more than id_token.clock_skew allows (\(allowedSeconds) s)"
            return .problem(.clock, host, refused, fix: fix)
        }
        if magnitude > allowedSeconds / 2 { return .warning(.clock, host, message, fix: fix) }
        return .ok(.clock, host, message)
    }

    /// The least seconds by which the server is ahead; 0 if its time is between sending and receiving.
    private func skew(_ exchange: ExchangeRecorder.Exchange) -> Int64? {
        guard let text = exchange.response?.date, let date = UTCTime.moment(text, in: .http) else { return nil }
        if date > exchange.ended { return date.secondsSinceEpoch - exchange.ended.secondsSinceEpoch }
        if date < exchange.began { return date.secondsSinceEpoch - exchange.began.secondsSinceEpoch }
        return 0
    }
}
