/// The page where a user sees a request and approves or denies it.
enum AuthorizationPage {
    static func html(site: CarrierSite, request: AuthorizationRequest, parameters: Parameters) -> HTML {
        let terms = request.terms
        return Page.html(
            title: "Sign in with \(site.carrier.name)", of: .of(site.carrier),
            """
            <h1>Sign in to <strong>\(terms.clientID)</strong></h1>
            \(terms.context.map(figure) ?? "")
            <form method="post" action="\(site.authorizationEndpoint)/approve">
            \(Page.hiddenFields(parameters, except: ["user"]))
            <fieldset>
            <legend>Who are you?</legend>
            \(users(site.carrier.users, chosen: request.hintedUserID))
            </fieldset>
            <section aria-labelledby="asked">
            <h2 id="asked">\(terms.clientID) requests</h2>
            <ul>
            \(terms.scopes.map { "<li>\(Scopes.meaning(of: $0))</li>\n" as HTML })
            </ul>
            </section>
            <p class="note">\(proof(terms.acr))</p>
            <div class="actions">
            <button class="primary" type="submit">Approve</button>
            <button type="submit" formaction="\(site.authorizationEndpoint)/deny">Deny</button>
            </div>
            </form>
            <p class="note">You return to <code>\(terms.redirectURI)</code></p>
            """)
    }

    private static func figure(of context: String) -> HTML {
        "<figure><figcaption>What you approve</figcaption><blockquote>\(context)</blockquote></figure>"
    }

    private static func users(_ users: [CarrierSimulator.User], chosen: String?) -> [HTML] {
        users.enumerated().map { index, user in
            let isChosen = chosen.map { $0 == user.id } ?? (index == 0)
            return Page.choice("user", user.id, isChecked: isChosen, user.name, user.phoneNumber)
        }
    }

    private static func proof(_ acr: String) -> String {
        if acr.isEmpty { return "The real provider gets no request. Here, a choice is enough." }
        return acr == "a1"
            ? "This device is sufficient proof (a1)."
            : "A real carrier would now require your PIN, fingerprint or face (a3). Here, a choice is enough."
    }
}
