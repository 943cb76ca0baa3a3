/// Reads media types of header fields (RFC 9110 section 8.3.1).
public enum MediaTypeText {
    /// Type and subtype in lower case, without parameters and surrounding blanks. Nil if the field is not ASCII.
    public static func essence(of field: String) -> String? {
        guard field.isASCII else { return nil }
        return Substring(field.utf8.prefix { $0 != UInt8(ascii: ";") }.trimmed).lowercased()
    }
}
