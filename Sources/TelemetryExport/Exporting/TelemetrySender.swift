/// An export for the receiver.
package struct TelemetryRequest: Sendable {
    package enum Signal: String, Sendable, CaseIterable {
        case traces, metrics
    }

    package let signal: Signal
    /// JSON.
    package let body: [UInt8]
    /// For the whole exchange.
    package let timeout: Duration
}

/// Posts an export to the receiver. It does not throw: without a response the export is
/// ``ReceiverResponse/unavailable(retryAfter:reason:)``.
package typealias TelemetrySender = @Sendable (TelemetryRequest) async -> ReceiverResponse
