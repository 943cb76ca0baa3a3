import HTTPCore

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
            guard let proxy = ProxyURL(text) else {
                throw OutboundHTTPStartError(.configuration, "the proxy is not an http URL of a host and port")
            }
            return proxy
        }
        tls = try TLSContext(trusting: configuration.caBundle)
        limits = HostLimits(configuration)
        writer = RequestWriter(userAgent: configuration.userAgent, proxyAuthorization: proxy?.authorization)
    }
}
