package import HTTPServer
import HTTPTypes
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import Storage

/// Registration (docs/accounts.md): a user who is unknown gets an offer, and fills in a form.
package struct RegistrationFeature: Feature {
    let rules: RegistrationRules
    let store: SQLStore

    package init(_ settings: NoSettings, in context: FeatureContext) {
        rules = context.configuration.registration
        store = context.store
    }

    package var registration: (any PageRegistration)? { self }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        for path in ["/users", "/auth/register"] {
            router.post(path, api.admitting(.enteringOrPage, register))
        }
        addPage(to: &router, of: api)
    }

    private func register(_ api: LatchkeyAPI, _ request: Request, _ admission: Admission) async throws -> Response {
        var form = try RegistrationForm(BodyFields(request, from: admission))
        form.device = DeviceName.of(request)
        form.clients = admission.clients
        form.caller = admission.signInCaller
        let signedIn = try await register(form, by: api.useCases.completion)
        return try await api.respond(signedIn, .created, to: admission, request)
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

extension RegistrationFeature {
    package static let operations: [APIOperation] = [
        register, register.also(at: "/auth/register", "registerAtAuth", "This is `/users` under another name."),
        showRegistration, registerByForm,
    ]

    package static let schemas = APISchema.ofRegistration

    private static let register = APIOperation(
        .post, "/users", "register", .registration, .keyOrPage, "Register a user",
        """
        Completes a sign-in that was answered with `user_not_registered`. A `password`, which the published example \
        apps send, is neither read nor stored.
        """,
        body: APIOperation.Body(
            schema: "Registration",
            example: #"{"state_key": "\#(APIExample.handle)", "name": "Jane Doe", "email": "jane@example.com"}"#),
        responses: [.session(.created, "The user is registered and signed in.")],
        refusals: [
            APIRefusal(SignInError.unknownHandle(sentAs: "state_key"), as: "state_key_unknown"), .emailDomainBlocked,
            userRegistered,
        ])

    private static let showRegistration = APIOperation(
        .get, "/register", "registrationPage", .registration, .browser, "The registration of a user, as a page",
        """
        For a browser whose sign-in ended at a page of this origin with a user who is not registered: what the \
        provider sent, and a form. A sign-in that ended at `{public_url}/sign-in` continues here. The registration is \
        in a cookie that the end of the sign-in set.
        """,
        responses: [.text("text/html", "The page.")], refusals: [registrationOver])

    private static let registerByForm = APIOperation(
        .post, "/register", "registerByForm", .registration, .browser, "Register, by the form of that page",
        """
        Registers the user of the browser's cookie, once, and signs the browser in. Then the browser continues where \
        its sign-in ended. Only a page of this origin may send it. The page is shown again if something is not right.
        """,
        body: APIOperation.Body(
            schema: "RegistrationPageForm",
            example: #"{"registration": "\#(APIExample.handle)", "email": "jane@example.com"}"#, isFormOnly: true),
        responses: [.redirect()],
        refusals: [
            registrationOver, .crossSite, .emailDomainBlocked, userRegistered,
        ])

    private static let userRegistered = APIRefusal(SignInError.userAlreadyExists)
    private static let registrationOver = APIRefusal(APIError.registrationOver, as: "registration_over")
}

extension APISchema {
    fileprivate static let ofRegistration: KeyValuePairs<String, APISchema> = [
        "Registration": object(
            "What the user entered. Fields that are left out are taken from the provider.",
            [
                "state_key": visible(
                    "The handle of the response `user_not_registered`. Also `zenkey_sub`.", upTo: 512,
                    example: APIExample.handle)
            ],
            optional: ["code_verifier": codeVerifier], profileFields("phone", also: "phone_number"),
            fields(optional: ["client_type": pageClientType, "correlation_id": correlationID])),
        "RegistrationPageForm": object(
            "What the user entered. Fields that are left empty are taken from the provider.",
            ["registration": visible("From the page.", upTo: 64, example: APIExample.handle)],
            profileFields("phone")),
    ]
}
