import OpenIDConnect
import Primitives

/// A token in compact form, made of its parts in a capsule and signed anew.
enum RebuiltToken {
    /// The longest made-up signature, in bytes: more than any key makes.
    private static let maximumSignatureBytes = 4096

    /// - Parameters:
    ///   - parts: The members `header`, `claims` and so on of the capsule.
    ///   - claims: Changes the made-up claims.
    ///   - key: What it is signed with; nil for a signature that does not verify.
    static func text(
        _ parts: JSONObject, _ values: inout MadeUpValues,
        claims edit: ([(name: String, value: JSONValue?)]) -> [(name: String, value: JSONValue?)] = { $0 },
        signedWith key: ReplayKey?
    ) throws(CapsuleReplay.Refusal) -> String {
        for name in ["header", "claims"] {
            guard let object = parts[name]?.object else { continue }
            try MadeUpValues.checkIsWhole(object, of: "the \(name) of a token")
        }
        var header: JSONValue?
        if let object = parts["header"]?.object { header = .object(of: try values.members(object)) }
        var claims: JSONValue?
        if let object = parts["claims"]?.object { claims = .object(of: edit(try values.members(object))) }
        let signed = part(header, parts["header_fault"]) + "." + part(claims, parts["claims_fault"])
        guard let count = parts["signature_bytes"]?.integer else { return signed + ".*" }
        guard count > 0 else { return signed + "." }
        let algorithm = header?.object?["alg"]?.string.flatMap(SigningAlgorithm.init(rawValue:))
        if let key, let algorithm, let signature = key.signature(of: Array(signed.utf8), by: algorithm) {
            return signed + "." + Base64URL.encode(signature)
        }
        let length = Int(clamping: max(0, min(count, Int64(maximumSignatureBytes))))
        return signed + "." + Base64URL.encode([UInt8](repeating: 0xA5, count: length))
    }

    /// A text that is no token in three parts, or too long for one.
    static func malformed(bytes: Int64, parts: Int64) -> String {
        let dots = String(repeating: ".", count: Int(clamping: max(1, min(parts, 64)) - 1))
        let length = Int(clamping: max(0, min(bytes, 1 << 20))) - dots.utf8.count
        return String(repeating: "x", count: max(1, length)) + dots
    }

    private static func part(_ value: JSONValue?, _ fault: JSONValue?) -> String {
        if let value { return Base64URL.encode(Array(value.text.utf8)) }
        switch fault?.string {
        case "empty", nil: return ""
        case "not_base64url": return "*"
        case "not_an_object": return Base64URL.encode(Array("[]".utf8))
        case .some(let code): return Base64URL.encode(FaultyJSON.text(code))
        }
    }
}
