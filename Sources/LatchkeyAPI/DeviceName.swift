import HTTPServer
import HTTPTypes

/// Guesses from `User-Agent` what a user would call the device, for the list of sessions.
///
/// Coarse on purpose: one of a few dozen names, so that nothing a client sends is kept or shown, and nobody is told apart
/// by it. Nothing is decided by it either.
enum DeviceName {
    static func of(_ request: Request) -> String? { name(ofUserAgent: request.headers[.userAgent] ?? "") }

    /// Such as `Firefox on Windows` or `iPhone`; nil if nothing is recognised.
    static func name(ofUserAgent text: String) -> String? {
        let agent = text.utf8.prefix(512)
        let system = first(of: systems, in: agent)
        let browser = first(of: browsers, in: agent)
        switch (browser, system) {
        case (let browser?, let system?): return "\(browser) on \(system)"
        case (let name?, nil), (nil, let name?): return name
        case (nil, nil): return nil
        }
    }

    /// The more telling mark first: an iPad may say Macintosh, Android says Linux, and all browsers say Mozilla.
    private static let systems = [
        ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("okhttp/", "Android"), ("CrOS", "ChromeOS"),
        ("Windows", "Windows"), ("Macintosh", "Mac"), ("CFNetwork/", "Apple device"), ("Linux", "Linux"),
    ]
    /// Edge and Opera say Chrome, and Chrome says Safari.
    private static let browsers = [
        ("Edg/", "Edge"), ("EdgA/", "Edge"), ("EdgiOS/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"), ("SamsungBrowser/", "Samsung Internet"), ("CriOS/", "Chrome"), ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ]

    private static func first(
        of marks: [(mark: String, name: String)], in agent: Substring.UTF8View
    ) -> String? {
        marks.first { contains(agent, $0.mark.utf8) }?.name
    }

    private static func contains(_ text: Substring.UTF8View, _ mark: String.UTF8View) -> Bool {
        var rest = text
        while let start = rest.firstIndex(where: { $0 == mark.first }) {
            rest = rest[start...]
            if rest.starts(with: mark) { return true }
            rest = rest.dropFirst()
        }
        return false
    }
}
