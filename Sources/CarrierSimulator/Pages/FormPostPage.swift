/// The page whose form takes the authorization response to the relying party (OAuth 2.0 Form Post Response Mode). A
/// real provider's script sends it at once; here a person does.
enum FormPostPage {
    static func html(_ response: Parameters, to redirectURI: String, site: CarrierSite) -> HTML {
        Page.html(
            title: "Sign in with \(site.carrier.name)", of: .of(site.carrier),
            """
            <h1>Back to the app</h1>
            <form method="post" action="\(redirectURI)">
            \(Page.hiddenFields(response))
            <div class="actions">
            <button class="primary" type="submit">Continue</button>
            </div>
            </form>
            """)
    }
}
