import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn

/// The paths of Zephr's OAuth sign-in, for frontends that were made for it (`compat.zephr`, docs/redirects.md). They do
/// what the paths of our own do, by the same code.
extension LatchkeyAPI {
    /// A frontend that names no `redirect_uri` gets the registered one that is for its kind.
    func startAsZephr(_ request: Request, below prefix: String) async throws -> Response {
        let provider = request.provider
        let redirectSignIn = useCases.redirectSignIn
        let start = try RedirectStart(
            try request.query, provider: provider, publicURL: try publicURL(),
            callback: { "\(prefix)/oauth/\(provider)/\($0.rawValue)/callback" },
            fallback: { redirectSignIn.usualRedirectURI(at: provider, clientID: $0, $1) })
        return answer(try await redirectSignIn.start(start, browser: cookies.browser(of: request)), to: request)
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
    /// - Throws: 400 that names every field that is missing or of the wrong type.
    fileprivate init(zephr fields: BodyFields) throws(APIError) {
        guard case .json(let object) = fields else {
            throw .malformed("The body is not JSON. Send one JSON object.")
        }
        var validators = FieldReader(try Self.section("validators", of: object))
        var identifiers = FieldReader(try Self.section("identifiers", of: object))
        var attributes = FieldReader(try Self.section("attributes", of: object))
        let handle = validators.visibleText("token_exchange", limit: 512, required: true)
        let codeVerifier = validators.codeVerifier()
        let email = identifiers.text("email_address", limit: 1024)
        var told = attributes.attributes([.givenName: "first_name", .familyName: "last_name"])
        told[.email] = email
        validators.noteProblems(of: identifiers)
        validators.noteProblems(of: attributes)
        guard validators.problems.isEmpty, let handle else { throw validators.refusal() }
        self.init(handle: Secret(handle))
        self.codeVerifier = codeVerifier
        self.attributes = told
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
