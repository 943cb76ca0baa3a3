import HTTPServer
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// The page `/register`: what the provider sent, and the form to complete it.
struct RegistrationPage {
    enum Refusal {
        /// The form belongs to another registration of the same browser.
        case otherRegistration
        /// An error of the registration, and what is wrong with each attribute.
        case refused(APIError, UserAttributes<String>)
    }

    let registration: PendingRegistration
    /// The provider's further claims, which a registration stores.
    let claims: ConsentedClaims
    /// What a registration must have.
    let required: [UserAttribute]
    /// ``RegistrationCookie/formID``
    let id: String
    /// The path below which a proxy serves this server.
    let path: String
    /// Where the browser goes if the user does not register, below ``path``.
    let exit: String
    var entries = UserAttributes<String>()
    var refusal: Refusal?

    /// The provider's attributes, which a registration stores unless the form has others.
    private var profile: Profile { registration.profile.withReachableEmail }

    /// The entries that are not the provider's values. Those count as sent: a provider may write a value in a form that
    /// a user may not enter.
    var changes: UserAttributes<String> {
        var changes = UserAttributes<String>()
        for attribute in entries.present {
            guard let entry = entries[attribute], !isSent(entry, attribute) else { continue }
            changes[attribute] = entry
        }
        return changes
    }

    var response: Response {
        var response = BrowserPages.page(
            status, below: path, title: "One more step: register", [notice, sent, form].joined(separator: "\n"),
            forms: .thisSite)
        // Without it older browsers omit a form's origin, and the form is refused.
        response.headers[.referrerPolicy] = "same-origin"
        if case .refused(let error, _) = refusal { response.headers.append(contentsOf: error.headers) }
        return response
    }

    private var status: HTTPResponse.Status {
        switch refusal {
        case nil: .ok
        case .otherRegistration: .badRequest
        case .refused(let error, _): error.status
        }
    }

    private var notice: String {
        switch refusal {
        case nil: "<p>You have no account here yet.</p>"
        case .otherRegistration:
            Self.problem(
                "This form was for another sign-in of this browser. Check what is shown now, and register again.")
        case .refused(let error, let problems):
            Self.problem(
                problems.present.isEmpty
                    ? error.userMessage
                    : "You are not registered yet. Please correct what is marked below.")
        }
    }

    // What the provider sent.

    private var sent: String {
        let attributes = profile.present.map { attribute in
            (attribute.field.label, profile[attribute] ?? "", registration.verified[attribute] ?? false)
        }
        let facts =
            attributes + claims.present.map { (Self.label($0), claims[$0].map(Self.text) ?? "", false) }
        let source = AppRedirectURI.origin(of: registration.identity.issuer)?.split(ascii: "/").last.map(String.init)
        let provider = source.map { " (<code>\(HTML.escaped($0))</code>)" } ?? ""
        guard !facts.isEmpty else {
            return "<p>The provider\(provider) has identified you, and has sent nothing else about you.</p>"
        }
        let items = facts.map { name, value, isVerified in
            "<dt>\(HTML.escaped(name))</dt><dd><bdi>\(HTML.escaped(value))</bdi>"
                + (isVerified ? " <span class=\"given\">· verified</span>" : "") + "</dd>"
        }
        return """
            <h2>What the provider sent</h2>
            <p class="quiet">The provider\(provider) has identified you, and has sent this. It is stored here when you \
            register.</p>
            <dl class="facts">
            \(items.joined(separator: "\n"))
            </dl>
            """
    }

    // The form.

    private var form: String {
        let (known, asked) = (shown.filter(isKnown), shown.filter { !isKnown($0) })
        let isChanged = known.contains { changes[$0] != nil || problem(with: $0) != nil }
        let changeable = """
            <details class="wide"\(isChanged ? " open" : "")>
            <summary>Change what is stored</summary>
            <p class="quiet">An empty field keeps what the provider sent.</p>
            <div class="fields">
            \(known.map(field).joined(separator: "\n"))
            </div>
            </details>
            """
        return """
            <form class="fields" method="post" action="\(HTML.escaped(path))/register">
            <input type="hidden" name="registration" value="\(HTML.escaped(id))">
            \(asked.map(field).joined(separator: "\n"))
            \(known.isEmpty ? "" : changeable)
            <p class="actions"><button class="primary" type="submit">Register</button>
            <a href="\(HTML.escaped(path + exit))">Not now</a></p>
            </form>
            """
    }

    /// The attributes that have a field: the parts of a name only if they are required or were sent.
    private var shown: [UserAttribute] {
        UserAttribute.allCases.filter { attribute in
            ![.givenName, .familyName].contains(attribute) || isKnown(attribute) || required.contains(attribute)
        }
    }

    private func isKnown(_ attribute: UserAttribute) -> Bool { profile[attribute] != nil }

    private func isSent(_ entry: String, _ attribute: UserAttribute) -> Bool {
        profile[attribute]?.hasSameBytes(as: entry) ?? false
    }

    private func field(_ attribute: UserAttribute) -> String {
        let name = attribute.registrationName
        let problem = problem(with: attribute)
        let isRequired = required.contains(attribute)
        let hint = isKnown(attribute) || isRequired ? "" : " <span>(optional)</span>"
        let marks =
            (isRequired && !isKnown(attribute) ? " required" : "")
            + (problem == nil ? "" : " aria-invalid=\"true\" aria-describedby=\"\(name)-problem\"")
        let value = entries[attribute] ?? profile[attribute] ?? ""
        return """
            <div><label for="\(name)">\(HTML.escaped(attribute.field.label))\(hint)</label>
            <input id="\(name)" name="\(name)" value="\(HTML.escaped(value))" \(attribute.field.input)\(marks)>\
            \(problem.map { "\n<p class=\"problem\" id=\"\(name)-problem\">\(HTML.escaped($0))</p>" } ?? "")</div>
            """
    }

    private func problem(with attribute: UserAttribute) -> String? {
        guard case .refused(let error, let problems) = refusal else { return nil }
        if attribute == .email, error.code == SignInError.Code.emailDomainBlocked.rawValue { return error.userMessage }
        return problems[attribute].map { "\(attribute.field.label) \($0)." }
    }

    // Texts.

    private static func problem(_ text: String) -> String {
        "<p class=\"problem\" role=\"alert\">\(HTML.escaped(text))</p>"
    }

    private static func label(_ claim: ConsentedClaim) -> String {
        switch claim {
        case .address: "Address"
        case .birthdate: "Date of birth"
        case .last4Social: "Last four digits of the social security number"
        case .isAdult: "Adult"
        case .isAdult18: "18 or older"
        case .isAdult21: "21 or older"
        case .isOver13: "Over 13"
        case .proofing: "Identity checked"
        }
    }

    private static func text(_ value: ConsentedClaims.Value) -> String {
        switch value {
        case .text(let text): text
        case .flag(let flag): flag ? "yes" : "no"
        case .address(let members):
            members[.formatted]
                ?? ConsentedClaims.AddressMember.allCases.compactMap { members[$0] }.joined(separator: ", ")
        }
    }
}
