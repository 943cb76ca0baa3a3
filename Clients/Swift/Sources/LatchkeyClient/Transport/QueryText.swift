import Foundation

/// Names and values in the query of a URL (`application/x-www-form-urlencoded`).
enum QueryText {
    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    static func encoded(_ items: [(name: String, value: String?)]) -> String {
        items.compactMap { item in item.value.map { encoded(item.name) + "=" + encoded($0) } }.joined(separator: "&")
    }

    /// The parameters of a URL's query. The first value of each name counts.
    static func items(of url: String) -> [String: String] {
        var items: [String: String] = [:]
        guard let mark = url.firstIndex(of: "?") else { return items }
        for item in url[url.index(after: mark)...].prefix(while: { $0 != "#" }).split(separator: "&") {
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = pair.first, items[decoded(name)] == nil else { continue }
            items[decoded(name)] = pair.count == 2 ? decoded(pair[1]) : ""
        }
        return items
    }

    /// The parameters of a callback URL.
    /// - Throws: ``LatchkeyError/Code/foreignCallback`` for the URL of another redirect URI.
    static func items(of callback: URL, to redirectURI: String) throws(LatchkeyError) -> [String: String] {
        let text = callback.absoluteString
        guard text.hasPrefix(redirectURI), ["?", "&"].contains(text.dropFirst(redirectURI.count).first) else {
            throw .foreignCallback
        }
        return items(of: text)
    }

    private static func decoded(_ text: Substring) -> String {
        text.replacingOccurrences(of: "+", with: " ").removingPercentEncoding ?? ""
    }
}
