import LatchkeyService

/// What the demonstration tells whoever started it.
enum DemoGuide {
    static func text(_ guide: Demo.Guide) -> String {
        """

        Latchkey \(LatchkeyVersion.text) is at \(guide.serverURL), the simulated carriers are at \(guide.simulatorURL).
        Users are kept in \(guide.database). Stop it with Ctrl-C.

        \(browser(guide))

        Sign a user in with curl (the first one plays the app that got a code from the carrier):

            curl -sS -X POST \(guide.simulatorURL)/demo/codes |
              curl -sS \(guide.serverURL)/auth/zenkey-signin \\
                -H 'X-API-KEY: \(guide.apiKey)' -H 'Content-Type: application/json' -d @-

        Then, with the token that it was answered:

            curl -sS \(guide.serverURL)/users/me -H 'X-API-KEY: \(guide.apiKey)' -H 'Authorization: Bearer TOKEN'
            curl -sS -X DELETE \(guide.serverURL)/auth/token -H 'X-API-KEY: \(guide.apiKey)' -H 'Authorization: Bearer TOKEN'

        """
    }

    private static func browser(_ guide: Demo.Guide) -> String {
        guard guide.hasPages else {
            return """
                There are no pages here to open in a browser: they are in Public, a folder of Latchkey's sources. Start the
                demo in the folder that has it to see each call beside what you do.
                """
        }
        return """
            Open it in a browser, and read each call beside what you do:

                \(guide.serverURL)/
            """
    }
}
