import Primitives

/// Where a provider takes requests with a client certificate instead of the usual endpoints: `mtls_endpoint_aliases`
/// (RFC 8705 section 5).
public struct EndpointAliases: Sendable, Hashable {
    /// An alias as far as it is known.
    enum Alias: Sendable, Hashable {
        /// There is none: the usual endpoint takes such requests.
        case none
        case endpoint(EndpointURL)
        /// There is one that is not acceptable. The usual endpoint need not ask for a certificate.
        case refused
    }

    var token = Alias.none
    var userInfo = Alias.none
    var pushedAuthorizationRequest = Alias.none
    var backchannelAuthentication = Alias.none

    /// The endpoints, which receive codes and tokens as the usual ones do.
    var endpoints: [EndpointURL] {
        [token, userInfo, pushedAuthorizationRequest, backchannelAuthentication].compactMap { alias in
            guard case .endpoint(let url) = alias else { return nil }
            return url
        }
    }

    /// Of a provider without aliases.
    static let none = EndpointAliases()
}

extension EndpointAliases {
    /// Only clients with a certificate need it, so a bad one does not keep other users from signing in.
    init(_ reader: MetadataReader) {
        switch reader.document["mtls_endpoint_aliases"] {
        case nil, .null: self = .none
        case .object(let aliases):
            let reader = MetadataReader(document: aliases, requirements: reader.requirements)
            token = Self.alias("token_endpoint", reader)
            userInfo = Self.alias("userinfo_endpoint", reader)
            pushedAuthorizationRequest = Self.alias("pushed_authorization_request_endpoint", reader)
            backchannelAuthentication = Self.alias("backchannel_authentication_endpoint", reader)
        default:
            (token, userInfo) = (.refused, .refused)
            (pushedAuthorizationRequest, backchannelAuthentication) = (.refused, .refused)
        }
    }

    private static func alias(_ name: StaticString, _ reader: MetadataReader) -> Alias {
        do throws(OIDCError) {
            return try reader.optionalEndpoint(name).map(Alias.endpoint) ?? .none
        } catch {
            return .refused
        }
    }
}

extension EndpointAliases.Alias {
    /// Where a request goes.
    /// - Parameters:
    ///   - name: The field of the alias.
    ///   - usual: Where it goes without a certificate.
    ///   - clientTLS: What it presents.
    /// - Throws: ``OIDCError/Code/metadataRefused``.
    func endpoint(
        _ name: StaticString, insteadOf usual: EndpointURL, presenting clientTLS: ClientTLS?
    ) throws(OIDCError) -> EndpointURL {
        guard clientTLS != nil else { return usual }
        switch self {
        case .none: return usual
        case .endpoint(let url): return url
        case .refused: throw MetadataReader.refused(name)
        }
    }
}
