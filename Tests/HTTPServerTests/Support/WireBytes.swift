/// The bytes of a text, one for each character up to U+00FF, so that a table can show any byte.
func wire(_ text: String) -> [UInt8] {
    text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
}

/// A head of HTTP/1.1 with a valid Host field, the given fields, and what follows it.
func request(_ requestLine: String, _ fields: String..., then rest: String = "") -> String {
    ([requestLine + " HTTP/1.1", "Host: example.com"] + fields).map { $0 + "\r\n" }.joined() + "\r\n" + rest
}
