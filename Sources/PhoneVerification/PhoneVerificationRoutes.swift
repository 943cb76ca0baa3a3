import HTTPServer
import HTTPTypes
package import LatchkeyAPI
import OpenIDConnect
import Primitives
package import SignIn

/// The routes for verifications of a signed-in user's phone number (docs/verified-numbers.md).
extension VerifyPhoneNumber {
    func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        router.post("/users/me/phone/verifications", api.changing { try await verify($0, $1, $2) })
        router.get(
            "/users/me/phone/verifications/{id}",
            api.signedIn { _, request, caller in
                try await outcome(request.parameters["id"] ?? "", for: caller.holder).response
            })
        router.post(
            "/users/me/phone/verifications/{id}/confirmation", api.changing { try await confirm($1, $2) })
    }

    private func verify(_ api: LatchkeyAPI, _ request: Request, _ caller: SignedInCaller) async throws -> Response {
        let question = try Question(
            BodyFields(request, from: caller.admission), caller: api.terms(of: request, caller.admission))
        switch question.means {
        case .token(let token): return try await self(question, with: token, for: caller.holder).response
        case .redirect(let redirectURI):
            let (id, url, seconds, correlationID) = try await startVerification(
                question, redirectURI: redirectURI, publicURL: try api.publicURL(), for: caller.holder)
            return .json(.created, capacity: 1024) { json in
                json.add("verification_id", id)
                json.add("status", "pending")
                json.add("authorization_url", url)
                json.add("expires_in", seconds)
                json.add("correlation_id", correlationID.text)
            }
        case .credential(let start):
            let (id, strategy, prepared, correlationID) = try await self.start(start, question, for: caller.holder)
            return .json(.created, capacity: 4096) { json in
                json.add("verification_id", id)
                json.add("status", "pending")
                prepared.write(to: &json, strategy)
                json.add("correlation_id", correlationID.text)
            }
        }
    }

    private func confirm(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        var reader = FieldReader(try BodyFields(request, from: caller.admission))
        let correlationID = reader.correlationID()
        guard reader.has("confirmation") else {
            guard ["vp_token", "data", "code", "poll"].contains(where: reader.has) else {
                reader.refuse(
                    "confirmation", "is missing: send it, or vp_token, code or poll for what began with a strategy")
                throw reader.refusal(correlationID)
            }
            let proof = reader.credentialProof(allowingPoll: true)
            guard reader.problems.isEmpty, let proof else { throw reader.refusal(correlationID) }
            return try await confirm(
                request.parameters["id"] ?? "", by: proof, correlationID: correlationID, for: caller.holder
            ).response
        }
        let confirmation = reader.visibleText("confirmation", limit: 64, required: true)
        guard reader.problems.isEmpty, let confirmation else { throw reader.refusal(correlationID) }
        return try await confirm(
            request.parameters["id"] ?? "", with: Secret(confirmation), correlationID: correlationID,
            for: caller.holder
        ).response
    }
}

extension VerifyPhoneNumber.Outcome {
    fileprivate var response: Response {
        .json(.ok, capacity: 256) { json in
            json.add("verification_id", id)
            let isPending = verification.status == .pending
            json.add("status", verification.status.rawValue)
            json.add("phone_number", orNull: verification.phoneNumber)
            json.add("operator", verification.operatorName)
            json.add("checked_at", json: isPending ? "null" : "\(verification.time.secondsSinceEpoch)")
            json.add("sim_swapped", json: verification.simSwapped.map { $0 ? "true" : "false" } ?? "null")
            json.add("error", ifPresent: verification.error)
            json.add("correlation_id", ifPresent: correlationID?.text)
        }
    }
}

extension VerifyPhoneNumber.Question {
    /// Reads a verification from a body's fields.
    /// - Throws: 400 that names every missing or malformed field.
    init(_ fields: BodyFields, caller: CallerTerms) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let phoneNumber = reader.visibleText("phone_number", ["phoneNumber"], limit: 16)
        let provider = reader.visibleText("provider", limit: 32)
        let (method, nonce) = (reader.numberMethod(), reader.nonce())
        var choice = OperatorChoice(name: reader.operatorName(), network: reader.network(required: false))
        choice.caller = caller
        if method == .digitalCredential {
            let start = reader.credentialStart(choice)
            try reader.check(correlationID)
            self.init(
                means: .credential(start), phoneNumber: phoneNumber, provider: provider, choice: choice,
                correlationID: correlationID, sentNames: reader.sentNames)
            return
        }
        let token: Token? =
            switch method {
            case .redirect, .digitalCredential: nil
            case .operatorToken: reader.operatorToken().map { .ofOperator($0) }
            case .firebase: reader.firebaseToken().map { .ofFirebase($0, nonce: nonce) }
            }
        // An app that sends a token needs no browser.
        let redirectURI = reader.redirectURI(required: method == .redirect)
        try reader.check(correlationID)
        self.init(
            means: token.map { .token($0) } ?? .redirect(to: redirectURI ?? ""), phoneNumber: phoneNumber,
            provider: provider, choice: choice, correlationID: correlationID, sentNames: reader.sentNames)
    }
}

extension PhoneVerificationFeature {
    /// Reads a sign-in with a TS.43 temporary token, with a token of Firebase, or with a digital credential.
    /// - Throws: 400 that names every missing or malformed field; `unauthorized_client`; `operator_unknown`; what the
    ///   lookup of a number throws.
    package func signInRequest(
        _ fields: BodyFields, at provider: Provider, of api: LatchkeyAPI, terms: CallerTerms, caller: Caller?,
        device: String?
    ) async throws -> SignInRequest? {
        let environment = api.useCases.environment
        var reader = FieldReader(fields)
        if let firebase = provider.firebaseNumbers {
            let correlationID = reader.correlationID()
            reader.demandMethod(.firebase)
            let (token, nonce) = (reader.firebaseToken(), reader.nonce())
            let clientID = reader.clientID(at: firebase.server)
            guard reader.problems.isEmpty, let clientID, let token else { throw reader.refusal(correlationID) }
            return SignInRequest(
                provider: ProviderReference(provider: provider.name), clientID: clientID, code: token,
                verifiedBy: firebase, nonce: nonce, correlationID: correlationID, sentNames: reader.sentNames,
                caller: caller, device: device)
        }
        if provider.credentials() != nil || provider.takesCredentials && reader.has("sign_in_id") {
            let id = reader.visibleText("sign_in_id", limit: 64, required: true)
            return try await signIn(&reader, id, at: provider, of: api, caller: caller, device: device)
        }
        guard let operators = provider.mobileOperators else { return nil }
        let correlationID = reader.correlationID()
        reader.demandMethod(.operatorToken)
        let token = reader.operatorToken()
        var choice = OperatorChoice(name: reader.operatorName(), network: reader.network(required: false))
        choice.number = reader.phoneNumber()
        choice.caller = terms
        try reader.check(correlationID)
        let target = try await OperatorDirectory(operators: operators, environment: environment).choose(
            choice, .operatorToken, correlationID ?? .random(from: environment.random))
        let clientID = reader.clientID(at: target.server)
        guard reader.problems.isEmpty, let clientID, let token else { throw reader.refusal(correlationID) }
        return SignInRequest(
            provider: target.reference, clientID: clientID, code: token, verifiedBy: operators,
            correlationID: correlationID, sentNames: reader.sentNames, caller: caller, device: device)
    }
}

extension FieldReader {
    /// The method that a body names; without the field, the one whose token it has.
    fileprivate mutating func numberMethod() -> NumberMethod {
        if let named = namedMethod(NumberMethod.allCases) { return named }
        if has("operator_token") || has("operatorToken") { return .operatorToken }
        if has("strategy") { return .digitalCredential }
        return has("token") ? .firebase : .redirect
    }

    /// Whether a body names the method of digital credentials.
    var isForCredential: Bool { raw("method")?.string == NumberMethod.digitalCredential.rawValue }

    /// Refuses a body that names another method.
    mutating func demandMethod(_ method: NumberMethod) { _ = namedMethod([method]) }

    private mutating func namedMethod(_ allowed: [NumberMethod]) -> NumberMethod? {
        let words = allowed.map(\.rawValue).joined(separator: ", ")
        return value("method", limit: 32, demand: allowed.count == 1 ? "must be \(words)" : "must be one of \(words)") {
            text in allowed.first { $0.rawValue == text }
        }
    }

    fileprivate mutating func firebaseToken() -> Secret? {
        visibleText("token", limit: 4096, required: true).map { Secret($0) }
    }

    fileprivate mutating func nonce() -> Secret? { text("nonce", limit: 512).map { Secret($0) } }

    fileprivate mutating func operatorToken() -> Secret? {
        guard has("operator_token") || has("operatorToken") else {
            return refused("operator_token", "is missing: at a provider of kind camara it is sent in place of a code")
        }
        return visibleText("operator_token", ["operatorToken"], limit: 16_384, required: true).map { Secret($0) }
    }
}

extension PhoneVerificationFeature {
    package static let operations: [APIOperation] = [
        NumberMethods.operation,
        APIOperation(
            .post, "/users/me/phone/verifications", "verifyPhoneNumber", .account, .session,
            "Verify the user's phone number",
            """
            Asks the mobile operator of the device whether it has the number. Telco Finder finds the operator by the \
            number, at a provider that has it, if neither `operator` nor `mccmnc` is sent. With an `operator_token`, \
            which the app got from the operator, or with a `token` of Firebase Phone Number Verification, the response \
            is the outcome. With the `method` `digital_credential`, the app asks the phone with `request`, and \
            confirms with the wallet's response. Otherwise, the app opens `authorization_url` on the device, over the \
            mobile network; the browser ends at `redirect_uri` with \
            `action=verify_phone&verification_id=…&status=pending&confirmation=…`, and the app posts the \
            `confirmation`. A confirmed number becomes the user's `phone_number`, verified; any other outcome changes \
            nothing.
            """,
            body: APIOperation.Body(
                schema: "PhoneVerificationQuestion",
                example: """
                    {"phone_number": "+12025550123", "operator": "northwind", \
                    "redirect_uri": "com.example.app://callback"}
                    """),
            responses: [
                .json("The outcome.", .named("PhoneVerification"), example: example),
                .json(
                    "The verification waits for the browser, or for the digital credential.",
                    .named("PhoneVerificationStarted"), status: .created, example: startedExample),
            ],
            refusals: APIRefusal.ofAggregators + [
                .operatorUnknown, .carrierError, .carrierTimeout, .providersOwnCode, .providerUnknown,
                .otherClientAtSignIn,
                APIRefusal(SignInError.operatorTokenUsed, as: "operator_token_used"),
                APIRefusal(SignInError(OIDCError.failed(.audience)), as: "token_of_another_project"),
            ]),
        APIOperation(
            .get, "/users/me/phone/verifications/{id}", "showPhoneVerification", .account, .session,
            "Read a verification again",
            "For a day, and for the session that asked only. It is `pending` until that session has confirmed it.",
            parameters: [id],
            responses: [
                .json("The verification.", .named("PhoneVerification"), example: example)
            ], refusals: [unknown]),
        APIOperation(
            .post, "/users/me/phone/verifications/{id}/confirmation", "confirmPhoneVerification", .account, .session,
            "Confirm a verification by redirects, or by a digital credential",
            """
            Only the session that asked can do it, and once; by redirects within two minutes. The outcome takes effect \
            by this call. The third wrong confirmation by redirects ends the verification. A verification with a QR \
            code is `pending` until a phone has scanned the code: call with `poll` again, at most once a second.
            """,
            parameters: [id],
            body: APIOperation.Body(
                schema: "PhoneVerificationConfirmation", example: #"{"confirmation": "\#(APIExample.handle)"}"#),
            responses: [.json("The outcome.", .named("PhoneVerification"), example: example)],
            refusals: APIRefusal.ofAggregators + [
                unknown, .carrierTimeout,
                APIRefusal(SignInError.confirmationWrong, as: "confirmation_wrong"),
            ]),
        APIOperation(
            .post, confirmationPath, "confirmSignIn", .signIn, .keyOrPage, "Sign in with a digital credential",
            """
            Ends what `startForApp` began at a provider of kind `aggregator` or `camara`, once at all servers. The \
            credential must be for this request and one of the origins that are configured; the aggregator, or the \
            mobile operator, tells its number. `signIn` and the link of an identity take the same fields, with \
            `sign_in_id`.
            """,
            parameters: [.path("id", .text("The `sign_in_id`.", example: APIExample.handle))],
            body: APIOperation.Body(
                schema: "SignInConfirmation", example: #"{"vp_token": {"phone": "eyJhbGciOiJFUzI1NiJ9.e30.YQ~eyJ"}}"#),
            responses: [.session(.ok, "The user is signed in.")],
            refusals: APIRefusal.ofOperators + [
                APIRefusal(SignInError.credentialSessionEnded, as: "credential_session_ended"), .carrierTimeout,
                .mustRegister, .unlinkedUser, .otherClientAtSignIn, .providerUnknown,
            ]),
    ]

    private static let id = APIOperation.Parameter.path(
        "id", .text("The `verification_id`.", example: APIExample.handle))

    private static let unknown = APIRefusal(SignInError.noSuchVerification, as: "verification_unknown")

    private static let example = """
        {"verification_id": "\(APIExample.handle)", "status": "verified", "phone_number": "+12025550123", \
        "operator": "northwind", "checked_at": 1800000000, "sim_swapped": false}
        """

    private static let startedExample = """
        {"verification_id": "\(APIExample.handle)", "status": "pending", \
        "authorization_url": "https://auth.northwind.example/authorize?client_id=latchkey", "expires_in": 600, \
        "correlation_id": "\(APIExample.correlationID)"}
        """

    package static let schemas = APISchema.ofPhoneVerifications
}

extension APISchema {
    fileprivate static let ofPhoneVerifications: KeyValuePairs<String, APISchema> = [
        "NumberMethods": NumberMethods.schema,
        "PhoneVerificationStarted": object(
            "A verification that waits for a browser, or for a digital credential, which has a `strategy`.",
            fields([
                "verification_id": text("To confirm and to read it.", example: APIExample.handle),
                "status": text("Always the same.", choices: ["pending"]), "correlation_id": correlationID,
            ]) + preparedCredential.map { $0.name == "strategy" ? $0.ifPresent : $0 }),
        "PhoneVerification": object(
            "A verification.",
            [
                "verification_id": text("To read the outcome again.", example: APIExample.handle),
                "status": text(
                    "`pending`: not confirmed yet; `mismatch`: the device has another number; `failed`: `error` says "
                        + "why.",
                    choices: ["pending", "verified", "mismatch", "failed"]),
                "phone_number": text(
                    "The number that was asked for, or that the operator told; null while it is not known.",
                    example: "+12025550123"
                ).orNull,
                "operator": text(
                    "The operator that was asked; at a provider of kind `firebase_pnv` or `aggregator` the provider.",
                    example: "northwind"),
                "checked_at": seconds("When it was asked; null while it is pending").orNull,
                "sim_swapped": flag("Whether the SIM was changed lately; null if that is not known.").orNull,
            ],
            optional: [
                "error": text("As in an error response.", example: "not_on_mobile_network"),
                "correlation_id": correlationID,
            ]),
        "PhoneVerificationQuestion": object(
            "A number to verify.",
            fields(
                optional: [
                    "nonce": text("If sent, `token` must have it."),
                    "redirect_uri": redirectURI(
                        "One of the client's, where the browser ends; required without `operator_token` and `token`, "
                            + "and for a link."),
                    "phone_number": visible(
                        "`+` and digits; by default the number of the profile, and where it has none, the operator "
                            + "tells the number. Also `phoneNumber`.", upTo: 16, example: "+12025550123"),
                    "provider": visible(
                        "A provider of kind `camara`, for a `token` one of kind `firebase_pnv`, and for a digital "
                            + "credential one of kind `aggregator` or `camara`; required if there are several.",
                        upTo: 32,
                        example: "number"),
                    "operator": operatorName, "correlation_id": correlationID,
                ]) + numberTokenFields + strategyField + networkFields),
        "PhoneVerificationConfirmation": object(
            "What the app was redirected with, or the digital credential, or `poll`.",
            fields(optional: [
                "confirmation": visible(
                    "What the app was redirected with. Works once.", upTo: 64, example: APIExample.handle),
                "poll": flag("Asks whether a phone has scanned the QR code. Only `true`."),
                "correlation_id": correlationID,
            ]) + credentialFields),
        "SignInConfirmation": object(
            "The digital credential.",
            fields(optional: ["client_type": pageClientType, "correlation_id": correlationID]) + credentialFields),
    ]
}
