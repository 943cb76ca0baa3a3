import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One block of a PEM text (RFC 7468): the lines between its BEGIN and its END line.
struct PEMBlock: Sendable {
    let label: String
    private let lines: [Substring]

    /// The blocks of a text, in order. Text around them is ignored, and so is a block without an END line.
    static func all(in text: String) -> [PEMBlock] {
        var blocks: [PEMBlock] = []
        var label: String?
        var content: [Substring] = []
        // Split by bytes, because CR LF is one Character.
        for line in text.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let line = Substring(line.trimmed)
            if let begun = boundary("BEGIN", line) {
                (label, content) = (begun, [])
            } else if let open = label, boundary("END", line) == open {
                blocks.append(PEMBlock(label: open, lines: content))
                label = nil
            } else if label != nil {
                content.append(line)
            }
        }
        return blocks
    }

    /// Whether the label (RFC 5958) or the header fields of RFC 1421, which OpenSSL writes, say so.
    var isEncrypted: Bool {
        label.hasPrefix("ENCRYPTED") || lines.contains { $0.hasPrefix("Proc-Type:") && $0.hasSuffix("ENCRYPTED") }
    }

    var bytes: Data? { Data(base64Encoded: lines.joined()) }

    private static func boundary(_ word: String, _ line: Substring) -> String? {
        let start = "-----\(word) "
        guard line.hasPrefix(start), line.hasSuffix("-----") else { return nil }
        return String(line.dropFirst(start.count).dropLast(5))
    }
}
