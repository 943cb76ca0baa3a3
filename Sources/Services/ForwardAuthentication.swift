import HTTPServer
import HTTPTypes
import LatchkeyAPI
package import LatchkeyConfiguration
import Primitives
import SignIn
import StorageModel

/// `forward_auth`
package struct ServicesSettings: FeatureSettings {
    /// The attributes of the user that the proxy gets, besides the user and the session.
    package var attributes: [ForwardedAttribute] = []

    package init() {}

    package static let settings = [
        Setting(
            "forward_auth.attributes", .list(of: .choice, "a list of attributes"), \ServicesSettings.attributes,
            "What GET /auth/verify tells a proxy of the user besides X-Auth-User and X-Auth-Session: email is sent as "
                + "X-Auth-Email, and so on. email and phone_number are sent only if a provider has verified them; the "
                + "other attributes are as the user wrote them.")
    ]
}

/// An attribute of a user that a proxy can get. The names are those of the attributes in the API.
package enum ForwardedAttribute: String, Sendable, CaseIterable {
    case email
    case phoneNumber = "phone_number"
    case username
    case name
    case givenName = "given_name"
    case familyName = "family_name"
    case postalCode = "postal_code"
    case userID = "user_id"
    case clientID = "client_id"

    /// `X-Auth-Phone-Number` for `phone_number`.
    var field: HTTPField.Name {
        let words = rawValue.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }
        // Each text is a token, so the fallback is never used.
        return HTTPField.Name("X-Auth-" + words.joined(separator: "-")) ?? .from
    }

    /// Nil if there is none. An address or a number that no provider vouches for may be another user's.
    func value(of holder: SessionAndUser) -> String? {
        let (user, assertions) = (holder.user, holder.user.assertions)
        return switch self {
        case .email: assertions?.email == nil ? nil : user.profile[.email]
        case .phoneNumber: assertions?.phoneNumber == nil ? nil : user.profile[.phoneNumber]
        case .username: user.profile[.username]
        case .name: user.profile[.name]
        case .givenName: user.profile[.givenName]
        case .familyName: user.profile[.familyName]
        case .postalCode: user.profile[.postalCode]
        case .userID: String(user.id.number)
        case .clientID: holder.session.clientID
        }
    }
}

/// `GET /auth/verify`: tells a reverse proxy whose request it has, before the proxy sends it to an application
/// (docs/forward-authentication.md).
struct ForwardAuthentication: Sendable {
    typealias Attributes = [(field: HTTPField.Name, attribute: ForwardedAttribute)]

    static let path = "/auth/verify"
    /// Of Envoy, which appends the path of the request, and keeps its method. No route may fit the whole: a provider's
    /// routes are below `/auth`, and some of them respond with 200 to anybody.
    static let prefix = "/forward-auth"

    private let attributes: Attributes

    init(_ settings: ServicesSettings) { attributes = settings.attributes.map { ($0.field, $0) } }

    func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        let handler = handler(of: api)
        router.get(Self.path, handler)
        // A proxy that keeps the method would take the usual response to it for a permission, also that to a preflight.
        router.on(.options, Self.path, handler)
        let files = router.files
        router.files = { request in
            guard request.path.hasPrefix(Self.prefix + "/") else { return try await files?(request) }
            return try await handler(request).run()
        }
    }

    /// Admits a proxy by its address, or by an API key; an allowed origin is the browser's, not the proxy's.
    private func handler(of api: LatchkeyAPI) -> ImmediateHandler {
        let attributes = attributes
        let keyed = api.admitting(
            .keyed,
            immediate: { api, request, admission in
                guard admission.isByKey else { throw APIError.invalidAPIKey }
                return try ForwardedRequest(request, of: api, admission: admission, attributes: attributes).verify()
            })
        return { request in
            guard request.headers.count(of: .apiKey) == 0, api.isForwarded(request) else { return try keyed(request) }
            return try ForwardedRequest(request, of: api, admission: nil, attributes: attributes).verify()
        }
    }
}

/// A request that a proxy asks about.
struct ForwardedRequest: Sendable {
    private let request: Request
    private let api: LatchkeyAPI
    private let admission: Admission?
    private let attributes: ForwardAuthentication.Attributes

    /// - Parameters:
    ///   - admission: Of a proxy with an API key; nil for a trusted one.
    ///   - attributes: What the proxy is told.
    init(
        _ request: Request, of api: LatchkeyAPI, admission: Admission?, attributes: ForwardAuthentication.Attributes
    ) {
        self.request = request
        self.api = api
        self.admission = admission
        self.attributes = attributes
    }

    /// At once for a session in memory; otherwise it may throw `temporarily_unavailable`, which no proxy takes for
    /// "signed out".
    func verify() throws -> ValueOrTask<Response> {
        let token: Secret
        do throws(APIError) {
            if request.headers.count(of: .authorization) == 0, let cookie = api.cookies.session(of: request) {
                token = cookie
            } else {
                token = try request.bearerToken().secret
            }
        } catch {
            return .value(try refusal(error))
        }
        switch api.useCases.sessions.lookUp(token) {
        case .value(let holder): return .value(try response(to: holder))
        case .task(let work): return .task { try response(to: try await work()) }
        }
    }

    private func response(to holder: SessionAndUser?) throws -> Response {
        guard let holder else { return try refusal(.sessionInvalid) }
        try admission?.check(holder.session.clientID)
        var fields: HTTPFields = [.cacheControl: "no-store"]
        fields.append(HTTPField(name: .authUser, value: holder.user.publicID))
        fields.append(HTTPField(name: .authSession, value: holder.session.id))
        // Also an empty one: in some proxies, a field that is left out would stay as the client sent it.
        for (field, attribute) in attributes {
            fields.append(HTTPField(name: field, value: Self.fieldText(attribute.value(of: holder) ?? "")))
        }
        return Response(status: .ok, headers: fields)
    }

    /// A text as a field can have it: all but printable ASCII characters, and `%`, are percent-encoded.
    static func fieldText(_ text: String) -> String {
        func isPlain(_ scalar: Unicode.Scalar) -> Bool { (" "..."~").contains(scalar) && scalar != "%" }
        guard !text.unicodeScalars.allSatisfy(isPlain) else { return text }
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars {
            if isPlain(scalar) {
                bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            } else {
                PercentEncoding.append(String(scalar), to: &bytes)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Without a session

    /// 303 to the sign-in page for a browser that navigates; for `redirect=false`, as nginx needs it, 401 with the same
    /// `Location`.
    /// - Throws: The error for all others.
    private func refusal(_ error: APIError) throws -> Response {
        let query = isAppended ? Query() : try request.query
        guard request.prefersHTML, let base = api.baseURL.url, let redirects = api.redirects else { throw error }
        let location = base + redirects.signInPage(returningTo: query["rd"] ?? original)
        guard query["redirect"] == "false" else { return .redirect(to: location) }
        var error = error
        error.headers[.location] = location
        throw error
    }

    /// The URL of a navigation that a trusted proxy has sent on; nil if it is not known, or if it was a form, which
    /// cannot be sent again.
    private var original: String? {
        guard api.isForwarded(request), let scheme = request.headers[.forwardedProto] else { return nil }
        guard ["GET", "HEAD"].contains(request.headers[.forwardedMethod] ?? request.method.rawValue) else { return nil }
        guard let host = request.headers[.forwardedHost] ?? request.headers[.host],
            let target = request.headers[.forwardedURI] ?? (isAppended ? appendedTarget : nil)
        else { return nil }
        return "\(scheme)://\(host)\(target)"
    }

    /// Whether the path and query are the application's, behind those of the route.
    private var isAppended: Bool { request.path != ForwardAuthentication.path }

    private var appendedTarget: String {
        let path = request.path.dropFirst(ForwardAuthentication.prefix.count)
        var bytes: [UInt8] = []
        for segment in path.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            bytes.append(UInt8(ascii: "/"))
            PercentEncoding.append(String(segment), to: &bytes)
        }
        return String(decoding: bytes, as: UTF8.self) + (request.head.rawQuery.map { "?" + $0 } ?? "")
    }
}

extension HTTPField.Name {
    // Each text is a token, so the fallback is never used.
    fileprivate static let authUser = HTTPField.Name("X-Auth-User") ?? .from
    fileprivate static let authSession = HTTPField.Name("X-Auth-Session") ?? .from
    fileprivate static let forwardedProto = HTTPField.Name("X-Forwarded-Proto") ?? .from
    fileprivate static let forwardedMethod = HTTPField.Name("X-Forwarded-Method") ?? .from
    fileprivate static let forwardedHost = HTTPField.Name("X-Forwarded-Host") ?? .from
    fileprivate static let forwardedURI = HTTPField.Name("X-Forwarded-Uri") ?? .from
}
