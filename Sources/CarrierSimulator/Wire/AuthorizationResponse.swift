import HTTPServer
import HTTPTypes
import Primitives

/// An authorization response, which the browser carries to the relying party (RFC 6749 section 4.1.2, RFC 9207, and
/// ZenKey's `mccmnc` and `correlation_id`).
struct AuthorizationResponse: Sendable {
    let returning: ReturnAddress
    let site: CarrierSite
    /// The code.
    let outcome: Result<String, OAuthError>
    let simulator: CarrierSimulator

    /// A redirect to the redirect URI with the parameters added, or a page with a form of them.
    func response() async throws -> Response {
        let parameters = try await sentParameters()
        guard returning.isForm else {
            let status = site.carrier.operatorProfile == nil ? HTTPResponse.Status.seeOther : .found
            return .redirect(to: returning.redirectURI.adding(parameters), status: status)
        }
        return .page(FormPostPage.html(Parameters(parameters), to: returning.redirectURI, site: site))
    }

    /// The same parameters as members of an object, with `redirect_uri` and `location`.
    func json() async throws -> JSONMembers {
        var object = JSONMembers()
        let parameters = try await sentParameters()
        for parameter in parameters { object[parameter.name] = .string(parameter.value) }
        object["redirect_uri"] = .string(returning.redirectURI)
        object["location"] = .string(returning.redirectURI.adding(parameters))
        return object
    }

    /// The parameters, or the JWT in their place.
    private func sentParameters() async throws -> [(name: String, value: String?)] {
        guard returning.isSigned, !site.has(.jarmUnsigned) else { return parameters }
        let signed: [(name: String, value: String?)] = [("response", try await token())]
        return site.has(.jarmMixed) ? parameters + signed : signed
    }

    /// How long a signed response is valid, in seconds.
    private static let lifetime: Int64 = 120

    /// The response as a signed JWT (JARM section 2.1).
    private func token() async throws -> String {
        let now = simulator.clock.now()
        let key = try await CarrierKeys(site: site).signing()
        var draft = TokenDraft(
            .authorizationResponse, type: "JWT",
            claims: [
                "iss": .string(site.issuer), "aud": .string(returning.clientID),
                "exp": .time(now.advanced(bySeconds: Self.lifetime)),
            ], key: key, now: now)
        draft.apply(site.carrier.faults, prefix: "jarm-", .init(site: site, unpublishedKey: key, secret: Secret("")))
        for parameter in parameters where parameter.name != "iss" {
            draft.claims[parameter.name] = .string(parameter.value)
        }
        return try draft.serialized()
    }

    private var parameters: [(name: String, value: String?)] {
        let ofCarrier: [(name: String, value: String?)] = [
            ("mccmnc", site.mccmnc), ("correlation_id", returning.correlationID),
        ]
        let shared = [("state", state)] + (site.carrier.isCarrier ? ofCarrier : []) + [("iss", issuer)]
        return switch outcome {
        case .success(let code): [("code", code)] + simulator.firstParameters(with: code, at: site) + shared
        case .failure(let refusal): [("error", refusal.code), ("error_description", refusal.reason)] + shared
        }
    }

    private var state: String? {
        if site.has(.authorizationMissingState) { return nil }
        return site.has(.authorizationOtherState) ? "not-the-state-that-was-sent" : returning.state
    }

    private var issuer: String? {
        if site.has(.authorizationMissingIssuer) { return nil }
        if site.has(.authorizationOtherIssuer) { return "https://example.org/" }
        if site.has(.operatorNeighbourIssuer) { return simulator.otherOperator(than: site)?.issuer }
        if let standIn = site.carrier.standIn { return standIn.namesIssuer ? site.tokenIssuer : nil }
        return site.carrier.hasIDTokens ? site.issuer : nil
    }
}
