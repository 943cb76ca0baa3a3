import OpenIDConnect
package import Primitives

/// A provider of sign-ins, as everything that signs in knows it.
///
/// A class, because each sign-in passes it on.
package final class Provider: Sendable {
    /// The protocol, with what only providers of this protocol have.
    package enum Kind: Sendable {
        /// Mobile carriers, each found by the discovery service from its `mccmnc`.
        case carriers(Carriers, AuthorizationServer)
        /// An OpenID provider, found by its issuer (OpenID Connect Discovery section 4).
        case openID(AuthorizationServer)
        /// An OAuth 2.0 provider without ID tokens. Its user endpoint identifies the user.
        case oauth2(AuthorizationServer)
        /// Several, of a kind that a feature brings.
        case group(any ServerGroup)
    }

    /// The name in paths, such as `zenkey`.
    package let name: String
    /// The name that users see.
    package let title: String
    package let kind: Kind

    package init(name: String, title: String, kind: Kind) {
        self.name = name
        self.title = title
        self.kind = kind
    }

    /// What only carriers have.
    package struct Carriers: Sendable {
        /// The page where users choose their carrier. Clients with an unknown network get its URL.
        package var discoveryUI: EndpointURL?
        /// The authorization endpoint that finds the user's carrier itself, and names it in the response (optimized
        /// discovery). Nil if the carrier is found before the request.
        package var authorizationURL: EndpointURL?

        /// Without either, only clients that name the network sign in.
        package init(discoveryUI: EndpointURL? = nil, authorizationURL: EndpointURL? = nil) {
            self.discoveryUI = discoveryUI
            self.authorizationURL = authorizationURL
        }
    }
}

/// The name of a kind of provider in the API and in the configuration.
public enum ProviderKind: String, Sendable, Hashable, CaseIterable {
    /// Mobile carriers behind ZenKey's discovery.
    case zenkey
    /// An OpenID provider.
    case oidc
    /// An OAuth 2.0 provider without ID tokens.
    case oauth2
    /// Mobile operators with CAMARA's APIs.
    case camara
}

extension Provider {
    /// The kind, by its name in the API.
    package var kindName: ProviderKind {
        switch kind {
        case .carriers: .zenkey
        case .openID: .oidc
        case .oauth2: .oauth2
        case .group(let group): group.kind
        }
    }

    /// The one that signs users in; nil for a group, which has several.
    package var server: AuthorizationServer? {
        switch kind {
        case .carriers(_, let server), .openID(let server), .oauth2(let server): server
        case .group: nil
        }
    }

    /// Those that sign users in.
    var servers: [AuthorizationServer] { server.map { [$0] } ?? group.map { Array($0.servers.values) } ?? [] }

    /// What only carriers have; nil for other kinds.
    package var carriers: Carriers? {
        guard case .carriers(let carriers, _) = kind else { return nil }
        return carriers
    }

    /// The rules of an OpenID provider; nil for other kinds.
    package var openID: ServerRules? {
        guard case .openID(let server) = kind else { return nil }
        return server.rules
    }

    /// The group of servers; nil for one server.
    package var group: (any ServerGroup)? {
        guard case .group(let group) = kind else { return nil }
        return group
    }

    /// Whether users sign in there by backchannel authentication alone: no client has a redirect URI to which a browser
    /// could come back.
    package var usesBackchannelOnly: Bool {
        openID?.backchannelTokenDelivery.mode != nil && allClients.allSatisfy(\.redirectURIs.isEmpty)
    }

    /// The clients of all servers.
    package var allClients: [SignInConfiguration.Client] { servers.flatMap(\.clients.values) }
}
