import Logging
import OpenIDConnect
import Primitives

/// Logs each outbound request with its duration, at `verbose`. No path and no query is logged.
struct LoggedClient: HTTPClient {
    let client: any HTTPClient
    let logger: Logger

    func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        guard logger.logLevel <= .debug else { return try await client.send(request) }
        let stopwatch = Stopwatch()
        do throws(OutboundError) {
            let response = try await client.send(request)
            write(request, stopwatch, "status", .stringConvertible(response.status))
            return response
        } catch {
            write(request, stopwatch, "transport", "\(error.fault)")
            throw error
        }
    }

    private func write(
        _ request: OutboundRequest, _ stopwatch: Stopwatch, _ name: String, _ outcome: Logger.MetadataValue
    ) {
        var metadata: Logger.Metadata = [
            "method": "\(request.method.rawValue)", "host": "\(request.url.authority)", name: outcome,
            "ms": .stringConvertible(Stopwatch.milliseconds(stopwatch.nanoseconds)),
        ]
        if let destination = request.destination { metadata["step"] = "\(destination.step.name)" }
        if let correlationID = request.correlationID { metadata["correlation_id"] = "\(correlationID)" }
        logger.debug("outbound request", metadata: metadata)
    }
}
