import CLatchkeyOpenSSL
import HTTPCore
import Primitives
import Synchronization

/// What the pools of a client share.
final class ClientContext: Sendable {
    let configuration: OutboundHTTPConfiguration
    let limits: HostLimits
    let resolver: Resolver
    private let tls: TLSContext
    /// The contexts that present a certificate, by its identifier.
    private let presenting = Mutex<[String: TLSContext]>([:])
    /// Replaced certificates remain until there are more.
    private static let maximumContexts = 256
    let proxy: ProxyURL?
    let writer: RequestWriter

    init(_ configuration: OutboundHTTPConfiguration, resolver: Resolver) throws(OutboundHTTPStartError) {
        try configuration.check()
        self.configuration = configuration
        self.resolver = resolver
        proxy = try configuration.proxy.map { text throws(OutboundHTTPStartError) in
            try mappingErrors(try ProxyURL(text)) { (error: ProxyURL.Fault) in
                OutboundHTTPStartError(.configuration, "the proxy \(error.rawValue)")
            }
        }
        tls = try TLSContext(
            trusting: configuration.caBundle, and: configuration.additionalCABundle,
            system: configuration.systemAuthorities)
        limits = HostLimits(configuration)
        writer = RequestWriter(userAgent: configuration.userAgent, proxyAuthorization: proxy?.authorization)
    }

    /// The context of a session that presents a certificate, or nothing.
    func context(presenting certificate: TLSClientCertificate?) throws(TLSError) -> TLSContext {
        guard let certificate else { return tls }
        if let known = presenting.withLock({ $0[certificate.identifier] }) { return known }
        let made = try TLSContext(
            presenting: certificate.chain, privateKey: certificate.privateKey, trustingAs: tls)
        presenting.withLock { contexts in
            if contexts.count >= Self.maximumContexts { contexts.removeAll() }
            contexts[certificate.identifier] = made
        }
        return made
    }
}

extension TLSContext {
    /// - Parameters:
    ///   - caBundle: The path of the only authorities to trust; nil for the system's.
    ///   - additional: The path of more authorities to trust; nil for none.
    ///   - system: Where the system has its authorities; nil for OpenSSL's own places.
    convenience init(
        trusting caBundle: String?, and additional: String?,
        system: OutboundHTTPConfiguration.SystemAuthorities?
    ) throws(OutboundHTTPStartError) {
        do throws(TLSError) {
            try self.init { fault, reason in
                copenssl_client_context_make(
                    caBundle, additional, system?.directory, system?.bundle, &fault, &reason)
            }
        } catch {
            let text = error.detail.isEmpty ? "" : ": " + error.detail
            guard error.code == .authoritiesUnreadable else {
                throw OutboundHTTPStartError(.library, "OpenSSL did not make a context\(text)")
            }
            let paths = [caBundle, additional].compactMap(\.self).joined(separator: ", ")
            throw OutboundHTTPStartError(.caBundle, paths + text)
        }
    }
}
