import LatchkeyService

/// The text that `latchkey demo` prints.
package enum DemoGuide {
    /// The addresses, and curl commands to try.
    package static func text(_ guide: Demo.Guide) -> String {
        """

        Latchkey \(LatchkeyVersion.text) is at \(guide.serverURL), the simulated carriers are at \(guide.simulatorURL).
        Users are stored in \(guide.database). Stop with Ctrl-C.

        \(browser(guide))

        Sign a user in with curl (the first command plays the app that receives a code from the carrier):

            curl -sS -X POST \(guide.simulatorURL)/demo/codes |
              curl -sS \(guide.serverURL)/auth/zenkey-signin \\
                -H 'X-API-KEY: \(guide.apiKey)' -H 'Content-Type: application/json' -d @-

        Then, with the token of the response:

            curl -sS \(guide.serverURL)/users/me -H 'X-API-KEY: \(guide.apiKey)' -H 'Authorization: Bearer TOKEN'
            curl -sS -X DELETE \(guide.serverURL)/auth/token -H 'X-API-KEY: \(guide.apiKey)' \\
              -H 'Authorization: Bearer TOKEN'
        """
    }

    private static func browser(_ guide: Demo.Guide) -> String {
        guard guide.hasPages else {
            return """
                There are no pages here to open in a browser: they are in the folder Public of Latchkey's sources. Start
                the demo in the folder above it to see each call beside your actions.
                """
        }
        return """
            Open it in a browser to see each call beside your actions:

                \(guide.serverURL)/
            """
    }
}
