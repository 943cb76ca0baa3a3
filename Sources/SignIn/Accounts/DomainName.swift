import Primitives
import _FoundationICU

/// Domain names in the form in which they are compared: A-labels (RFC 5890 section 2.3.2.1) in lower case, without the
/// dot of the root. `münchen.example` and `XN--MNCHEN-3YA.example.` are one domain.
package enum DomainName {
    /// The form of a name of two or more labels; nil if a label is none that can be looked up.
    package static func canonical(_ text: String) -> String? {
        let labels = Self.labels(of: text)
        let converted = labels.compactMap(label)
        guard labels.count >= 2, converted.count == labels.count else { return nil }
        let name = converted.joined(separator: ".")
        return name.utf8.count <= 253 ? name : nil
    }

    /// The form of a name that may have invalid labels. Such a label equals only itself; the domains above it are still
    /// recognized.
    static func comparable(_ text: String) -> String {
        // The usual name costs no more than its lower case.
        if isASCII(text), !text.hasSuffix(".") { return text.lowercased() }
        return labels(of: text).map { label($0) ?? $0.lowercased() }.joined(separator: ".")
    }

    private static func labels(of text: String) -> [Substring] {
        let name = text.hasSuffix(".") ? text.dropLast() : text[...]
        return name.split(ascii: ".", omittingEmptySubsequences: false)
    }

    /// One label as an A-label, or as an LDH label (RFC 5890 section 2.3.1); nil if it is neither. Each label is
    /// converted by itself, so that an invalid one does not hide the others.
    private static func label(_ text: Substring) -> String? {
        guard isASCII(text) else { return aLabel(text) }
        let label = text.lowercased()
        return label.hasPrefix("xn--") ? aLabel(text) : isLDH(label) ? label : nil
    }

    private static func isASCII(_ text: some StringProtocol) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }

    private static func isLDH(_ label: String) -> Bool {
        let hyphen = UInt8(ascii: "-")
        guard (1...63).contains(label.utf8.count), label.utf8.first != hyphen, label.utf8.last != hyphen else {
            return false
        }
        return label.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), hyphen: true
            default: false
            }
        }
    }

    /// Normalizes a U-label or an A-label with ICU, which Foundation brings along (UTS #46). Foundation's own `URL`
    /// does not convert hosts in a statically linked program: the linker leaves out its IDNA part.
    private static func aLabel(_ text: Substring) -> String? {
        guard let uts46, (1...255).contains(text.utf8.count) else { return nil }
        var text = text
        return text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { label in
                withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { result in
                    var info = UIDNAInfo()
                    info.size = Int16(MemoryLayout<UIDNAInfo>.size)
                    var status = U_ZERO_ERROR
                    let length = swift_uidna_labelToASCII_UTF8(
                        uts46, label.baseAddress, Int32(label.count), result.baseAddress, 64, &info, &status)
                    guard status.rawValue <= U_ZERO_ERROR.rawValue, info.errors == 0, (1...63).contains(length) else {
                        return nil
                    }
                    return String(decoding: UnsafeRawBufferPointer(result).prefix(Int(length)), as: UTF8.self)
                }
            }
        }
    }

    /// Kept for the life of the process. Its functions do not change it, so that all threads may call them.
    private nonisolated(unsafe) static let uts46: OpaquePointer? = {
        // The rules of host names, of scripts from right to left (RFC 5893) and of joiners (RFC 5892 appendix A); the
        // sharp s and the final sigma are letters of their own.
        let options = [
            UIDNA_USE_STD3_RULES, UIDNA_CHECK_BIDI, UIDNA_CHECK_CONTEXTJ, UIDNA_NONTRANSITIONAL_TO_ASCII,
            UIDNA_NONTRANSITIONAL_TO_UNICODE,
        ]
        var status = U_ZERO_ERROR
        return swift_uidna_openUTS46(options.reduce(0) { $0 | UInt32($1) }, &status)
    }()
}
