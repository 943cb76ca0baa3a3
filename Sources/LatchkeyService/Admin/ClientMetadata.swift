import LatchkeyAPI
package import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn

/// What an operator registers for a client at its provider: the client metadata of OpenID Connect Dynamic Client
/// Registration 1.0 section 2 and its extensions.
///
/// From the configuration alone, without a request and without secrets. A member is left out if the configuration does
/// not use it. A Telco Finder is a provider, too, under the name ``ProviderReference/telcoFinder(of:)``.
package struct ClientMetadata: Sendable {
    private let members: Members

    /// The metadata of one client.
    /// - Parameters:
    ///   - name: The provider's name in the configuration. Nil if there is one provider.
    ///   - clientID: Nil if the provider has one client.
    /// - Throws: `OperatorFailure` if there is no such provider or client, or `public_url` is not set.
    package init(
        of clientID: String?, at name: String?, in configuration: Configuration
    ) throws(OperatorFailure) {
        let provider = if let name { name } else { try Self.onlyProvider(in: configuration) }
        guard let publicURL = BaseURL(configuration.publicURL?.text).url else {
            throw OperatorFailure("public_url is not set; set it, because all URLs of a registration begin with it")
        }
        if let finder = configuration.telcoFinders.first(where: {
            ProviderReference.telcoFinder(of: $0.key).text == provider
        })?.value {
            let client = try Self.client(clientID, among: [finder.client], of: provider)
            members = Self.clientCredentials(of: client, scopes: finder.finder.scopes, publicURL)
            return
        }
        let settings = try Settings(of: provider, in: configuration)
        let client = try Self.client(clientID, among: settings.clients, of: provider)
        let path = "\(publicURL)/auth/\(settings.path)"
        let hasIDTokens = settings.kind != .oauth2
        let general: Members = [
            ("client_id", .string(client.id.text)), ("application_type", "web"),
            (
                "redirect_uris",
                .texts([path + "/callback"] + Self.callbacks(of: client, provider, publicURL, configuration))
            ),
            ("response_types", ["code"]),
            ("grant_types", .texts(settings.grantTypes)),
        ]
        let responses: Members = [
            ("id_token_signed_response_alg", hasIDTokens ? .string(client.registeredAlgorithm.rawValue) : nil),
            (
                "id_token_encrypted_response_alg",
                client.idTokenDecryption.map { .string($0.key.algorithm.rawValue) }
            ), ("id_token_encrypted_response_enc", client.idTokenDecryption.map { .string($0.encryption.rawValue) }),
            ("userinfo_signed_response_alg", client.userInfoSigningAlgorithm.map { .string($0.rawValue) }),
            (
                "userinfo_encrypted_response_alg",
                client.userInfoDecryption.map { .string($0.key.algorithm.rawValue) }
            ), ("userinfo_encrypted_response_enc", client.userInfoDecryption.map { .string($0.encryption.rawValue) }),
            (
                "request_object_signing_alg",
                hasIDTokens && settings.signedRequestObjects != .never
                    ? client.signingKey.map { .string($0.algorithm.rawValue) } : nil
            ),
            ("require_signed_request_object", hasIDTokens && settings.signedRequestObjects == .always ? true : nil),
            (
                "authorization_signed_response_alg",
                settings.responseMode.isSigned ? .string(client.responseSigningAlgorithm.rawValue) : nil
            ),
            (
                "require_pushed_authorization_requests",
                hasIDTokens && settings.pushedAuthorizationRequests == .always ? true : nil
            ),
            ("dpop_bound_access_tokens", hasIDTokens && settings.dpop == .always ? true : nil),
            (
                "tls_client_certificate_bound_access_tokens",
                hasIDTokens && settings.mutualTLS == .always ? true : nil
            ),
        ]
        members =
            general + Self.authentication(of: client, publicURL) + responses
            + Self.backchannelAuthentication(of: client, settings, publicURL, provider)
            + Self.pages(of: client, settings, path)
    }

    private typealias Members = [(name: String, value: JSONValue?)]

    /// How a client authenticates, and where its keys are.
    private static func authentication(of client: SignInConfiguration.Client, _ publicURL: String) -> Members {
        [
            ("token_endpoint_auth_method", .string(client.authentication.method.rawValue)),
            ("tls_client_auth_subject_dn", client.certificateSubject.map(JSONValue.string)),
            ("token_endpoint_auth_signing_alg", client.assertionAlgorithm.map { .string($0.rawValue) }),
            (
                "jwks_uri",
                client.publishedKeys.isEmpty && client.decryptionKey == nil && client.publishedCertificate == nil
                    ? nil : .string("\(publicURL)/.well-known/jwks.json")
            ),
        ]
    }

    /// A client that gets tokens for itself only (RFC 6749 section 4.4): it has no redirect URI, and no response type
    /// in place of the usual `code` (RFC 7591 section 2).
    private static func clientCredentials(
        of client: SignInConfiguration.Client, scopes: [String], _ publicURL: String
    ) -> Members {
        [
            ("client_id", .string(client.id.text)), ("response_types", []),
            ("grant_types", .texts([GrantType.clientCredentials.rawValue])),
            ("scope", .string(scopes.joined(separator: " "))),
        ] + authentication(of: client, publicURL)
    }

    /// OpenID Connect CIBA Core section 4.
    private static func backchannelAuthentication(
        of client: SignInConfiguration.Client, _ settings: Settings, _ publicURL: String, _ provider: String
    ) -> Members {
        [
            ("backchannel_token_delivery_mode", settings.backchannelDelivery.mode.map { .string($0.rawValue) }),
            (
                "backchannel_client_notification_endpoint",
                settings.backchannelDelivery == .ping
                    ? .string(publicURL + BackchannelAuthentication.notificationPath(of: provider)) : nil
            ),
            (
                "backchannel_authentication_request_signing_alg",
                settings.signsBackchannelRequests ? client.signingKey.map { .string($0.algorithm.rawValue) } : nil
            ),
        ]
    }

    /// Where a provider begins a sign-in, and where it ends a session.
    private static func pages(
        of client: SignInConfiguration.Client, _ settings: Settings, _ path: String
    ) -> Members {
        [
            ("initiate_login_uri", settings.initiates(client.id) ? .string(path + "/initiate-login") : nil),
            ("backchannel_logout_uri", settings.endsSessions ? .string(path + "/backchannel-logout") : nil),
            // A logout token without a sid ends all sessions of its sub.
            ("backchannel_logout_session_required", settings.endsSessions ? false : nil),
            ("post_logout_redirect_uris", settings.kind == .oidc ? .texts([path + "/logged-out"]) : nil),
        ]
    }

    /// A JSON object with a line for each member.
    package var json: String {
        let lines = members.compactMap { member in
            member.value.map { "  \(JSONValue.string(member.name).text): \($0.text)" }
        }
        return "{\n" + lines.joined(separator: ",\n") + "\n}\n"
    }

    private static func onlyProvider(in configuration: Configuration) throws(OperatorFailure) -> String {
        let names = Settings.names(in: configuration)
        guard let only = names.first, names.count == 1 else {
            throw OperatorFailure(
                names.isEmpty
                    ? "the configuration has no provider"
                    : "there are several providers; name one with --provider: \(names.joined(separator: ", "))")
        }
        return only
    }

    private static func client(
        _ id: String?, among clients: [Configuration.Client], of provider: String
    ) throws(OperatorFailure) -> Configuration.Client {
        guard let id else {
            guard let only = clients.first, clients.count == 1 else {
                let ids = clients.map(\.id.text).joined(separator: ", ")
                throw OperatorFailure("\(provider) has the clients \(ids); name one with --client-id")
            }
            return only
        }
        guard let client = clients.first(where: { $0.id.text.hasSameBytes(as: id) }) else {
            throw OperatorFailure("\(provider) has no such client; name a configured one with --client-id")
        }
        return client
    }

    /// The callbacks of frontends made for Zephr, one for each kind of frontend that the client has.
    private static func callbacks(
        of client: Configuration.Client, _ provider: String, _ publicURL: String, _ configuration: Configuration
    ) -> [String] {
        guard configuration.compatibility.zephr else { return [] }
        let types = ClientType.allCases.filter { type in
            client.redirectURIs.contains { client.allows(type, at: $0) }
        }
        return ["/zephr", "/blaize"].flatMap { prefix in
            types.map { "\(publicURL)\(prefix)/oauth/\(provider)/\($0.rawValue)/callback" }
        }
    }
}

/// The settings of the carriers or of a provider that concern a registration.
private struct Settings {
    let kind: Configuration.Provider.Kind
    /// The name in paths.
    let path: String
    let clients: [Configuration.Client]
    var responseMode = AuthorizationResponseMode.query
    let pushedAuthorizationRequests: FeatureUse
    let signedRequestObjects: FeatureUse
    let dpop: FeatureUse
    let mutualTLS: FeatureUse
    var backchannelDelivery = BackchannelTokenDeliverySetting.off
    var signsBackchannelRequests = false
    var storesTokens = false
    var endsSessions = false
    private var loginInitiationClient: ClientID?

    init(of name: String, in configuration: Configuration) throws(OperatorFailure) {
        if let provider = configuration.providers.first(where: { $0.id == name }) {
            kind = provider.kind
            path = provider.path
            clients = provider.clients
            responseMode = provider.responseMode
            pushedAuthorizationRequests = provider.pushedAuthorizationRequests
            signedRequestObjects = provider.signedRequestObjects
            dpop = provider.dpop
            mutualTLS = provider.mutualTLS
            backchannelDelivery = provider.backchannelTokenDelivery
            signsBackchannelRequests =
                provider.backchannelTokenDelivery != .off
                && (provider.signedRequestObjects != .never || provider.profile != nil)
            storesTokens = provider.storesTokens
            endsSessions = provider.kind == .oidc && provider.backchannelLogout
            loginInitiationClient = provider.loginInitiationClient
        } else if configuration.zenkey.names.contains(name) {
            kind = .zenkey
            path = name
            clients = configuration.zenkey.clients
            pushedAuthorizationRequests = configuration.zenkey.pushedAuthorizationRequests
            signedRequestObjects = configuration.zenkey.signedRequestObjects
            dpop = configuration.zenkey.dpop
            mutualTLS = configuration.zenkey.mutualTLS
        } else {
            let names = Self.names(in: configuration).joined(separator: ", ")
            throw OperatorFailure("there is no provider \(name); name one of: \(names)")
        }
    }

    /// The names of all providers that have clients.
    static func names(in configuration: Configuration) -> [String] {
        let finders = configuration.telcoFinders.keys.map { ProviderReference.telcoFinder(of: $0).text }.sorted()
        return configuration.zenkey.names + configuration.providers.map(\.id) + finders
    }

    /// What the client asks tokens with: at a mobile operator also for itself, and with the token of an app.
    var grantTypes: [String] {
        guard kind != .camara else {
            return [GrantType.authorizationCode, .clientCredentials, .jwtBearer, .backchannelAuthentication]
                .map(\.rawValue)
        }
        return ["authorization_code"] + (storesTokens ? ["refresh_token"] : [])
            + (backchannelDelivery == .off ? [] : [GrantType.backchannelAuthentication.rawValue])
    }

    /// Whether a third party may initiate sign-ins of a client.
    func initiates(_ client: ClientID) -> Bool { loginInitiationClient == client }
}

extension Configuration.Client {
    /// What to register for ID tokens. Without a setting, what a registration without the member means (OpenID Connect
    /// Dynamic Client Registration section 2), or the usual algorithm of a profile that does not allow it.
    fileprivate var registeredAlgorithm: SigningAlgorithm {
        idTokenSigningAlgorithm ?? (usualSigningAlgorithms.contains(.rs256) ? .rs256 : .ps256)
    }

    /// Signs the client's assertions; nil if it authenticates in another way.
    fileprivate var assertionAlgorithm: SigningAlgorithm? {
        guard case .privateKeyJWT(let key, _) = authentication else { return nil }
        return key.algorithm
    }

    /// The name by which the provider knows the client's certificate (RFC 8705 section 2.1.2); nil if it does not
    /// authenticate so.
    fileprivate var certificateSubject: String? {
        guard case .tlsClientAuth(let clientTLS) = authentication else { return nil }
        return clientTLS.certificate.subject
    }
}
