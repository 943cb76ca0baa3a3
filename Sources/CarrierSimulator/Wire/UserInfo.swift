import Primitives

/// A userinfo response: the claims of the granted scopes, in the carrier's shape.
struct UserInfo: Sendable {
    let grant: Grant
    let user: CarrierSimulator.User
    let site: CarrierSite
    var query = Parameters()

    var claims: JSONMembers {
        if let standIn = site.carrier.standIn, var facts = grant.facts {
            facts.query = query
            return standIn.user?(facts) ?? JSONMembers()
        }
        guard site.carrier.hasIDTokens else { return account }
        var claims = JSONMembers()
        claims["sub"] = subject
        for scope in grant.terms.scopes {
            let attributes = attributes(of: scope)
            switch site.carrier.userInfoShape {
            case .flat:
                for (name, value) in attributes { claims[name] = value.bool == true ? "true" : value }
                // Carriers send these flags as strings.
                if scope == "email" { claims["email_verified"] = "true" }
                if scope == "phone" { claims["phone_number_verified"] = "true" }
            case .nested:
                // ZenKey's form, with an object for each scope's attribute.
                guard let (_, value) = attributes.first else { continue }
                let members = [("value", value)] + attributes.dropFirst()
                claims[scope == "profile" ? "name" : scope] = JSONMembers(members: members).value
            }
        }
        return claims
    }

    /// The user endpoint of a provider without ID tokens, in the form of Zoom's `users/me`.
    private var account: JSONMembers {
        var account: JSONMembers = [
            "first_name": .string(user.givenName), "last_name": .string(user.familyName),
            "display_name": .string(user.name), "email": .string(user.email), "type": 1,
        ]
        account["id"] = subject
        return account
    }

    private var subject: JSONValue? {
        if site.has(.userInfoMissingSubject) { return nil }
        if site.has(.userInfoWrongSubject) { return .string("\(site.mccmnc)-another-subject") }
        return site.has(.userInfoSubjectArray) ? .array([.string(grant.subject)]) : .string(grant.subject)
    }

    /// The claims of a scope (OpenID Connect Core section 5.1). Every simulated user has the same birthday and street.
    private func attributes(of scope: String) -> [(name: String, value: JSONValue)] {
        switch scope {
        case "name", "profile":
            [
                ("name", .string(user.name)), ("given_name", .string(user.givenName)),
                ("family_name", .string(user.familyName)),
            ]
        case "email": [("email", .string(user.email))]
        case "phone": [("phone_number", .string(user.phoneNumber))]
        case "address": [("address", address)]
        case "birthdate": [("birthdate", "1984-05-17")]
        case "postal_code": [("postal_code", .string(user.postalCode))]
        case "last_4_social": [("last_4_social", "0042")]
        case "is_adult", "is_adult_18", "is_adult_21", "is_over_13", "proofing": [(scope, true)]
        default: []
        }
    }

    private var address: JSONValue {
        [
            "formatted": .string("1 Harbor Street\nSpringfield, OR \(user.postalCode)"),
            "street_address": "1 Harbor Street", "locality": "Springfield", "region": "OR",
            "postal_code": .string(user.postalCode), "country": "US",
        ]
    }
}
