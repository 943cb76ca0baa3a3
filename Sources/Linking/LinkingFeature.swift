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
                return try await identities.link(link, token: caller.token, holder: caller.holder).response
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

extension UserIdentities.Linked {
    fileprivate var response: Response {
        .json(isNew ? .created : .ok, capacity: 256) { json in
            identity.write(to: &json)
            json.add("correlation_id", correlationID.text)
        }
    }
}

extension APIError {
    fileprivate static let linkNeedsCookie = APIError.malformed(
        "This call is for browsers with a session cookie. An app posts its code to /users/me/identities.")
}
