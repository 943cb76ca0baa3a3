package import HTTPServer
import HTTPTypes
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
import OpenIDConnect
import Primitives
package import SignIn
import Storage

/// Registration (docs/accounts.md): a user who is unknown gets an offer, and fills in a form.
package struct RegistrationFeature: Feature {
    private let registerUser: RegisterUser

    package init(_ settings: NoSettings, in context: FeatureContext) {
        self.init(context.configuration.registration, store: context.store)
    }

    init(_ rules: RegistrationRules, store: SQLStore) { registerUser = RegisterUser(rules: rules, store: store) }

    package var registrar: (any Registrar)? { registerUser }

    package var pageRegistration: (any PageRegistration)? { registerUser }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        for path in ["/users", "/auth/register"] {
            router.post(path, api.admitting(.enteringOrPage, register))
        }
        registerUser.addRoutes(to: &router, of: api)
    }

    private func register(_ api: LatchkeyAPI, _ request: Request, _ admission: Admission) async throws -> Response {
        var form = try RegistrationForm(BodyFields(request, from: admission))
        form.device = DeviceName.of(request)
        form.clients = admission.clients
        let signedIn = try await registerUser.register(form, by: api.useCases.completion)
        return await api.respond(signedIn, .created, to: admission, request)
    }
}

extension RegistrationForm {
    /// Reads a registration from a body's fields. A `password`, which the example apps send, is ignored.
    /// - Throws: 400 that names every missing or malformed field.
    init(_ fields: BodyFields) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        self.init(handle: Secret(reader.visibleText("state_key", ["zenkey_sub"], limit: 512, required: true) ?? ""))
        handleName = reader.sentName("state_key")
        self.correlationID = correlationID
        codeChallenge = reader.codeVerifier()?.challenge
        attributes = reader.attributes(names: &attributeNames)
        try reader.check(correlationID)
    }
}
