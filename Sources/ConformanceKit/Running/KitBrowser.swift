import CarrierSimulator
import Crypto
import HTTPServer
import HTTPTypes
import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn

/// Plays an app and a browser against one private server, without sockets: it calls the handlers of the server and of
/// the simulator. Only the server's own requests to the provider use a socket, on loopback.
struct KitBrowser: Sendable {
    let target: KitTarget
    let simulator: CarrierSimulator
    let server: Handler

    /// The response to an app or browser.
    struct Answer: Sendable {
        let status: Int
        let location: String
        let body: JSONObject?
        let cookies: [String]

        init(_ response: Response) {
            status = response.status.code
            location = response.headers[.location] ?? ""
            body = (try? JSONValue(parsing: response.body))?.object
            cookies = response.headers[values: .setCookie].map { String($0.prefix { $0 != ";" }) }
        }

        /// The parameters of ``location``.
        var parameters: Query {
            location.firstIndex(of: "?").flatMap { Query(String(location[location.index(after: $0)...])) } ?? Query()
        }

        subscript(name: String) -> String? { body?[name]?.string }
    }

    // MARK: An app with a code

    /// The fields of a sign-in whose user approved.
    /// - Parameter redirectURI: Nil for the client's own.
    func approved(
        nonce: String, acr: String?, at redirectURI: String? = nil
    ) throws -> [(name: String, value: String)] {
        let redirectURI = redirectURI ?? target.codeURI
        let verifier = RandomSource.system.token()
        let client = target.settings.client.id.text
        let code = try simulator.issueCode(
            mccmnc: target.settings.isOfCarriers ? KitTarget.network : KitTarget.providerName, clientID: client,
            redirectURI: redirectURI,
            codeChallenge: Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8)))), nonce: nonce,
            scope: scope, acr: acr)
        var fields = [
            ("client_id", client), ("code", code), ("redirect_uri", redirectURI), ("code_verifier", verifier),
            ("nonce", nonce), ("scope", scope),
        ]
        if target.settings.isOfCarriers { fields.append(("mccmnc", KitTarget.network)) }
        if let acr { fields.append(("acr_values", acr)) }
        return fields
    }

    /// The scopes of a sign-in that also requests the user's claims.
    private var scope: String { target.settings.isOfCarriers ? "openid name email" : "openid profile email" }

    /// A nonce, from the server where the client's must be.
    func nonce() async throws -> String {
        guard target.settings.client.nonce == .issued else { return RandomSource.system.token(bytes: 16) }
        return try await post("/auth/\(target.provider)/attempts", [])["nonce"] ?? ""
    }

    func signIn(_ fields: [(name: String, value: String)]) async throws -> Answer {
        try await post("/auth/\(target.provider)/sign-in", fields)
    }

    private func post(_ path: String, _ fields: [(name: String, value: String)]) async throws -> Answer {
        let json = JSONMembers(members: fields.map { ($0.name, .string($0.value)) })
        var headers: HTTPFields = [.contentType: "application/json"]
        if let name = HTTPField.Name("X-API-KEY") { headers[name] = target.apiKey.exposed }
        return Answer(try await server(Request(.post, path, headers: headers, body: json.serialized)))
    }

    // MARK: A browser

    /// Begins a sign-in by redirects.
    func start(
        _ type: String = "web", at redirectURI: String = KitTarget.webURI, acr: String? = nil
    ) async throws -> Answer {
        var items = [
            (name: "client_type", value: type), (name: "client_id", value: target.settings.client.id.text),
            (name: "redirect_uri", value: redirectURI), (name: "scope", value: scope),
        ]
        if target.settings.isOfCarriers { items.append(("mccmnc", KitTarget.network)) }
        if let acr { items.append(("acr_values", acr)) }
        return try await get("/auth/\(target.provider)/start?" + Self.form(items))
    }

    /// The user approves at the provider. Returns the parameters with which the browser comes back.
    func approve(_ started: Answer) async throws -> [(name: String, value: String)] {
        var items = started.parameters.items.map { (name: $0.name, value: $0.value) }
        let headers: HTTPFields = [
            .contentType: "application/x-www-form-urlencoded", .accept: "application/json",
        ]
        // The simulator's router takes paths.
        let endpoint = String(
            started.location.dropFirst((simulator.baseURL ?? "").utf8.count).prefix { $0 != "?" })
        if items.contains(where: { $0.name == "request_uri" }) {
            // A pushed request must be shown before it is decided.
            _ = try await simulator.router.respond(to: Request(.get, endpoint + "?" + Self.form(items)))
        }
        items.removeAll { $0.value.isEmpty }
        let response = try await simulator.router.respond(
            to: Request(.post, endpoint + "/approve", headers: headers, body: Array(Self.form(items).utf8)))
        let answer = Answer(response)
        let members = answer.body?.members.map { (name: $0.name, value: $0.value.string ?? "") } ?? []
        let shown = answer.body == nil ? answer.parameters.items.map { (name: $0.name, value: $0.value) } : members
        return shown.filter { $0.name != "redirect_uri" && $0.name != "location" }
    }

    /// Brings an authorization response to the server, as a redirect or by a form.
    func comeBack(_ items: [(name: String, value: String)], cookies: [String]) async throws -> Answer {
        let path = "/auth/\(target.provider)/callback"
        guard [.formPost, .formPostJWT].contains(target.settings.responseMode)
        else { return try await get(path + "?" + Self.form(items), cookies: cookies) }
        var headers: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
        if !cookies.isEmpty { headers[.cookie] = cookies.joined(separator: "; ") }
        // As the page sends it that the server shows to a form without cookies.
        let form = Self.form(items + [("sent_again", "true")])
        return Answer(try await server(Request(.post, path, headers: headers, body: Array(form.utf8))))
    }

    private func get(_ target: String, cookies: [String] = []) async throws -> Answer {
        var headers: HTTPFields = [:]
        if !cookies.isEmpty { headers[.cookie] = cookies.joined(separator: "; ") }
        return Answer(try await server(Request(.get, target, headers: headers)))
    }

    private static func form(_ items: [(name: String, value: String)]) -> String {
        String(decoding: PercentEncoding.form(items), as: UTF8.self)
    }
}
