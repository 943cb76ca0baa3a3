/// The simulator's front page: the carriers, and commands for a shell.
enum IndexPage {
    static func html(carriers: [CarrierSimulator.Carrier], base: String) -> HTML {
        let first = carriers.first?.mccmnc ?? ""
        return Page.html(
            title: "Carrier simulator", of: .simulator,
            """
            <h1>Carrier simulator</h1>
            <p>Simulated mobile carriers to sign in with.</p>
            <h2>Discovery</h2>
            <pre><code>\(base)/.well-known/openid_configuration?client_id=…&amp;mccmnc=…</code></pre>
            <h2>Carriers</h2>
            <ul>
            \(carriers.map(entry))
            </ul>
            <h2>A code without a browser</h2>
            <pre><code>curl -s \(base)/demo/codes -d mccmnc=\(first)</code></pre>
            <h2>A carrier with a fault</h2>
            <pre><code>curl -s \(base)/carriers/\(first)/faults -d faults=id-token-expired</code></pre>
            <p class="note">A POST without faults turns all faults off; a GET lists them.</p>
            """)
    }

    private static func entry(_ carrier: CarrierSimulator.Carrier) -> HTML {
        let path = "/carriers/\(carrier.mccmnc)"
        return """
            <li><strong>\(carrier.name)</strong>
            <span>\(carrier.mccmnc), \(carrier.signingAlgorithm.rawValue)</span><br>
            <a href="\(path)/.well-known/openid-configuration">configuration</a>
            <a href="\(path)/jwks">keys</a>
            <a href="\(path)/faults">faults</a></li>

            """
    }
}
