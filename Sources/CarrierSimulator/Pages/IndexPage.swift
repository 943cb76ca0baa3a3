/// The simulator's front page: what is here, and how to use it without a browser.
enum IndexPage {
    static func html(carriers: [CarrierSimulator.Carrier], base: String) -> HTML {
        Page.html(
            title: "Carrier simulator",
            """
            <h1>Carrier simulator</h1>
            <p>Carriers to sign in with where there are none.</p>
            <h2>Discovery</h2>
            <pre><code>\(base)/.well-known/openid_configuration?client_id=…&amp;mccmnc=…</code></pre>
            <h2>Carriers</h2>
            <ul class="plain">
            \(carriers.map(entry))
            </ul>
            <h2>A code without a browser</h2>
            <pre><code>curl -s \(base)/demo/codes -d mccmnc=\(carriers.first?.mccmnc ?? "")</code></pre>
            <h2>A carrier that misbehaves</h2>
            <pre><code>curl -s \(base)/carriers/\(carriers.first?.mccmnc ?? "")/faults -d faults=id-token-expired</code></pre>
            <p class="note">Without faults the same address turns them all off; a GET of it lists them.</p>
            """)
    }

    private static func entry(_ carrier: CarrierSimulator.Carrier) -> HTML {
        let path = "/carriers/\(carrier.mccmnc)"
        return """
            <li><strong>\(carrier.name)</strong> <span>\(carrier.mccmnc), \(carrier.signingAlgorithm.rawValue)</span><br>
            <a href="\(path)/.well-known/openid-configuration">configuration</a>
            <a href="\(path)/jwks">keys</a>
            <a href="\(path)/faults">faults</a></li>

            """
    }
}
