import HTTPServer
import HTTPTypes

extension CarrierSite {
    /// Applies the faults in which an endpoint does not look at the request: waits if the endpoint is slow, then
    /// returns the response that replaces the right one, if there is one.
    /// - Parameter prefix: What the names of the endpoint's faults begin with.
    func replacement(
        _ prefix: String, redirectStatus: HTTPResponse.Status, pause: CarrierSimulator.Pause
    ) async throws -> Response? {
        func has(_ defect: String) -> Bool { CarrierSimulator.Fault(rawValue: prefix + defect).map(self.has) ?? false }
        if has("slow") { try await pause(carrier.delay) }
        if has("500") { return .brokenPage(.internalServerError) }
        if has("not-json") { return .brokenPage(.ok) }
        if has("redirect") { return .redirect(to: canary("redirect"), status: redirectStatus) }
        return nil
    }
}
