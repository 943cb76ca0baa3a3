package import HTTPServer
import HTTPTypes
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
import OpenIDConnect
import Primitives
package import SignIn

/// `compat.zephr`
package struct ZephrSettings: FeatureSettings {
    package var isEnabled = false

    package init() {}

    package static let settings = [
        Setting(
            "compat.zephr", .flag(), \ZephrSettings.isEnabled,
            "Adds the paths of Zephr's OAuth sign-in below /zephr and /blaize.")
    ]
}

/// The paths of Zephr's OAuth sign-in, for frontends that were made for it (docs/web-frontends.md), by the code of our
/// own paths.
package struct ZephrFeature: Feature {
    private static let prefixes = ["/zephr", "/blaize"]

    package init() {}

    package init?(_ settings: ZephrSettings, in context: FeatureContext) {
        guard settings.isEnabled else { return nil }
    }

    package static let startPaths = prefixes.map { $0 + "/oauth/{provider}" }

    package static func callbackPaths(
        at provider: String, of clientTypes: [ClientType], in configuration: Configuration
    ) -> [String] {
        guard configuration[ZephrSettings.self].isEnabled else { return [] }
        return prefixes.flatMap { prefix in clientTypes.map { callbackPath(below: prefix, provider, $0.rawValue) } }
    }

    private static func callbackPath(below prefix: String, _ provider: String, _ clientType: String) -> String {
        "\(prefix)/oauth/\(provider)/\(clientType)/callback"
    }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        for prefix in Self.prefixes {
            if let redirects = api.redirects {
                router.get(
                    prefix + "/oauth/{provider}",
                    api.starting { try await Self.start(by: redirects, $0, $1, below: prefix) })
                redirects.addCallback(
                    Self.callbackPath(below: prefix, "{provider}", "{client_type}"), to: &router)
            }
            if let registrar = api.useCases.completion.registrar {
                router.post(prefix + "/register") { request in
                    // The body has its own credential, a handle that works once. A key that is sent counts.
                    try api.countSignIn(of: request)
                    return try await Self.register(
                        with: registrar, api, request, try await api.admitIfNamed(request))
                }
            }
        }
    }

    /// A frontend without a `redirect_uri` gets the registered one of its kind.
    private static func start(
        by redirects: any BrowserRedirects, _ api: LatchkeyAPI, _ request: Request, below prefix: String
    ) async throws -> Response {
        let provider = request.provider
        let server = try api.useCases.providers.find(withoutOperators: provider).server
        return try await redirects.start(
            request, sessionIDIsSession: true,
            callback: { callbackPath(below: prefix, provider, $0.rawValue) },
            fallback: { server.client($0)?.usualRedirectURI(of: $1) })
    }

    /// The four results that these frontends know: 201 with the session, 400, 403 for the domain of an e-mail address,
    /// and 409 for an identity or a verified e-mail address that has an account.
    private static func register(
        with registrar: any Registrar, _ api: LatchkeyAPI, _ request: Request, _ admission: Admission?
    ) async throws -> Response {
        var form = try RegistrationForm(zephr: BodyFields(request, from: admission))
        form.device = DeviceName.of(request)
        form.clients = admission?.clients
        form.refusesVerifiedEmail = true
        do throws(SignInError) {
            let signedIn = try await registrar.register(form, by: api.useCases.completion)
            return try await api.given(signedIn, to: admission).response(.created) { json, signedIn in
                json.add("session_id", signedIn.tokens.token.exposed)
                json.add("tracking_id", signedIn.correlationID.text)
            }
        } catch {
            guard error.code == .invalidToken else { throw error }
            throw APIError.malformed(
                "token_exchange is unknown, was used, or has expired. Start a new sign-in.", error.correlationID)
        }
    }
}

extension SignInConfiguration.Client {
    /// The redirect URI of a frontend that names none: the first one that is for this kind of frontend, for apps
    /// preferably with their own scheme; otherwise the first of all. Nil without redirect URIs.
    fileprivate func usualRedirectURI(of clientType: ClientType) -> String? {
        let allowed = rules.redirectURIs.filter { allows(clientType, at: $0) }
        return allowed.first { (AppRedirectURI.origin(of: $0) != nil) == clientType.isBoundToBrowser }
            ?? allowed.first ?? rules.redirectURIs.first
    }
}

extension RegistrationForm {
    /// Reads `{"identifiers": {"email_address"}, "validators": {"token_exchange": <state_key>}, "attributes": {…}}`.
    /// - Throws: 400 that names every missing or malformed field.
    fileprivate init(zephr fields: BodyFields) throws(APIError) {
        guard case .json(let object) = fields else {
            throw .malformed("The body is not JSON. Send one JSON object.")
        }
        var validators = FieldReader(try Self.section("validators", of: object))
        var identifiers = FieldReader(try Self.section("identifiers", of: object))
        var attributes = FieldReader(try Self.section("attributes", of: object))
        self.init(handle: Secret(validators.visibleText("token_exchange", limit: 512, required: true) ?? ""))
        handleName = "token_exchange"
        codeChallenge = validators.codeVerifier()?.challenge
        self.attributes = attributes.attributes(
            [.givenName: ["first_name", "first-name"], .familyName: ["last_name", "last-name"]],
            names: &attributeNames)
        attributeNames[.email] = "email_address"
        self.attributes[.email] = identifiers.text("email_address", limit: 1024)
        validators.noteProblems(of: identifiers)
        validators.noteProblems(of: attributes)
        try validators.check()
    }

    private static func section(_ name: String, of object: JSONObject) throws(APIError) -> BodyFields {
        guard let value = object[name] else { return .form(Query()) }
        guard let section = value.object else { throw .malformed("\(name) must be an object.") }
        return .json(section)
    }
}
