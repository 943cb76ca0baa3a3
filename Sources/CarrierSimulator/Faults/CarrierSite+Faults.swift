import HTTPServer
import HTTPTypes

extension CarrierSite {
    /// The faults in which an endpoint answers without looking at the request.
    struct EndpointFaults {
        var slow: CarrierSimulator.Fault
        var error: CarrierSimulator.Fault
        var notJSON: CarrierSimulator.Fault
        var redirect: CarrierSimulator.Fault
        /// 307 makes a client that follows send its form again; 302 does for GET.
        var redirectStatus: HTTPResponse.Status = .found

        static let token = EndpointFaults(
            slow: .tokenSlow, error: .token500, notJSON: .tokenNotJSON, redirect: .tokenRedirect,
            redirectStatus: .temporaryRedirect)
        static let serverInitiated = EndpointFaults(
            slow: .backchannelSlow, error: .serverInitiated500, notJSON: .backchannelNotJSON,
            redirect: .backchannelRedirect, redirectStatus: .temporaryRedirect)
        static let userInfo = EndpointFaults(
            slow: .userInfoSlow, error: .userInfo500, notJSON: .userInfoNotJSON, redirect: .userInfoRedirect)
        static let discovery = EndpointFaults(
            slow: .discoverySlow, error: .discovery500, notJSON: .discoveryNotJSON, redirect: .discoveryRedirect)
        static let resource = EndpointFaults(
            slow: .resourceSlow, error: .resource500, notJSON: .resourceNotJSON, redirect: .resourceRedirect)
        static let keys = EndpointFaults(
            slow: .keysSlow, error: .keys500, notJSON: .keysNotJSON, redirect: .keysRedirect)
    }

    /// Waits where the carrier is to be slow; then the answer that takes the place of the right one, if there is one.
    func disturb(_ faults: EndpointFaults, pause: CarrierSimulator.Pause) async throws -> Response? {
        if has(faults.slow) { try await pause(carrier.delay) }
        if has(faults.error) { return .brokenPage(.internalServerError) }
        if has(faults.notJSON) { return .brokenPage(.ok) }
        if has(faults.redirect) { return .redirect(to: canary("redirect"), status: faults.redirectStatus) }
        return nil
    }
}
