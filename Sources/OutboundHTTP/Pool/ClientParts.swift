import HTTPCore
import OpenIDConnect

/// What the pools of a client share.
final class ClientParts: Sendable {
    let configuration: OutboundHTTPConfiguration
    let limits: HostLimits
    let resolver: Resolver
    let tls: TLSContext
    let proxy: ProxyURL?
    let writer: RequestWriter

    init(_ configuration: OutboundHTTPConfiguration, resolver: Resolver) throws(OutboundHTTPStartError) {
        try configuration.check()
        self.configuration = configuration
        self.resolver = resolver
        proxy = try configuration.proxy.map { text throws(OutboundHTTPStartError) in
            do throws(ProxyURL.Fault) {
                return try ProxyURL(text)
            } catch {
                throw OutboundHTTPStartError(.configuration, "the proxy \(error.rawValue)")
            }
        }
        tls = try TLSContext(trusting: configuration.caBundle)
        limits = HostLimits(configuration)
        writer = RequestWriter(userAgent: configuration.userAgent, proxyAuthorization: proxy?.authorization)
    }
}
