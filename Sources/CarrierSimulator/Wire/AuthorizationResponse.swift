import Primitives

/// An authorization response, which the browser carries to the relying party (RFC 6749 section 4.1.2, RFC 9207, and
/// ZenKey's `mccmnc` and `correlation_id`).
struct AuthorizationResponse: Sendable {
    enum Outcome: Sendable {
        case code(String)
        case refusal(CarrierSimulator.Refusal)
    }

    let returning: ReturnAddress
    let site: CarrierSite
    let outcome: Outcome

    /// The redirect URI with the parameters added.
    var location: String { FormCoding.url(returning.redirectURI, adding: parameters) }

    /// The same parameters as members of an object, with `redirect_uri` and `location`.
    var json: JSONMembers {
        var object = JSONMembers()
        for parameter in parameters { object[parameter.name] = .string(parameter.value) }
        object["redirect_uri"] = .string(returning.redirectURI)
        object["location"] = .string(location)
        return object
    }

    private var parameters: [(name: String, value: String?)] {
        let ofCarrier: [(name: String, value: String?)] = [
            ("mccmnc", site.mccmnc), ("correlation_id", returning.correlationID),
        ]
        let shared = [("state", state)] + (site.carrier.isCarrier ? ofCarrier : []) + [("iss", issuer)]
        return switch outcome {
        case .code(let code): [("code", code)] + shared
        case .refusal(let refusal): [("error", refusal.code), ("error_description", refusal.reason)] + shared
        }
    }

    private var state: String? {
        if site.has(.authorizationMissingState) { return nil }
        return site.has(.authorizationOtherState) ? "not-the-state-that-was-sent" : returning.state
    }

    private var issuer: String? {
        if site.has(.authorizationMissingIssuer) { return nil }
        if site.has(.authorizationOtherIssuer) { return "https://example.org/" }
        return site.carrier.hasIDTokens ? site.issuer : nil
    }
}
