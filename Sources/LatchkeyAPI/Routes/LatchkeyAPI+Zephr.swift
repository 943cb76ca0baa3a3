import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn

/// The paths of Zephr's OAuth sign-in, for frontends that were made for it (`compat.zephr`, docs/redirects.md), by the
/// code of our own paths.
extension LatchkeyAPI {
    /// A frontend without a `redirect_uri` gets the registered one of its kind.
    func startAsZephr(_ request: Request, below prefix: String) async throws -> Response {
        let provider = request.provider
        let redirectSignIn = useCases.redirectSignIn
        let start = try RedirectStart(
            try request.query, provider: provider, publicURL: try publicURL(),
            callback: { "\(prefix)/oauth/\(provider)/\($0.rawValue)/callback" },
            fallback: { redirectSignIn.usualRedirectURI(at: provider, clientID: $0, $1) })
        return respond(try await redirectSignIn.start(start, browser: cookies.browser(of: request)), to: request)
    }

    func registerAsZephr(_ request: Request, _ admission: Admission) async throws -> Response {
        var form = try RegistrationForm(zephr: BodyFields(request))
        form.device = DeviceName.of(request)
        form.clients = admission.clients
        return try await useCases.registration(form).response(.created)
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
        codeVerifier = validators.codeVerifier()
        self.attributes = attributes.attributes([.givenName: "first_name", .familyName: "last_name"])
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
