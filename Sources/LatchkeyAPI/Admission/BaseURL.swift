import SignIn
import Synchronization

/// Where browsers and carriers reach this server: as configured, or, for a server that only this machine reaches, the
/// address it was bound to.
public final class BaseURL: Sendable {
    private let base: Mutex<String?>
    /// Whether browsers reach it by https; what it settles to is plain http.
    let isHTTPS: Bool

    /// - Parameter configured: An http or https URL; nil if there is none.
    public init(_ configured: String? = nil) {
        base = Mutex(configured.map(Self.withoutSlash))
        isHTTPS = configured?.hasPrefix("https://") ?? false
    }

    /// Takes an address where none is configured.
    public func settle(_ url: String) {
        base.withLock { $0 = $0 ?? Self.withoutSlash(url) }
    }

    /// The URL without a slash at its end.
    var url: String? { base.withLock { $0 } }

    /// Scheme, host and port of ``url``, as browsers write an origin.
    public var origin: String? { url.flatMap(AppRedirectURI.origin) }

    /// The path of ``url``, below which a proxy has this server; empty if that is the root.
    var path: String {
        guard let url, let scheme = url.firstRange(of: "://"), let slash = url[scheme.upperBound...].firstIndex(of: "/")
        else {
            return ""
        }
        return String(url[slash...])
    }

    private static func withoutSlash(_ url: String) -> String {
        url.hasSuffix("/") ? String(url.dropLast()) : url
    }
}
