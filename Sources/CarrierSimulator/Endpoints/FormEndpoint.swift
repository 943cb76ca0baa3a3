import HTTPServer
import Primitives

/// What endpoints share that take the form of an authenticated client.
extension CarrierSimulator {
    /// Serves such an endpoint, as ``serve(_:_:faults:content:_:)``.
    /// - Throws: `invalid_request` as a response, if the content is no form.
    func serveForm(
        _ endpoint: RequestLog.Endpoint, _ request: Request, faults prefix: String,
        _ respond: (CarrierSite, Parameters) async throws -> Response
    ) async throws -> Response {
        let form = Result { () throws(Refusal) in try TokenEndpoint.form(of: request) }
        return try await serve(endpoint, request, faults: prefix, content: try? form.get()) { site in
            try await respond(site, try form.get())
        }
    }
}

extension Parameters {
    /// - Throws: `invalid_request` if a name occurs more than once (RFC 6749 section 3.1).
    func requireUniqueNames() throws(CarrierSimulator.Refusal) {
        guard !hasRepeatedName else { throw .invalidRequest("A parameter occurs more than once.") }
    }
}
