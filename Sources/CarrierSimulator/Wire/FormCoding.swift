import Primitives

/// Names and values of `application/x-www-form-urlencoded`.
enum FormCoding {
    static func encode(_ text: String) -> String {
        var bytes: [UInt8] = []
        PercentEncoding.append(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A URL with parameters added to its query. The URL has no fragment.
    static func url(_ url: String, adding parameters: [(name: String, value: String?)]) -> String {
        let pairs = parameters.compactMap { parameter in
            parameter.value.map { "\(encode(parameter.name))=\(encode($0))" }
        }
        guard !pairs.isEmpty else { return url }
        return url + (url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + pairs.joined(separator: "&")
    }
}
