package import HTTPServer
import HTTPTypes

/// Guesses a name of the device from `User-Agent`, for the list of sessions.
///
/// Coarse on purpose: one of a few dozen names, so that no input is stored or shown, and users cannot be identified by
/// it.
package enum DeviceName {
    package static func of(_ request: Request) -> String? { name(ofUserAgent: request.headers[.userAgent] ?? "") }

    /// Such as `Firefox on Windows` or `iPhone`; nil if nothing is recognised.
    static func name(ofUserAgent text: String) -> String? {
        let agent = Array(text.utf8.prefix(512))
        switch (browsers.first(in: agent), systems.first(in: agent)) {
        case (let browser?, let system?): return "\(browser) on \(system)"
        case (let name?, nil), (nil, let name?): return name
        case (nil, nil): return nil
        }
    }

    /// The more specific mark first: an iPad may send Macintosh, Android sends Linux, and all browsers send Mozilla.
    private static let systems = Marks([
        ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("okhttp/", "Android"), ("CrOS", "ChromeOS"),
        ("Windows", "Windows"), ("Macintosh", "Mac"), ("CFNetwork/", "Apple device"), ("Linux", "Linux"),
    ])
    /// Edge and Opera also send Chrome, and Chrome also sends Safari.
    private static let browsers = Marks([
        ("Edg/", "Edge"), ("EdgA/", "Edge"), ("EdgiOS/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"), ("SamsungBrowser/", "Samsung Internet"), ("CriOS/", "Chrome"), ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ])
}

/// Texts to search for in one pass, with a name for each.
private struct Marks: Sendable {
    private let marks: [(mark: [UInt8], name: String)]
    /// Whether a mark begins with a byte.
    private let begins: [Bool]

    init(_ marks: [(mark: String, name: String)]) {
        self.marks = marks.map { (Array($0.mark.utf8), $0.name) }
        var begins = [Bool](repeating: false, count: 256)
        for (mark, _) in self.marks { if let first = mark.first { begins[Int(first)] = true } }
        self.begins = begins
    }

    /// The name of the first mark, in their order, that the text contains.
    func first(in text: [UInt8]) -> String? {
        var found = marks.count
        for index in text.indices where begins[Int(text[index])] {
            let rest = text[index...]
            if let earlier = marks[..<found].firstIndex(where: { rest.starts(with: $0.mark) }) { found = earlier }
        }
        return found < marks.count ? marks[found].name : nil
    }
}
