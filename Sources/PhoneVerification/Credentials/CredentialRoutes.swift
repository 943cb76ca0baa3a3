package import HTTPServer
import HTTPTypes
package import LatchkeyAPI
import OpenIDConnect
import Primitives
package import SignIn
import Storage
import StorageModel

/// Sign-ins with a digital credential, which have a start and an end.
extension PhoneVerificationFeature {
    static let confirmationPath = "/auth/{provider}/start/{id}/confirmation"

    /// Reads a start, and begins the session; nil for a provider of another kind, and for another start of one that has
    /// several.
    /// - Throws: 400 that names every malformed field; `unauthorized_client`; `operator_unknown`; `rate_limited`;
    ///   `aggregator_error`.
    package func startSignIn(
        _ request: Request, _ admission: Admission, at provider: Provider, of api: LatchkeyAPI
    ) async throws -> Response? {
        var reader = FieldReader(try BodyFields(request, from: admission))
        guard provider.credentials() != nil || provider.mobileOperators != nil && reader.isForCredential else {
            return nil
        }
        let environment = api.useCases.environment
        let correlationID = reader.correlationID() ?? .random(from: environment.random)
        reader.demandMethod(.digitalCredential)
        var choice = OperatorChoice(name: reader.operatorName(), network: reader.network(required: false))
        choice.number = reader.phoneNumber()
        choice.caller = api.terms(of: request, admission)
        var start = reader.credentialStart(choice)
        start.page = admission.isPage ? api.baseURL.origin ?? "" : nil
        if !admission.isByKey { start.uses = AllowanceUse.ofCredentials(by: choice.caller, ofPage: admission.isPage) }
        try reader.check(correlationID)
        // Any program can pretend to be a page, and each look-up costs.
        var named = choice
        if admission.isPage { (named.number, named.caller.address) = (nil, nil) }
        let numbers = try await provider.credentials(by: named, .operatorToken, correlationID, in: environment)
        start.clientID = reader.clientID(at: numbers.server)
        try reader.check(correlationID)
        let id = Secret(environment.random.token())
        let (strategy, prepared) = try await environment.failures.recording(as: correlationID, reader.sentNames) {
            [start] () async throws(SignInError) in
            try await numbers.begin(
                start, of: nil, under: id, for: .credentialSignIn, correlationID, in: environment)
        } failed: { error in
            environment.logStart(error, at: provider.name, correlationID)
            return nil
        }
        return .json(.created, capacity: 4096) { json in
            json.add("sign_in_id", id.exposed)
            prepared.write(to: &json, strategy)
            json.add("correlation_id", correlationID.text)
        }
    }

    func confirmSignIn(_ request: Request, _ admission: Admission, _ api: LatchkeyAPI) async throws -> Response {
        let provider = try api.useCases.providers.find(request.provider)
        guard provider.takesCredentials else { throw SignInError.noCredentials }
        var reader = FieldReader(try BodyFields(request, from: admission))
        let signIn = try await signIn(
            &reader, request.parameters["id"], at: provider, of: api, caller: admission.signInCaller,
            device: DeviceName.of(request))
        return try await api.complete(signIn, admission, request)
    }

    /// Reads the end of a sign-in.
    /// - Throws: 400 that names every missing or malformed field; `invalid_grant` for an id that is unknown, was used
    ///   or has expired.
    func signIn(
        _ reader: inout FieldReader, _ id: String?, at provider: Provider, of api: LatchkeyAPI, caller: Caller?,
        device: String?
    ) async throws -> SignInRequest {
        let correlationID = reader.correlationID()
        let proof = reader.credentialProof()
        guard reader.problems.isEmpty, let proof, let id = id.map(Secret.init) else {
            throw reader.refusal(correlationID)
        }
        guard let session = try await CredentialSession(id, for: .credentialSignIn, of: api.useCases),
            let numbers = session.numbers(in: api.useCases.providers), numbers.reference.provider == provider.name
        else { throw SignInError.credentialSessionEnded }
        // With the id, so that a proof that was sent to another session does not count as sent again.
        let code = Secret("\(id.exposed) \(proof.secret.exposed)")
        return SignInRequest(
            provider: numbers.reference, clientID: session.clientID, code: code,
            verifiedBy: CredentialVerifier(numbers: numbers, session: session, id: id, proof: proof),
            correlationID: correlationID, sentNames: reader.sentNames, caller: caller, device: device)
    }
}

extension AllowanceUse {
    /// How many sessions callers of one network without an API key may begin: each costs. Many phones share a network.
    static let ofCredentials = SharedAllowance(count: 600, seconds: 3600)
    /// How many all pages of this server's own origin may begin, whatever networks they come from.
    static let ofPages = SharedAllowance(count: 12_000, seconds: 3600)

    /// What a session uses. One address may use half of its network's.
    static func ofCredentials(by caller: CallerTerms, ofPage: Bool = false) -> [AllowanceUse] {
        let place = caller.subnet.map { "\($0.high) \($0.low)" } ?? "a network that is not known"
        var uses = [AllowanceUse(of: "credentials by \(place)", ofCredentials)]
        if ofPage { uses.append(AllowanceUse(of: "credentials of pages", ofPages)) }
        guard let id = caller.id else { return uses }
        return uses + [AllowanceUse(of: "credentials by \(Base64URL.encode(id.bytes))", ofCredentials.half)]
    }
}

/// Verifications by a digital credential.
extension VerifyPhoneNumber {
    /// How often an app may ask whether a phone has scanned one QR code: about once a second, and no more often than a
    /// usual session has seconds.
    static let pollAllowances = [
        SharedAllowance(count: 5, seconds: 5), SharedAllowance(count: 300, seconds: 3600),
    ]

    /// Begins a verification.
    /// - Returns: Its id, and what the app needs for the phone.
    func start(
        _ start: CredentialStart, _ question: Question, for holder: SessionAndUser
    ) async throws(SignInError) -> (id: String, CredentialStrategy, PreparedCredential, CorrelationID) {
        let correlationID = question.correlationID ?? .random(from: environment.random)
        return try await environment.failures.recording(as: correlationID, question.sentNames) {
            () async throws(SignInError) in
            let (choice, provider) = try await admit(question, of: holder.user) { $0.takesCredentials }
            guard provider.takesCredentials else { throw .noCredentials }
            let numbers = try await provider.credentials(by: choice, .phoneVerification, correlationID, in: environment)
            let id = Secret(environment.random.token())
            let (strategy, prepared) = try await numbers.begin(
                start, of: choice.number, under: id, for: .verification, correlationID, in: environment)
            let pending = PhoneVerification(
                id: TokenHash(sha256Of: id.exposed), user: holder.user.id, session: holder.session.id,
                phoneNumber: choice.number?.text, operatorName: numbers.reference.operatorName ?? provider.name,
                time: environment.clock.now().advanced(bySeconds: prepared.seconds))
            guard try await mappingStoreErrors(await store.beginPhoneVerification(pending)) else {
                throw .sessionUnknown
            }
            return (id.exposed, strategy, prepared, correlationID)
        } failed: { error in
            environment.logStart(error, at: question.provider, correlationID)
            return nil
        }
    }

    /// Ends a verification.
    /// - Throws: `not_found` for an id that the session does not have; `invalid_grant` for a verification that has
    ///   ended; `credential_invalid`, and `aggregator_error` and the like; `rate_limited`.
    func confirm(
        _ id: String, by proof: CredentialProof, correlationID: CorrelationID?, for holder: SessionAndUser
    ) async throws(SignInError) -> Outcome {
        let correlationID = correlationID ?? .random(from: environment.random)
        var findings = PhoneVerificationFindings(correlationID: correlationID)
        return try await environment.failures.recording(as: correlationID) { () async throws(SignInError) in
            let subject = try await waiting(id, for: holder)
            guard let (ended, issuer) = try await ended(subject, Secret(id), proof, &findings) else {
                return Outcome(id: id, verification: subject, correlationID: correlationID)
            }
            let verification = try await keep(ended, by: issuer, findings, holder)
            outcomes.note(verification, findings, in: environment.logger)
            return Outcome(id: id, verification: verification, correlationID: correlationID)
        } failed: { error in
            outcomes.note(error, findings, in: environment.logger)
            return error.code == .rateLimited ? nil : FailedOperation(findings)
        }
    }

    /// What the aggregator says of a verification, with its issuer; nil as long as no phone has scanned the QR code.
    private func ended(
        _ subject: PhoneVerification, _ id: Secret, _ proof: CredentialProof,
        _ findings: inout PhoneVerificationFindings
    ) async throws(SignInError) -> (PhoneVerification, issuer: String)? {
        (findings.operatorName, findings.number) = (subject.operatorName, subject.phoneNumber)
        guard let session = try await CredentialSession(id, for: .verification, of: api.useCases),
            let numbers = session.numbers(in: environment.providers)
        else { throw isByRedirects(subject) ? .confirmationMissing : .verificationEnded }
        let verifier = CredentialVerifier(numbers: numbers, session: session, id: id, proof: proof)
        let request = SignInRequest(
            provider: numbers.reference, clientID: session.clientID, code: proof.secret, verifiedBy: verifier,
            correlationID: findings.correlationID)
        if case .scanned = proof { try await countPoll(of: id) }
        let run = try SignInRun(request, findings.correlationID, in: environment)
        findings.run = run
        let provider = try await run.discoverProvider()
        var isAnswered = false
        do throws(SignInError) {
            let found = try await numbers.finding(of: session, under: id, for: .verification, proof, run, at: provider)
            guard let found else { return nil }
            isAnswered = true
            try numbers.check(found, run)
            // Counted after the answer: somebody without the phone could otherwise use up the number's allowance.
            let uses = AllowanceUse.ofVerification(of: session.number, by: subject.user)
            if let wait = try await mappingStoreErrors(await store.count(uses, at: environment.clock.now())) {
                throw .tooManyVerifications(wait)
            }
            return (try found.outcome(of: subject, session.number, at: environment.clock.now()), provider.issuer)
        } catch {
            guard error.code == .simSwapped else {
                // Nothing can end it any more. Not a step of its own: it has failed at the one before.
                if isAnswered || error.codeMayBeSpent && session.strategy != .desktop {
                    let failed = subject.failed(error.codeText, at: environment.clock.now())
                    // The failure is what the app needs to know, whatever the store says.
                    _ = try? await store.addPhoneVerification(
                        failed, by: provider.issuer, requestID: findings.correlationID.text)
                }
                throw error
            }
            // As of a mobile operator, an outcome.
            await environment.failures.note(FailedOperation(findings), error)
            return (subject.failed(error.codeText, simSwapped: true, at: environment.clock.now()), provider.issuer)
        }
    }

    /// Whether a verification without a session must be by redirects: no credentials are redeemed where it was begun.
    private func isByRedirects(_ subject: PhoneVerification) -> Bool {
        let name = subject.operatorName
        return environment.providers.all.allSatisfy { provider in
            (provider.name == name ? provider.credentials() : provider.mobileOperators?.credentials(of: name)) == nil
        }
    }

    /// Counts a question whether a phone has scanned a QR code: the aggregator is asked each time.
    private func countPoll(of id: Secret) async throws(SignInError) {
        let uses = zip(["poll", "all polls"], Self.pollAllowances).map { what, allowance in
            AllowanceUse(of: "\(what) of verification \(id.exposed)", allowance)
        }
        if let wait = try await mappingStoreErrors(await store.count(uses, at: environment.clock.now())) {
            throw .tooManyVerifications(wait)
        }
    }

    /// The verification of a session that waits for the phone.
    private func waiting(_ id: String, for holder: SessionAndUser) async throws(SignInError) -> PhoneVerification {
        let (hash, now) = (TokenHash(sha256Of: id), environment.clock.now())
        if let subject = try await mappingStoreErrors(await store.pendingPhoneVerification(hash, at: now)) {
            guard subject.session == holder.session.id else { throw .noSuchVerification }
            return subject
        }
        let ended = try await mappingStoreErrors(
            await store.phoneVerification(hash, in: holder.session.id, at: now))
        throw ended == nil ? .noSuchVerification : .verificationEnded
    }
}

extension CredentialFinding {
    /// - Parameter asked: The number that the aggregator was asked about; nil if it was to tell the number.
    fileprivate func outcome(
        of subject: PhoneVerification, _ asked: MSISDN?, at now: Timestamp
    ) throws(SignInError) -> PhoneVerification {
        // Where a number was asked for, the same number in the response may be an echo.
        guard asked == nil ? number != nil && isVerified != false : isVerified != nil else { throw .aggregatorError() }
        let isSame = asked == nil || isVerified == true && (number.map { $0 == asked } ?? true)
        return subject.ended(
            isSame ? .verified : .mismatch, phoneNumber: (asked ?? number)?.text,
            simSwapped: sim == .unknown ? nil : sim.map { $0 == .swapped }, at: now)
    }
}

extension PreparedCredential {
    func write(to json: inout JSONObjectWriter, _ strategy: CredentialStrategy) {
        json.add("strategy", strategy.rawValue)
        switch strategy {
        case .ts43: json.add("request", json: content)
        case .link: json.add("authorization_url", content)
        case .desktop: json.add("qr_code", content)
        }
        json.add("expires_in", seconds)
    }
}

extension FieldReader {
    /// What a session begins with, without its client.
    mutating func credentialStart(_ choice: OperatorChoice) -> CredentialStart {
        var start = CredentialStart(choice: choice)
        start.strategy = value("strategy", limit: 16, demand: "must be ts43, link or desktop", CredentialStrategy.init)
        start.redirectURI = redirectURI(required: false)
        return start
    }

    /// What ends a session: the response of the wallet, or the code of the browser.
    /// - Parameter allowingPoll: Whether a phone may have scanned a QR code.
    mutating func credentialProof(allowingPoll: Bool = false) -> CredentialProof? {
        if allowingPoll, has("poll"), let poll = raw("poll") {
            let isPoll = poll.bool == true || poll.string == "true"
            return isPoll ? .scanned : refused("poll", "must be true, or left out")
        }
        if has("code") { return visibleText("code", limit: 2048).map { .browserCode(Secret($0)) } }
        // A whole response of the platform has it in `data`, of older browsers as a text.
        let data = raw("data").flatMap(Self.object)
        guard let value = data?["vp_token"] ?? raw("vp_token"), !value.isNull else {
            return refused("vp_token", "is missing: send the response of the wallet, or the code of a link")
        }
        guard let text = Self.presentation(in: value) else {
            return refused("vp_token", "is not one presentation: send the response of the wallet as it is")
        }
        guard text.utf8.count <= PresentedCredential.maximumBytes else {
            return refused("vp_token", "is longer than \(PresentedCredential.maximumBytes) bytes")
        }
        return .credential(Secret(text))
    }

    /// The only presentation of a response (OpenID4VP 1.0 section 8.1): of an object by the query's ids, with a list
    /// each, or as earlier drafts have it.
    private static func presentation(in value: JSONValue) -> String? {
        guard let object = object(value) else { return value.string }
        guard object.members.count == 1, let only = object.members.first?.value else { return nil }
        if let list = only.array { return list.count == 1 ? list.first?.string : nil }
        return only.string
    }

    private static func object(_ value: JSONValue) -> JSONObject? {
        value.object ?? value.string.flatMap { (try? JSONValue(parsing: Array($0.utf8)))?.object }
    }
}
