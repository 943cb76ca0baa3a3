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
        let agent = Array(text.utf8.prefix(512))
        switch (browsers.first(in: agent), systems.first(in: agent)) {
        case (let browser?, let system?): return "\(browser) on \(system)"
        case (let name?, nil), (nil, let name?): return name
        case (nil, nil): return nil
        }
    }

    /// The more telling mark first: an iPad may say Macintosh, Android says Linux, and all browsers say Mozilla.
    private static let systems = Marks([
        ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("okhttp/", "Android"), ("CrOS", "ChromeOS"),
        ("Windows", "Windows"), ("Macintosh", "Mac"), ("CFNetwork/", "Apple device"), ("Linux", "Linux"),
    ])
    /// Edge and Opera say Chrome, and Chrome says Safari.
    private static let browsers = Marks([
        ("Edg/", "Edge"), ("EdgA/", "Edge"), ("EdgiOS/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"), ("SamsungBrowser/", "Samsung Internet"), ("CriOS/", "Chrome"), ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ])
}

/// Texts to look for, with what each says; all of them are looked for in one go.
private struct Marks: Sendable {
    private let marks: [(mark: [UInt8], name: String)]
    /// For each byte, whether a mark begins with it.
    private let begins: [Bool]

    init(_ marks: [(mark: String, name: String)]) {
        self.marks = marks.map { (Array($0.mark.utf8), $0.name) }
        var begins = [Bool](repeating: false, count: 256)
        for (mark, _) in self.marks { if let first = mark.first { begins[Int(first)] = true } }
        self.begins = begins
    }

    /// What the first of those marks says, in their own order, that the text has.
    func first(in text: [UInt8]) -> String? {
        var found = marks.count
        for index in text.indices where begins[Int(text[index])] {
            let rest = text[index...]
            if let earlier = marks[..<found].firstIndex(where: { rest.starts(with: $0.mark) }) { found = earlier }
        }
        return found < marks.count ? marks[found].name : nil
    }
}
