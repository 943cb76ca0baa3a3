public import Primitives

/// What is told to operators and their monitoring, and to nobody else.
public struct OperatorPages: Sendable {
    /// The metrics as they are now, in Prometheus' text format; nil where there are none.
    public var metrics: (@Sendable () async -> [UInt8])?
    /// Whether they are to be had where the API is, too, and not on an address of their own alone.
    public var servesMetricsHere = true
    /// Who may have them there, by address.
    public var allowedAddresses = ["127.0.0.0/8", "::1"].compactMap(IPAddressRange.init)

    /// How things stand, for the status page; nil where nobody tells.
    public var status: (@Sendable () async -> ServiceStatus)?
    /// How long it is from one look at that to the next.
    public var statusPause = Duration.seconds(2)

    public init() {}
}
