import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn

/// The paths of Zephr's OAuth sign-in, for frontends that were made for it (`compat.zephr`,
/// docs/web-frontends.md), by the code of our own paths.
extension LatchkeyAPI {
    /// A frontend without a `redirect_uri` gets the registered one of its kind.
    func startAsZephr(_ request: Request, below prefix: String) async throws -> Response {
        let provider = request.provider
        _ = try useCases.providers.find(withoutOperators: provider)
        let redirectSignIn = useCases.redirectSignIn
        var start = try RedirectStart(
            try request.query, provider: provider, publicURL: try publicURL(),
            callback: { "\(prefix)/oauth/\(provider)/\($0.rawValue)/callback" },
            fallback: { redirectSignIn.usualRedirectURI(at: provider, clientID: $0, $1) })
        start.sessionIDIsSession = true
        start.caller = try await terms(ofBrowser: request)
        return respond(try await redirectSignIn.start(start, browser: cookies.browser(of: request)), to: request)
    }

    /// The four results that these frontends know: 201 with the session, 400, 403 for the domain of an e-mail address,
    /// and 409 for an identity or a verified e-mail address that has an account.
    func registerAsZephr(_ request: Request, _ admission: Admission?) async throws -> Response {
        var form = try RegistrationForm(zephr: BodyFields(request, from: admission))
        form.device = DeviceName.of(request)
        form.clients = admission?.clients
        form.refusesVerifiedEmail = true
        do throws(SignInError) {
            return try await useCases.registration(form).response(.created) { json, signedIn in
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
        switch object[name] {
        case .some(let value):
            guard let section = value.object else { throw .malformed("\(name) must be an object.") }
            return .json(section)
        case nil: return .form(Query())
        }
    }
}
