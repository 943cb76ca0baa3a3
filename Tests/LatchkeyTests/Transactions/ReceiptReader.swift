import Crypto
import Foundation

/// Reads receipts like an operator's service, without Latchkey's code: Foundation's JSON and base64, and
/// the published keys passed directly to the cryptography library.
struct ReceiptReader {
    struct Refusal: Error {
        let reason: String
    }

    private let keys: [String: P256.Signing.PublicKey]

    var keyIDs: Set<String> { Set(keys.keys) }

    /// - Parameter content: The content of `/.well-known/jwks.json`.
    init(keySet content: [UInt8]) throws {
        guard let set = try JSONSerialization.jsonObject(with: Data(content)) as? [String: [[String: String]]] else {
            throw Refusal(reason: "no key set")
        }
        keys = try Dictionary(
            uniqueKeysWithValues: (set["keys"] ?? []).map { key in
                guard key["kty"] == "EC", key["crv"] == "P-256", key["alg"] == "ES256", key["use"] == "sig",
                    let id = key["kid"], let x = Self.bytes(key["x"]), let y = Self.bytes(key["y"]),
                    x.count == 32, y.count == 32, key["d"] == nil
                else { throw Refusal(reason: "no public key for ES256") }
                return (id, try P256.Signing.PublicKey(rawRepresentation: x + y))
            })
    }

    /// The claims of a receipt with a valid signature.
    func claims(of receipt: String) throws -> [String: any Sendable] {
        let parts = receipt.components(separatedBy: ".")
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            let signature = Self.bytes(parts[2])
        else { throw Refusal(reason: "no JWT") }
        guard header["alg"] as? String == "ES256", header["typ"] as? String == "receipt+jwt" else {
            throw Refusal(reason: "another algorithm or type")
        }
        guard let key = (header["kid"] as? String).flatMap({ keys[$0] }) else { throw Refusal(reason: "unknown key") }
        let signed = Data("\(parts[0]).\(parts[1])".utf8)
        guard try key.isValidSignature(.init(rawRepresentation: signature), for: SHA256.hash(data: signed)) else {
            throw Refusal(reason: "bad signature")
        }
        return claims
    }

    private static func object(_ part: String) -> [String: any Sendable]? {
        bytes(part).flatMap { try? JSONSerialization.jsonObject(with: $0) } as? [String: any Sendable]
    }

    private static func bytes(_ text: String?) -> Data? {
        guard var text else { return nil }
        text = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        return Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4))
    }
}
