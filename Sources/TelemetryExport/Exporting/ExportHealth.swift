/// Whether the exports of a signal work, so that the log says once that they fail and once that they work again.
struct ExportHealth: Sendable {
    enum Change: Sendable, Hashable {
        case fails(reason: String)
        case works
    }

    let signal: TelemetryRequest.Signal
    private var isFailing = false

    init(signal: TelemetryRequest.Signal) { self.signal = signal }

    mutating func change(after response: ReceiverResponse) -> Change? {
        switch response {
        case .accepted:
            defer { isFailing = false }
            return isFailing ? .works : nil
        case .refused(let reason), .unavailable(_, let reason):
            defer { isFailing = true }
            return isFailing ? nil : .fails(reason: reason)
        }
    }
}
