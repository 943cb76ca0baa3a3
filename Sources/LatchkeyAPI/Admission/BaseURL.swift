import HTTPTypes
import Primitives
import SignIn
import Synchronization

/// The URL at which browsers and providers reach this server: as configured, or, for a server on loopback only, the
/// bound address.
package final class BaseURL: Sendable {
    private let base: Mutex<String?>
    /// Whether it is https. A bound address is plain http.
    let isHTTPS: Bool

    /// - Parameter configured: An http or https URL; nil if there is none.
    package init(_ configured: String? = nil) {
        base = Mutex(configured.map(Self.withoutSlash))
        isHTTPS = configured?.hasPrefix("https://") ?? false
    }

    package func settle(_ url: String) { base.withLock { $0 = $0 ?? Self.withoutSlash(url) } }

    /// The URL without a slash at its end.
    package var url: String? { base.withLock { $0 } }

    /// Scheme, host and port of ``url``, as browsers write an origin.
    package var origin: String? { url.flatMap(AppRedirectURI.origin) }

    var host: String? { url.flatMap { EndpointURL($0, policy: .allowLoopbackHTTP)?.host } }

    /// The path of ``url``, below which a proxy serves this server; empty for the root.
    package var path: String {
        guard let url, let scheme = url.firstRange(of: "://"), let slash = url[scheme.upperBound...].firstIndex(of: "/")
        else { return "" }
        return String(url[slash...])
    }

    private static func withoutSlash(_ url: String) -> String {
        url.hasSuffix("/") ? String(url.dropLast()) : url
    }
}

extension LatchkeyAPI {
    /// The URL of this server, for what others are told.
    /// - Throws: `not_found` if it is not known.
    package func publicURL() throws(APIError) -> String {
        guard let url = baseURL.url else {
            throw APIError(
                .notFound, "not_found", .configurationError,
                "This server does not know its public URL. The administrator must set public_url.")
        }
        return url
    }
}
