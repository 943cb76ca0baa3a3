import HTTPServer
import HTTPTypes
import LatchkeyAPI
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn

/// The administrator's status page, complete without scripts. The script draws the plots and updates the page, in the
/// same form.
enum StatusPage {
    static func response(_ status: ServiceStatus) -> Response {
        BrowserPages.ofAdministrators(
            title: "Status", root: ".", isStatus: true, head: "<script type=\"module\" src=\"./status.js\"></script>\n",
            skip: "Skip to the numbers", attributes: " data-events=\"status/events\"",
            """
            <p class="lead">Version \(HTML.escaped(status.version)), up since \(time(status.startedAt)).</p>
            <p id="live" class="live" role="status">As it was at \(time(status.now)).</p>

            \(sections(status))
            """,
            foot: """
                Of this instance and kept in memory, unless a section says otherwise; without user data. For longer \
                periods: <code>/metrics</code>.
                """)
    }

    /// The capsule of a failure, for people: the lines that `latchkey capsule show` prints.
    /// - Parameter failure: The id of the failure, which the link to the JSON has.
    static func capsule(_ lines: [String], ofFailure failure: String) -> Response {
        let text = HTML.escaped(lines.joined(separator: "\n"))
        let link = "capsule?failure=\(HTML.escaped(failure))&amp;format=json"
        return BrowserPages.ofAdministrators(
            title: "Capsule of a failure", root: "..", skip: "Skip to the capsule",
            """
            <p><a href="../status">Back to status</a> · <a href="\(link)">JSON</a></p>
            <pre class="capsule" tabindex="0" aria-label="The capsule">\(text)</pre>
            """, foot: "What was requested, received and checked, without secrets and personal data.")
    }

    private static func sections(_ status: ServiceStatus) -> String {
        """
        <section aria-labelledby="sign-ins-title">
        <h2 id="sign-ins-title">Sign-ins in the last hour</h2>
        <dl id="outcomes" class="numbers">\(outcomes(status.lastHour))</dl>
        <div id="sign-ins" class="plot"></div>
        <details>
        <summary>Minute by minute, as a table</summary>
        <div class="wide" tabindex="0" role="region" aria-label="Sign-ins by minute">
        <table>
        <thead><tr>\(heads(["Minute"] + ServiceStatus.Outcomes.parts.map(\.label)))</tr></thead>
        <tbody id="minutes">\(minutes(status))</tbody>
        </table>
        </div>
        </details>
        </section>

        <section aria-labelledby="carriers-title">
        <h2 id="carriers-title">Providers</h2>
        <div id="carriers" class="cards">\(carriers(status))</div>
        </section>

        <section aria-labelledby="failures-title">
        <h2 id="failures-title">Recent failures</h2>
        <div class="wide" tabindex="0" role="region" aria-label="Recent failures, as a table">
        <table>
        <thead><tr>\(heads(failureHeads))</tr></thead>
        <tbody id="failures">\(failures(status))</tbody>
        </table>
        </div>
        </section>

        <section aria-labelledby="sessions-title">
        <h2 id="sessions-title">Sessions since the start</h2>
        <dl id="sessions" class="numbers">\(numbers(status.sessionFigures))</dl>
        </section>

        <section aria-labelledby="load-title">
        <h2 id="load-title">Load</h2>
        <dl id="load" class="numbers">\(numbers(status.loadFigures))</dl>
        </section>
        """ + status.tables.enumerated().map(section).joined()
    }

    private static func section(_ number: Int, _ table: StatusTable) -> String {
        let title = HTML.escaped(table.title)
        return """


            <section aria-labelledby="table-\(number)-title">
            <h2 id="table-\(number)-title">\(title)</h2>
            <p class="quiet">\(HTML.escaped(table.note))</p>
            <div class="wide" tabindex="0" role="region" aria-label="\(title), as a table">
            <table>
            <thead><tr>\(heads(table.heads.map(HTML.escaped)))</tr></thead>
            <tbody>\(table.rows.map { row($0.map(HTML.escaped)) }.joined())</tbody>
            </table>
            </div>
            </section>
            """
    }

    private static let failureHeads = [
        "When (UTC)", "What", "Provider", "Network", "Ended as", "Cause", "Capsule", "Check", "Step", "Ask",
    ]

    private static func counts(_ outcomes: ServiceStatus.Outcomes) -> [UInt64] {
        ServiceStatus.Outcomes.parts.map { outcomes[keyPath: $0.count] }
    }

    private static func outcomes(_ outcomes: ServiceStatus.Outcomes) -> String {
        ServiceStatus.Outcomes.parts.map { name, label, count in
            "<div><dt><span class=\"swatch \(name)\"></span>\(label)</dt>"
                + "<dd>\(outcomes[keyPath: count])</dd></div>"
        }.joined()
    }

    private static func minutes(_ status: ServiceStatus) -> String {
        let rows = status.minutes.reversed().filter { counts($0.outcomes).contains { $0 > 0 } }.map { minute in
            row([String(time(minute.beginning).dropLast(7)) + " UTC"] + counts(minute.outcomes).map(String.init))
        }
        let columns = ServiceStatus.Outcomes.parts.count + 1
        return rows.isEmpty ? nothing("No sign-ins yet.", columns: columns) : rows.joined()
    }

    private static func carriers(_ status: ServiceStatus) -> String {
        guard !status.carriers.isEmpty else { return "<p>No requests yet.</p>" }
        return status.carriers.map { carrier in
            let (source, openBreakers) = (carrier.source, carrier.openBreakers)
            let health =
                openBreakers.isEmpty
                ? "<span class=\"tag\">answers</span>"
                : "<span class=\"tag bad\">does not answer: "
                    + HTML.escaped(openBreakers.joined(separator: ", ")) + "</span>"
            let detail = source.issuer.isEmpty ? source.provider : "\(source.provider), \(source.issuer)"
            let mean = carrier.minutes.last { $0.figures.answered > 0 }?.figures.meanMilliseconds
            let keys = carrier.keysFetchedAt.map { span(status.now.seconds(since: $0)) }
            return """
                <article class="card"><div class="head"><h3>\(HTML.escaped(carrier.name))</h3>\(health)</div>\
                <p class="quiet">\(HTML.escaped(detail))</p><div class="plot"></div><dl class="facts">\
                <dt>Latest answers took</dt><dd>\(mean.map { "\(Int64($0.rounded())) ms" } ?? "–")</dd>\
                <dt>Answered, failed</dt><dd>\(carrier.figures.answered), \(carrier.figures.failed)</dd>\
                <dt>Age of its keys</dt><dd>\(keys ?? "–")</dd></dl></article>
                """
        }.joined()
    }

    private static func failures(_ status: ServiceStatus) -> String {
        guard !status.failures.isEmpty else { return nothing("None since the start.", columns: failureHeads.count) }
        return status.failures.map { failure in
            let report = failure.report
            let texts = [
                String(time(failure.at).dropLast(4)), report.kind.rawValue.replacing("_", with: " "),
                report.provider ?? "–", report.network?.text ?? "–", report.outcome.name,
            ]
            let others = [report.check?.rawValue ?? "–", report.failedStep?.rawValue ?? "–"]
            return row(
                texts.map(HTML.escaped) + [
                    wrapped(failure.cause ?? "–", class: "cause"),
                    status.capsule(of: failure).map {
                        "<a href=\"status/capsule?failure=\(HTML.escaped($0))\">show</a>"
                    } ?? "–",
                ] + others.map(HTML.escaped) + [wrapped(failure.ask, class: "ask")])
        }.joined()
    }

    private static func numbers(_ figures: [ServiceStatus.Figure]) -> String {
        figures.map { "<div><dt>\($0.label)</dt><dd>\($0.count)</dd></div>" }.joined()
    }

    private static func heads(_ texts: [String]) -> String {
        texts.map { "<th scope=\"col\">\($0)</th>" }.joined()
    }

    /// A text of several lines in a cell.
    private static func wrapped(_ text: String, class name: String) -> String {
        "<span class=\"\(name)\">\(HTML.escaped(text))</span>"
    }

    /// - Parameter cells: HTML.
    private static func row(_ cells: [String]) -> String {
        "<tr>" + cells.map { "<td>\($0)</td>" }.joined() + "</tr>"
    }

    private static func nothing(_ text: String, columns: Int) -> String {
        "<tr><td colspan=\"\(columns)\">\(text)</td></tr>"
    }

    /// Such as `2026-11-21 01:02:03 UTC`.
    private static func time(_ moment: Timestamp) -> String {
        let text = UTCTime.text(moment)
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) UTC"
    }

    private static func span(_ seconds: Int64) -> String {
        for (size, unit) in [(86400, "d"), (3600, "h"), (60, "min")] as [(Int64, String)] where seconds >= size {
            return "\(seconds / size) \(unit)"
        }
        return "\(max(0, seconds)) s"
    }
}

extension BrowserPages {
    /// A page for administrators: its bar leads to their other pages.
    /// - Parameter root: The relative path of the front page: a proxy or a tunnel may move the pages.
    fileprivate static func ofAdministrators(
        title: String, root: String, isStatus: Bool = false, head: String = "", skip: String, attributes: String = "",
        _ main: String, foot: String
    ) -> Response {
        var response = page(
            .ok, below: root, title: title, main,
            head: "<link rel=\"stylesheet\" href=\"\(root)/status.css\">\n" + head,
            beforeBar: "<body>\n<a class=\"skip\" href=\"#main\">\(skip)</a>",
            bar: """
                <nav aria-label="Pages"><ul>
                <li><a href="\(root)/">Front page</a></li>
                <li><a href="\(root)/api.html">API</a></li>
                <li><a href="\(root)/status"\(isStatus ? " aria-current=\"page\"" : "")>Status</a></li>
                </ul></nav>

                """, attributes: " id=\"main\"" + attributes, foot: "<footer><p>\(foot)</p></footer>\n")
        response.headers[.contentSecurityPolicy]? += "; connect-src 'self'"
        return response
    }
}
