import HTTPServer
import LatchkeyAPI
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn

/// The administrator's status page, complete without scripts. The script draws the plots and updates the page, in the
/// same form.
enum StatusPage {
    static func response(_ status: ServiceStatus) -> Response {
        let page = AdministratorPage(
            title: "status", root: "./", isStatus: true, head: "<script type=\"module\" src=\"./status.js\"></script>",
            skip: "Skip to the numbers", attributes: " data-events=\"status/events\"",
            main: """
                <h1>Status</h1>
                <p class="lead">Version \(HTML.escaped(status.version)), up since \(time(status.startedAt)).</p>
                <p id="live" class="live" role="status">As it was at \(time(status.now)).</p>

                \(sections(status))
                """,
            foot: "This instance only, kept in memory, without user data. For longer periods: <code>/metrics</code>.")
        return page.response
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
        <dl id="sessions" class="numbers">\(sessions(status.sessions))</dl>
        </section>

        <section aria-labelledby="load-title">
        <h2 id="load-title">Load</h2>
        <dl id="load" class="numbers">\(load(status))</dl>
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
            let (source, openBreakers) = (carrier.status.source, carrier.status.openBreakers)
            let health =
                openBreakers.isEmpty
                ? "<span class=\"tag\">answers</span>"
                : "<span class=\"tag bad\">does not answer: "
                    + HTML.escaped(openBreakers.joined(separator: ", ")) + "</span>"
            let detail = source.issuer.isEmpty ? source.provider : "\(source.provider), \(source.issuer)"
            let mean = carrier.minutes.last { $0.figures.answered > 0 }?.figures.meanMilliseconds
            let keys = carrier.status.keysFetchedAt.map { span(status.now.seconds(since: $0)) }
            return """
                <article class="card"><div class="head"><h3>\(HTML.escaped(carrier.name))</h3>\(health)</div>\
                <p class="quiet">\(HTML.escaped(detail))</p><div class="plot"></div><dl class="facts">\
                <dt>Latest answers took</dt><dd>\(mean.map { "\(Int64($0.rounded())) ms" } ?? "–")</dd>\
                <dt>Answered, failed</dt><dd>\(carrier.status.figures.answered), \(carrier.status.figures.failed)</dd>\
                <dt>Age of its keys</dt><dd>\(keys ?? "–")</dd></dl></article>
                """
        }.joined()
    }

    private static func failures(_ status: ServiceStatus) -> String {
        guard !status.failures.isEmpty else { return nothing("None since the start.", columns: failureHeads.count) }
        return status.failures.map { failure in
            let report = failure.report
            let texts = [
                String(time(failure.at).dropLast(4)), words(report.kind.rawValue), report.provider ?? "–",
                report.network?.text ?? "–", report.outcome.name,
            ]
            let others = [report.check?.rawValue ?? "–", report.failedStep?.rawValue ?? "–"]
            return row(
                cells: texts.map(HTML.escaped) + [
                    wrapped(failure.cause ?? "–", class: "cause"), status.capsule(of: failure).map(capsuleLink) ?? "–",
                ] + others.map(HTML.escaped) + [wrapped(failure.ask, class: "ask")])
        }.joined()
    }

    private static func capsuleLink(_ failure: String) -> String {
        "<a href=\"status/capsule?failure=\(HTML.escaped(failure))\">show</a>"
    }

    private static func sessions(_ sessions: SessionStatistics) -> String {
        numbers([
            ("Begun", sessions.started), ("Refreshed", sessions.refreshed), ("Signed out", sessions.signedOut),
            ("Revoked", sessions.revoked), ("Ended by a provider", sessions.endedByProvider),
            ("Ended: token used twice", sessions.reused),
        ])
    }

    private static func load(_ status: ServiceStatus) -> String {
        numbers([
            ("Open connections", UInt64(max(0, status.connections))),
            ("Reads waiting", UInt64(max(0, status.readsWaiting))),
            ("Writes waiting", UInt64(max(0, status.writesWaiting))), ("Requests shed", status.load.shedCount),
            ("Requests over a limit", status.rateLimited),
        ])
    }

    private static func numbers(_ pairs: [(name: String, value: UInt64)]) -> String {
        pairs.map { "<div><dt>\($0.name)</dt><dd>\($0.value)</dd></div>" }.joined()
    }

    private static func heads(_ texts: [String]) -> String {
        texts.map { "<th scope=\"col\">\($0)</th>" }.joined()
    }

    /// A text of several lines in a cell.
    private static func wrapped(_ text: String, class name: String) -> String {
        "<span class=\"\(name)\">\(HTML.escaped(text))</span>"
    }

    private static func row(_ texts: [String]) -> String { row(cells: texts.map(HTML.escaped)) }

    /// - Parameter cells: HTML.
    private static func row(cells: [String]) -> String {
        "<tr>" + cells.map { "<td>\($0)</td>" }.joined() + "</tr>"
    }

    private static func nothing(_ text: String, columns: Int) -> String {
        "<tr><td colspan=\"\(columns)\">\(text)</td></tr>"
    }

    private static func words(_ name: String) -> String { String(name.map { $0 == "_" ? " " : $0 }) }

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
