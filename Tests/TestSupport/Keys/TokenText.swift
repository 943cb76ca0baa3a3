import Primitives

/// Writes JSON objects and compact JWTs of any content, valid or not.
public enum TokenText {
    /// A JSON object of members whose values are JSON texts.
    public static func object(_ members: [(name: String, json: String)]) -> String {
        "{" + members.map { "\"\($0.name)\":\($0.json)" }.joined(separator: ",") + "}"
    }

    /// A compact JWT of these texts, with the signature that `sign` returns for the signing input.
    public static func compact(header: String, payload: String, sign: (_ signed: [UInt8]) -> [UInt8]) -> String {
        let signed = Base64URL.encode(header.utf8) + "." + Base64URL.encode(payload.utf8)
        return signed + "." + Base64URL.encode(sign(Array(signed.utf8)))
    }
}
