package import Primitives

/// The pages for operators and their monitoring only.
package struct OperatorPages: Sendable {
    /// The current metrics in the Prometheus text format; nil for none.
    package var metrics: (@Sendable () async -> [UInt8])?
    /// Whether the metrics are also served beside the API.
    package var servesMetricsHere = true
    /// The addresses that may read the metrics there.
    package var allowedAddresses = ["127.0.0.0/8", "::1"].compactMap(IPAddressRange.init)

    /// The current status; nil for no status page.
    package var status: (@Sendable () async -> ServiceStatus)?
    /// The capsule of a failure in the status; nil if there is none. Nil if capsules are not shown.
    package var capsule: (@Sendable (_ failure: String) async throws -> ShownCapsule?)?
    /// The pause between two events of the status page.
    package var statusPause = Duration.seconds(2)

    /// Loopback only, and no pages.
    package init() {}
}

/// A capsule for programs, and its lines for people.
package struct ShownCapsule: Sendable {
    package let json: JSONValue
    package let lines: [String]

    package init(json: JSONValue, lines: [String]) {
        self.json = json
        self.lines = lines
    }
}
