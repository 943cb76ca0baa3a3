extension JSONValue {
    /// The value as a JSON text without white space, with members in their order.
    public var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// As ``text``, with each character that could control a terminal or change the direction of what it shows as `\u`
    /// and its number.
    package var terminalText: String {
        let text = text
        guard text.unicodeScalars.contains(where: \.controlsTerminal) else { return text }
        var safe = ""
        for scalar in text.unicodeScalars {
            guard scalar.controlsTerminal else {
                safe.unicodeScalars.append(scalar)
                continue
            }
            for unit in UTF16.encode(scalar) ?? .init() {
                safe += "\\u" + [UInt8(unit >> 8), UInt8(unit & 0xFF)].hexadecimal
            }
        }
        return safe
    }

    private func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let flag): bytes += (flag ? "true" : "false").utf8
        case .integer(let number): JSONText.append(number, to: &bytes)
        // The shortest text that reads as the same number. A parsed number is always finite.
        case .number(let number): bytes += "\(number)".utf8
        case .string(let text): JSONText.append(text, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let object):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in object.members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                JSONText.append(member.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }
}
