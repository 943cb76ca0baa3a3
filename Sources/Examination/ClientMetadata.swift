import ArgumentParser
import CommandLineSupport
package import LatchkeyConfiguration
package import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn

struct ClientMetadataCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "client-metadata",
        abstract: "Prints what to register for a client at its provider, as JSON.",
        discussion: """
            Prints the client metadata of OpenID Connect Dynamic Client Registration: redirect URIs, keys' address, \
            algorithms and logout addresses, as the configuration has them. Sends no request, and prints no secret.

            Exit status: 0 if the metadata was printed, 64 for wrong options, such as an unknown provider or client, \
            and without public_url; 78 for an invalid configuration.
            """)

    @Option(
        help: ArgumentHelp(
            "The provider's name in the configuration, or zenkey; required if there are several providers.",
            valueName: "name"))
    var provider: String?

    @Option(help: ArgumentHelp("The client; required if the provider has several clients.", valueName: "id"))
    var clientID: String?

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let loaded = try options.load(for: .serve)
        let json = try await reportingFailure(exitCode: 64) {
            try ClientMetadata.json(of: clientID, at: provider, in: loaded.configuration, features: .ofProgram)
        }
        print(json, terminator: "")
    }
}

/// What an administrator registers for a client at its provider: the client metadata of OpenID Connect Dynamic Client
/// Registration 1.0 section 2 and its extensions.
///
/// From the configuration alone, without a request and without secrets. A member is left out if the configuration does
/// not use it. A server at which no user signs in, such as a Telco Finder, is a provider, too.
package enum ClientMetadata {
    /// A JSON object with a line for each member.
    /// - Parameter name: The provider's name in the configuration. Nil if there is one provider.
    /// - Throws: `AdministratorError` if there is no such provider or client, or `public_url` is not set.
    package static func json(
        of clientID: String?, at name: String?, in configuration: Configuration, features: FeatureList
    ) throws(AdministratorError) -> String {
        let provider = try Self.provider(name, in: configuration)
        guard let publicURL = configuration.issuer else {
            throw AdministratorError("public_url is not set; set it, because all URLs of a registration begin with it")
        }
        let client = try Self.client(clientID, of: provider)
        guard provider.hasSignIns else { return json(clientCredentials(of: client, publicURL)) }
        let extensions = provider.extensions
        let path = "\(publicURL)/auth/\(provider.path)"
        let clientTypes = ClientType.allCases.filter { type in
            client.redirectURIs.contains { client.allows(type, at: $0) }
        }
        let callbacks = features.callbackPaths(at: provider.path, of: clientTypes, in: configuration)
        let hasIDTokens = provider.kind != .oauth2
        func flag(_ use: ExtensionUse) -> JSONValue? { hasIDTokens && use == .always ? true : nil }
        let general: Members = [
            ("client_id", .string(client.id.text)), ("application_type", "web"),
            ("redirect_uris", callbacks.isEmpty ? nil : .texts(callbacks.map { publicURL + $0 })),
            ("response_types", ["code"]),
            ("grant_types", .texts(provider.grantTypes)),
        ]
        let responses: Members = [
            text("id_token_signed_response_alg", hasIDTokens ? client.registeredAlgorithm : nil),
            text("id_token_encrypted_response_alg", client.idTokenDecryption?.key.algorithm),
            text("id_token_encrypted_response_enc", client.idTokenDecryption?.encryption),
            text("userinfo_signed_response_alg", client.userInfoSigningAlgorithm),
            text("userinfo_encrypted_response_alg", client.userInfoDecryption?.key.algorithm),
            text("userinfo_encrypted_response_enc", client.userInfoDecryption?.encryption),
            text(
                "request_object_signing_alg",
                hasIDTokens && extensions.signedRequestObjects != .never ? client.signingKey?.algorithm : nil),
            ("require_signed_request_object", flag(extensions.signedRequestObjects)),
            text(
                "authorization_signed_response_alg",
                provider.rules.responseMode.isSigned ? client.responseSigningAlgorithm : nil),
            ("require_pushed_authorization_requests", flag(extensions.pushedAuthorizationRequests)),
            ("dpop_bound_access_tokens", flag(extensions.dpop)),
            ("tls_client_certificate_bound_access_tokens", flag(extensions.mutualTLS)),
        ]
        return json(
            general + authentication(of: client, publicURL) + responses
                + features.features.flatMap { $0.clientMetadata(of: client, at: provider, path: path) })
    }

    private typealias Members = ClientMetadataMembers

    private static func text(
        _ name: String, _ value: (some RawRepresentable<String>)?
    ) -> (name: String, value: JSONValue?) { (name, value.map { .string($0.rawValue) }) }

    private static func authentication(of client: SignInConfiguration.Client, _ publicURL: String) -> Members {
        [
            ("token_endpoint_auth_method", .string(client.authentication.method.rawValue)),
            ("tls_client_auth_subject_dn", client.certificateSubject.map(JSONValue.string)),
            text("token_endpoint_auth_signing_alg", client.assertionAlgorithm),
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
        of client: SignInConfiguration.Client, _ publicURL: String
    ) -> Members {
        [
            ("client_id", .string(client.id.text)), ("response_types", []),
            ("grant_types", .texts([GrantType.clientCredentials.rawValue])),
            ("scope", .string(client.scopes.joined(separator: " "))),
        ] + authentication(of: client, publicURL)
    }

    private static func json(_ members: Members) -> String {
        let lines = members.compactMap { member in
            member.value.map { "  \(JSONValue.string(member.name).text): \($0.text)" }
        }
        return "{\n" + lines.joined(separator: ",\n") + "\n}\n"
    }

    private static func provider(
        _ name: String?, in configuration: Configuration
    ) throws(AdministratorError) -> Configuration.Provider {
        // Nothing is registered there by metadata.
        let servers = configuration.servers.filter { !$0.kind.takesProofs }
        let names = servers.map(\.id).joined(separator: ", ")
        if let name {
            guard let provider = servers.first(where: { $0.id == name }) else {
                throw AdministratorError("there is no provider \(name); name one of: \(names)")
            }
            return provider
        }
        guard let only = servers.first, servers.count == 1 else {
            throw AdministratorError(
                names.isEmpty
                    ? "the configuration has no provider"
                    : "there are several providers; name one with --provider: \(names)")
        }
        return only
    }

    private static func client(
        _ id: String?, of provider: Configuration.Provider
    ) throws(AdministratorError) -> Configuration.Client {
        let clients = provider.clients
        guard let id else {
            guard let only = clients.first, clients.count == 1 else {
                let ids = clients.map(\.id.text).joined(separator: ", ")
                throw AdministratorError("\(provider.id) has the clients \(ids); name one with --client-id")
            }
            return only
        }
        guard let client = clients.first(where: { $0.id.text.hasSameBytes(as: id) }) else {
            throw AdministratorError("\(provider.id) has no such client; name a configured one with --client-id")
        }
        return client
    }
}

extension Configuration.Provider {
    /// What the client asks tokens with: at a mobile operator also for itself, and with the token of an app.
    fileprivate var grantTypes: [String] {
        guard kind != .camara else {
            return [GrantType.authorizationCode, .clientCredentials, .jwtBearer, .backchannelAuthentication]
                .map(\.rawValue)
        }
        return ["authorization_code"] + (rules.storesTokens ? ["refresh_token"] : [])
            + (rules.backchannelTokenDelivery == .off ? [] : [GrantType.backchannelAuthentication.rawValue])
    }
}

extension Configuration.Client {
    /// What to register for ID tokens. Without a setting, what a registration without the member means (OpenID Connect
    /// Dynamic Client Registration section 2), or the usual algorithm of a profile that does not allow it.
    fileprivate var registeredAlgorithm: SigningAlgorithm {
        rules.idTokenSigningAlgorithm ?? (rules.usualSigningAlgorithms.contains(.rs256) ? .rs256 : .ps256)
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
