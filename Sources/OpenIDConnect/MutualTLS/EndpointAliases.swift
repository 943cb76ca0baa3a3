package import Primitives

/// Where a provider takes requests with a client certificate instead of the usual endpoints: `mtls_endpoint_aliases`
/// (RFC 8705 section 5).
public struct EndpointAliases: Sendable, Hashable {
    /// The raw value is the name of the usual endpoint and of its alias.
    package enum Name: String, Sendable, CaseIterable {
        case token = "token_endpoint"
        case userInfo = "userinfo_endpoint"
        case pushedAuthorizationRequest = "pushed_authorization_request_endpoint"
        case backchannelAuthentication = "backchannel_authentication_endpoint"
    }

    package enum Alias: Sendable, Hashable {
        case endpoint(EndpointURL)
        /// Not acceptable. The usual endpoint need not ask for a certificate.
        case refused
    }

    /// A usual endpoint without an alias takes such requests itself.
    package internal(set) var aliases: [Name: Alias] = [:]

    /// The endpoints, which receive codes and tokens as the usual ones do.
    var endpoints: [EndpointURL] {
        Name.allCases.compactMap { name in
            guard case .endpoint(let url) = aliases[name] else { return nil }
            return url
        }
    }

    /// Of a provider without aliases.
    package static let none = EndpointAliases()
}

extension EndpointAliases {
    /// Only clients with a certificate need it, so a bad one does not keep other users from signing in.
    init(_ reader: MetadataReader) {
        guard let value = reader.document["mtls_endpoint_aliases"], !value.isNull else { return }
        for name in Name.allCases {
            do throws(OIDCError) {
                guard let object = value.object else { throw MetadataReader.refused(name.rawValue) }
                let reader = MetadataReader(document: object, requirements: reader.requirements)
                aliases[name] = try reader.optionalEndpoint(name.rawValue).map(Alias.endpoint)
            } catch {
                aliases[name] = .refused
            }
        }
    }

    /// Where a request goes.
    /// - Parameters:
    ///   - usual: Where it goes without a certificate.
    ///   - clientTLS: What it presents.
    /// - Throws: ``OIDCError/Code/metadataRefused``.
    func endpoint(
        _ name: Name, insteadOf usual: EndpointURL, presenting clientTLS: ClientTLS?
    ) throws(OIDCError) -> EndpointURL {
        guard clientTLS != nil, let alias = aliases[name] else { return usual }
        guard case .endpoint(let url) = alias else {
            throw MetadataReader.refused("mtls_endpoint_aliases.\(name.rawValue)")
        }
        return url
    }
}
