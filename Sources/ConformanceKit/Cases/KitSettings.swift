import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import SignIn

/// The settings that decide about a case, as the administrator has them.
package struct KitSettings: Sendable {
    let configuration: Configuration
    /// The mobile carriers, or another provider.
    let provider: Configuration.Provider
    let client: Configuration.Client
    /// What sends browsers to providers.
    let features: FeatureList

    private var clockSkew: Int64 { configuration.idToken.clockSkewSeconds }
    var isOfCarriers: Bool { provider.kind == .zenkey }
    var responseMode: AuthorizationResponseMode { provider.rules.responseMode }
    var dpop: ExtensionUse { provider.extensions.dpop }

    // The words of reports.

    /// The settings of the provider, as the documents name them.
    private var providerKey: String { isOfCarriers ? "zenkey" : "providers[]" }
    private var clientKey: String { "\(providerKey).clients[]" }

    func skew(over seconds: Int64) -> String? {
        clockSkew > seconds ? "id_token.clock_skew is \(clockSkew)" : nil
    }

    func age(over seconds: Int64) -> String? {
        let maximumAge = configuration.idToken.maximumAgeSeconds
        guard maximumAge + clockSkew >= seconds else { return nil }
        return "id_token.max_age_of_issue is \(maximumAge), and id_token.clock_skew \(clockSkew)"
    }

    func allows(_ algorithm: SigningAlgorithm) -> String? {
        guard client.signingAlgorithms.contains(algorithm) else { return nil }
        guard let registered = client.idTokenSigningAlgorithm else {
            let names = client.signingAlgorithms.map(\.rawValue).sorted().joined(separator: " and ")
            return "\(clientKey).id_token_signed_response_alg is not set, so \(names) are accepted"
        }
        return "\(clientKey).id_token_signed_response_alg is \(registered.rawValue)"
    }

    func allows(_ type: IDTokenType) -> String? {
        provider.idTokenTypes.contains(type) ? "\(providerKey).id_token_types has \(type.rawValue)" : nil
    }

    var withoutRedirectURIs: String? {
        client.redirectURIs.isEmpty ? "\(clientKey).redirect_uris is not set" : nil
    }
    var clientNonce: String? { client.nonce == .client ? "\(clientKey).nonce is client" : nil }
    var optionalChallenge: String? {
        client.requiresCodeChallenge ? nil : "\(clientKey).require_code_challenge is false"
    }
    var optionalIssuer: String? {
        guard provider.rules.requiresIssuer == nil else { return ignoredIssuer }
        return isOfCarriers
            ? "no setting: for carriers, the metadata alone tells whether iss must be there"
            : "\(providerKey).require_iss is not set"
    }
    var ignoredIssuer: String? {
        provider.rules.requiresIssuer == false ? "\(providerKey).require_iss is false" : nil
    }
    var optionalPKCE: String? {
        guard provider.rules.pkce != .off else { return "\(providerKey).pkce is off" }
        return client.pkce == .optional ? "\(clientKey).pkce is optional" : nil
    }
    var withoutNonce: String? { provider.rules.nonce == .off ? "\(providerKey).nonce is off" : nil }
    /// Whether nothing but `state` ties a response to its request.
    var dependsOnState: Bool { provider.rules.nonce == .off && provider.rules.pkce == .off }
    var stateAlone: String? { dependsOnState ? "\(providerKey).accept_state_alone is true" : nil }
    var withoutAppCodes: String? {
        dependsOnState ? "no code of an app's own request is accepted: pkce and nonce are off" : nil
    }
    var trustedAudience: String? {
        let key = client.trustedAudiences.isEmpty ? providerKey : clientKey
        let isTrusting = !(provider.rules.trustedAudiences + client.trustedAudiences).isEmpty
        return isTrusting ? "\(key).trusted_audiences lists such audiences" : nil
    }
    var anyTenant: String? {
        provider.rules.tenants.flatMap { $0.allowed == nil ? "\(providerKey).tenants is any" : nil }
    }

    private var ignoresUserInfo: Bool {
        !isOfCarriers && client.userInfoSigningAlgorithm == nil && client.userInfoDecryption == nil
    }
    var optionalUserInfo: String? {
        ignoresUserInfo ? "the ID token names the user, and the response is not used" : nil
    }
    var requiredUserInfo: String? { ignoresUserInfo ? nil : "the attributes are demanded of the userinfo endpoint" }

    /// Why no sign-in by redirects can be examined.
    var withoutRedirects: String? {
        guard !features.features.isEmpty else { return "this build of the program has no sign-ins by redirects" }
        return client.redirectURIs.isEmpty
            ? "the client has no redirect_uris, so no sign-in by redirects can start" : nil
    }

    var withoutSignedResponse: String? { responseMode.isSigned ? nil : "response_mode is not jwt" }
    var withSignedResponse: String? {
        responseMode.isSigned ? "response_mode is jwt: the signed response names the issuer" : nil
    }
}
