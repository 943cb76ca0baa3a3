import LatchkeyService

/// The text that `latchkey demo` prints.
package enum DemoGuide {
    private static let debugNote = """

        This is a debug build: times and memory say nothing about the release build, which `make build` makes.
        """

    /// The addresses, and curl commands to try.
    package static func text(_ guide: Demo.Guide, isDebugBuild: Bool = LatchkeyVersion.isDebugBuild) -> String {
        """

        Latchkey \(LatchkeyVersion.text) is at \(guide.serverURL), the simulated carriers are at \(guide.simulatorURL).
        Users are stored in \(guide.database). Stop with Ctrl-C.\(isDebugBuild ? debugNote : "")

        Open it in a browser to see each call beside your actions:

            \(guide.serverURL)/

        Sign a user in with curl (the first command plays the app that receives a code from the carrier):

            curl -sS -X POST \(guide.simulatorURL)/demo/codes |
              curl -sS \(guide.serverURL)/auth/zenkey-signin \\
                -H 'X-API-KEY: \(guide.apiKey)' -H 'Content-Type: application/json' -d @-

        Then, with the token of the response:

            curl -sS \(guide.serverURL)/users/me -H 'X-API-KEY: \(guide.apiKey)' -H 'Authorization: Bearer TOKEN'
            curl -sS -X DELETE \(guide.serverURL)/auth/token -H 'X-API-KEY: \(guide.apiKey)' \\
              -H 'Authorization: Bearer TOKEN'

        A failed sign-in leaves a capsule, which says why. In this folder:

            LATCHKEY_DATABASE_URL=sqlite:///\(guide.database) latchkey capsule list
        """
    }
}
