import Primitives

/// What a carrier tells of a user: the claims of the scopes that were consented to, in the carrier's shape.
struct UserInfo: Sendable {
    let grant: Grant
    let site: CarrierSite

    private var user: CarrierSimulator.User { grant.user }

    /// Of a provider without ID tokens, as Zoom's `users/me` has it.
    private var account: JSONMembers {
        var account: JSONMembers = [
            "first_name": .text(user.givenName), "last_name": .text(user.familyName),
            "display_name": .text(user.name), "email": .text(user.email), "type": .number(1),
        ]
        account["id"] = subject
        return account
    }

    var claims: JSONMembers {
        guard site.carrier.hasIDTokens else { return account }
        var claims: JSONMembers = [:]
        claims["sub"] = subject
        for scope in grant.terms.scopes {
            switch site.carrier.userInfoShape {
            case .flat: addFlat(scope, to: &claims)
            case .nested: addNested(scope, to: &claims)
            }
        }
        return claims
    }

    private var subject: JSON? {
        if site.has(.userInfoMissingSubject) { return nil }
        if site.has(.userInfoWrongSubject) { return .text("\(site.mccmnc)-somebody-else") }
        let subject = JSON.text(
            Subject.identifier(mccmnc: site.mccmnc, clientID: grant.terms.clientID, userID: user.id))
        return site.has(.userInfoSubjectArray) ? .array([subject]) : subject
    }

    /// The form of OpenID Connect Core section 5.1, with the flags as strings that carriers send.
    private func addFlat(_ scope: String, to claims: inout JSONMembers) {
        switch scope {
        case "name", "profile":
            claims["name"] = .text(user.name)
            claims["given_name"] = .text(user.givenName)
            claims["family_name"] = .text(user.familyName)
        case "email":
            claims["email"] = .text(user.email)
            claims["email_verified"] = "true"
        case "phone":
            claims["phone_number"] = .text(user.phoneNumber)
            claims["phone_number_verified"] = "true"
        case "address": claims["address"] = .object(address)
        case "birthdate": claims["birthdate"] = .text(user.birthdate)
        case "postal_code": claims["postal_code"] = .text(user.postalCode)
        default: claims[scope] = answer(to: scope).map { .text($0 ? "true" : "false") }
        }
    }

    /// ZenKey's form, with an object for each attribute.
    private func addNested(_ scope: String, to claims: inout JSONMembers) {
        switch scope {
        case "name", "profile":
            claims["name"] = [
                "value": .text(user.name), "given_name": .text(user.givenName), "family_name": .text(user.familyName),
            ]
        case "email": claims["email"] = ["value": .text(user.email)]
        case "phone": claims["phone"] = ["value": .text(user.phoneNumber)]
        case "address": claims["address"] = ["value": .object(address)]
        case "birthdate": claims["birthdate"] = ["value": .text(user.birthdate)]
        case "postal_code": claims["postal_code"] = ["value": .text(user.postalCode)]
        default: claims[scope] = answer(to: scope).map { ["value": .flag($0)] }
        }
    }

    private var address: JSONMembers {
        [
            "formatted": .text("\(user.streetAddress)\n\(user.locality), \(user.region) \(user.postalCode)"),
            "street_address": .text(user.streetAddress), "locality": .text(user.locality),
            "region": .text(user.region), "postal_code": .text(user.postalCode), "country": "US",
        ]
    }

    /// Whether the user is of an age. Every invented user is grown up; `openid` asks for no claim.
    private func answer(to scope: String) -> Bool? {
        ["is_adult_18", "is_adult_21", "is_over_13"].contains(scope) ? true : nil
    }
}
