package import HTTPServer
import HTTPTypes
import Primitives
import SignIn

/// The administrators' pages: for this machine, and for administrators' API keys.
extension LatchkeyAPI {
    /// Admits administrators: directly from this machine, or with an administrator's API key.
    /// - Throws: 404 for others; 401 or 403 for an API key that is not an administrator's.
    package func admitAdministrator(_ request: Request) async throws {
        if request.headers.count(of: .apiKey) > 0 {
            guard try await admit(request).isAdministrator else { throw APIError.notForAdministrators }
        } else {
            // Against DNS rebinding: another site's name could resolve to this machine.
            guard rates.proxies.admit(request, from: IPAddressRange.loopback), Self.isNamedLocally(request),
                !Self.isOfAnotherSite(request)
            else { throw APIError.nothingThere }
        }
    }

    /// Whether a browser reports a page of another origin, even one that the API allows.
    private static func isOfAnotherSite(_ request: Request) -> Bool {
        // A browser sends each once. The first of several is not the whole value.
        guard request.headers.count(of: .secFetchSite) <= 1, request.headers.count(of: .origin) <= 1 else {
            return true
        }
        if let site = request.headers[.secFetchSite], site != "same-origin", site != "none" { return true }
        guard let origin = request.headers[.origin] else { return false }
        let host = request.headers[.host] ?? ""
        return origin != "http://\(host)" && origin != "https://\(host)"
    }

    /// Whether the Host field is a loopback name or address.
    private static func isNamedLocally(_ request: Request) -> Bool {
        guard let host = request.headers[.host] else { return false }
        let name = host.hasPrefix("[") ? host.dropFirst().prefix { $0 != "]" } : host.prefix { $0 != ":" }
        return name.lowercased() == "localhost" || IPAddress(String(name))?.isLoopback == true
    }
}

extension APIError {
    static let notForAdministrators = APIError(
        .forbidden, "unauthorized_client", .configurationError,
        "This API key is not an administrator's. The administrator must give it operator: true in the configuration.")
}
