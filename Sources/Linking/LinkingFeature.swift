package import HTTPServer
import HTTPTypes
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// The part of `sessions` that is about adding identities.
package struct LinkingSettings: FeatureSettings {
    /// The maximum age of the sign-in of a user who adds an identity, in seconds.
    package var maximumAge: Int64 = 900

    package init() {}

    package static let settings = [
        Setting(
            "sessions.max_age_to_link", .seconds(60...315_360_000), \LinkingSettings.maximumAge,
            "How long after signing in a user may add another way to sign in.")
    ]
}

/// The identities of a signed-in user (docs/accounts.md): their list, another one, and the removal of one.
package struct LinkingFeature: Feature {
    private let settings: LinkingSettings

    package init(_ settings: LinkingSettings, in context: FeatureContext) { self.settings = settings }

    func identities(of api: LatchkeyAPI) -> UserIdentities {
        UserIdentities(useCases: api.useCases, maximumAge: settings.maximumAge)
    }

    package func sessionErrand(of api: LatchkeyAPI) -> SessionErrand? {
        SessionErrand(
            kind: .link, flow: .link, success: "You can now also sign in this way. You may close this window.",
            finish: identities(of: api).finishLink)
    }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        let identities = identities(of: api)
        router.get(
            "/users/me/identities",
            api.signedIn { _, _, caller in
                let found = try await identities.list(for: caller.holder)
                return .json(.ok, capacity: 160 * (found.count + 1)) { json in
                    json.add("identities", objects: found) { identity, json in identity.write(to: &json) }
                }
            })
        router.post(
            "/users/me/identities",
            api.changing { api, request, caller in
                let link = try await Self.request(in: request, of: caller, api, identities)
                let linked = try await identities.link(link, token: caller.token, holder: caller.holder)
                return .json(linked.isNew ? .created : .ok, capacity: 256) { json in
                    linked.identity.write(to: &json)
                    json.add("correlation_id", linked.correlationID.text)
                }
            })
        router.delete(
            "/users/me/identities/{id}",
            api.changing { _, request, caller in
                try await identities.unlink(
                    request.parameters["id"] ?? "", for: caller.holder, requestID: request.id)
                return .emptyObject
            })
        guard let redirects = api.redirects else { return }
        // Only by `POST`, so that a session cookie alone begins nothing; only this browser's session can finish it.
        let link = api.changing { _, request, caller in
            guard request.headers.count(of: .authorization) == 0 else { throw APIError.linkNeedsCookie }
            return try await redirects.startErrand(request, of: caller) { (start) throws(SignInError) in
                try identities.checkAge(of: caller.holder.session)
                guard start.clientType == .web || start.clientType == .popup else { throw .linkNeedsBrowser }
            }
        }
        router.post("/auth/{provider}/link", api.paged { try await link($1).run() })
    }

    /// The sign-in whose identity is to be added.
    private static func request(
        in request: Request, of caller: SignedInCaller, _ api: LatchkeyAPI, _ identities: UserIdentities
    ) async throws -> SignInRequest {
        let fields = try BodyFields(request, from: caller.admission)
        var reader = FieldReader(fields)
        guard let provider = reader.text("provider", limit: 64, required: true) else { throw reader.refusal() }
        let read = try api.signInRequest(
            fields, at: provider, terms: api.terms(of: request, caller.admission).of(caller.holder.user.id))
        // Before a server is looked up.
        if case .task = read { try identities.checkAge(of: caller.holder.session) }
        let link = try await read.run()
        try caller.admission.check(link.clientID.text)
        return link
    }
}

extension LinkedIdentity {
    fileprivate func write(to json: inout JSONObjectWriter) {
        json.add("id", id)
        json.add("issuer", issuer)
        json.add("created_at", createdAt.secondsSinceEpoch)
    }
}

extension APIError {
    fileprivate static let linkNeedsCookie = APIError.malformed(
        "This call is for browsers with a session cookie. An app posts its code to /users/me/identities.")
}

/// The identities of signed-in users, with which they can sign in.
///
/// Only the user's own request adds one; an e-mail address never does.
struct UserIdentities: Sendable {
    static let limit = 32
    /// How long the same link may be sent again, in seconds.
    private static let retryWindow: Int64 = 60

    /// `isNew` is false if the user had the identity before.
    typealias Linked = (identity: LinkedIdentity, isNew: Bool, correlationID: CorrelationID)

    let useCases: UseCases
    /// The maximum age of the sign-in of a user who adds an identity, in seconds.
    let maximumAge: Int64

    private var environment: Environment { useCases.environment }
    private var store: any IdentityStore { useCases.completion.store }

    /// The user's identities, the oldest first.
    /// - Throws: `temporarily_unavailable`.
    func list(for holder: SessionAndUser) async throws(SignInError) -> [LinkedIdentity] {
        try await mappingStoreErrors(await store.identities(of: holder.user.id))
    }

    /// Adds an identity for which a provider issued a fresh code, or a mobile operator a token.
    ///
    /// A retry of the same request within the retry window links nothing more and gets the same response.
    /// - Throws: `insufficient_user_authentication` if the session's sign-in is too old; the errors of a sign-in with
    ///   this code; `user_already_exists` if another user has the identity, and then nothing has changed;
    ///   `invalid_token` if the session has ended meanwhile; `temporarily_unavailable`.
    func link(
        _ request: SignInRequest, token: Secret, holder: SessionAndUser
    ) async throws(SignInError) -> Linked {
        try await environment.perform(request, as: .link) { (run) async throws(SignInError) in
            try checkAge(of: holder.session)
            return try await link(run, token, holder)
        }
    }

    /// The holder of an unlocked device, or of a stolen session, must not add a permanent way in.
    func checkAge(of session: Session) throws(SignInError) {
        guard environment.clock.now() <= session.createdAt.advanced(bySeconds: maximumAge) else {
            throw .signInTooOld(maximumAge)
        }
    }

    /// Links the identity that a browser brought back, if the browser still has the session that asked.
    ///
    /// The session's age was checked at the start, and may have passed the limit meanwhile.
    @Sendable func finishLink(
        _ request: SignInRequest, holding token: Secret?, ofID id: String
    ) async throws(SignInError) {
        _ = try await environment.perform(request, as: .link) { (run) async throws(SignInError) in
            guard let token, let holder = try await useCases.sessions.authenticate(token),
                holder.session.id.hasSameBytes(as: id)
            else { throw .linkingSessionGone }
            return try await link(run, token, holder)
        }
    }

    private func link(
        _ run: SignInRun, _ token: Secret, _ holder: SessionAndUser
    ) async throws(SignInError) -> (Linked, SignInReport.Outcome) {
        let verified = try await verify(run, ofSession: holder.session.id)
        run.begin(.store)
        var link = IdentityLink(
            verified.identity, to: holder.user.id, holding: try await useCases.sessions.hash(of: token),
            at: environment.clock.now(), limit: Self.limit, requestID: run.correlationID.text,
            tokens: verified.tokens.map {
                useCases.vault.storing($0, of: run.request.provider.text, for: run.client.id.text)
            })
        link.provenPhoneNumber = verified.provenPhoneNumber
        // Another user may have lost the verified number. That is rare, and the store does not say whom.
        defer { if verified.provenPhoneNumber != nil { useCases.sessions.cache.removeAll() } }
        switch try await mappingStoreErrors(await store.link(link)) {
        case .linked(let identity):
            return ((identity, isNew: true, run.correlationID), .linked)
        case .wasLinked(let identity):
            return ((identity, isNew: false, run.correlationID), .wasLinked)
        case .isTaken: throw .identityTaken
        case .tooMany: throw .tooManyIdentities
        case .unknownSession: throw .sessionUnknown
        }
    }

    /// Redeems the code. The result is kept for a minute, for the same request at any process.
    private func verify(_ run: SignInRun, ofSession session: String) async throws(SignInError) -> VerifiedSignIn {
        guard run.request.codeVerifier != nil || run.request.isRedirectFlow, !run.request.standsInForCode else {
            return try await useCases.signIn.verify(run, ofSession: session)
        }
        let key = Secret("link " + Base64URL.encode(IdempotencyKey(run.request, ofSession: session).bytes))
        if let bytes = try await useCases.oneTimeStore.read(.verifiedLink, under: key),
            let verified = VerifiedSignIn(keptForLink: bytes)
        {
            return verified
        }
        let verified = try await useCases.signIn.verify(run, ofSession: session)
        guard verified.tokenUse == nil else { return verified }
        try await useCases.oneTimeStore.keep(
            verified.keptForLink, for: .verifiedLink, under: key, seconds: Self.retryWindow)
        return verified
    }

    /// Removes an identity from the user, and ends the sessions that it signed in, except the holder's.
    /// - Throws: `not_found` if the user has no identity of this id; `last_identity`; `invalid_token` if the
    ///   session was revoked meanwhile; `temporarily_unavailable`.
    func unlink(_ id: String, for holder: SessionAndUser, requestID: String) async throws(SignInError) {
        guard id.utf8.count <= 64 else { throw .noSuchIdentity }
        let (user, now) = (holder.user.id, environment.clock.now())
        defer { useCases.sessions.forget(user) }
        let removal = try await mappingStoreErrors(
            await store.removeIdentity(id: id, of: user, keeping: holder.session.id) { identity in
                AuditEvent(
                    at: now, .identityUnlinked, user: user, by: .user, requestID: requestID,
                    details: AuditDetails { json in
                        json.add("identity", identity.fingerprint)
                        json.add("issuer", identity.issuer)
                    })
            })
        switch removal {
        case .removed: return
        case .isLast: throw .lastIdentity
        case .unknown: throw .noSuchIdentity
        case .unknownSession: throw .sessionUnknown
        }
    }
}

/// What a link needs, as JSON for the store.
extension VerifiedSignIn {
    fileprivate var keptForLink: [UInt8] {
        var json = JSONObjectWriter(capacity: 256)
        json.add("issuer", identity.issuer)
        json.add("subject", identity.subject)
        json.add("proven_phone_number", ifPresent: provenPhoneNumber)
        tokens?.write(to: &json)
        return json.finish()
    }

    fileprivate convenience init?(keptForLink bytes: [UInt8]) {
        guard let json = (try? JSONValue(parsing: bytes))?.object, let issuer = json["issuer"]?.string,
            let subject = json["subject"]?.string
        else { return nil }
        self.init(
            Identity(issuer: issuer, subject: subject), nil, tokens: ProviderTokens(json),
            provenPhoneNumber: json["proven_phone_number"]?.string)
    }
}

extension EncryptedOneTimeStore.Purpose {
    /// The identity of a link that was sent.
    fileprivate static let verifiedLink = Self("verified link")
}

extension AuditEvent.Kind {
    fileprivate static let identityUnlinked = AuditEvent.Kind("identity.unlinked")
}

extension SignInError {
    static func signInTooOld(_ seconds: Int64) -> SignInError {
        SignInError(
            .insufficientUserAuthentication, .requestDenied,
            "To add an identity, the user must have signed in within the last \(seconds) seconds. Sign in again first.")
    }

    static let identityTaken = SignInError(
        .userAlreadyExists, .requestDenied,
        "This identity belongs to another user. Nothing was changed. Sign in with it to use that account.")

    fileprivate static let tooManyIdentities = SignInError(
        .invalidRequest, .requestDenied,
        "The user has \(UserIdentities.limit) identities, which is the limit. Remove one first.")

    fileprivate static let linkingSessionGone = SignInError(
        .invalidToken, .requestDenied,
        "The browser no longer has the session that asked for this. Sign in and start again.")

    static let linkNeedsBrowser = invalidRequest(
        "client_type must be web or popup: only the browser that has the session can add an identity.")

    static let noSuchIdentity = SignInError(
        .notFound, .invalidRequest, "The user has no identity of this id. List the identities to get their ids.")

    static let lastIdentity = SignInError(
        .lastIdentity, .invalidRequest,
        "This is the user's last identity, needed to sign in. To remove the account, erase the user instead.")
}
