import Crypto
import Primitives

@testable import OpenIDConnect

/// The bytes as an encrypted ID token; a JSON object also as the header of one that is encrypted with a known key, and
/// any bytes as its content.
enum EncryptedTokenTarget {
    private static let limit = 16 * 1024
    private static let signing = try? P256.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 1, count: 32))
    private static let keys: [DecryptionKey] =
        signing.flatMap { try? DecryptionKey(parsing: Secret($0.pemRepresentation)) }
        .map { [$0] } ?? []
    /// A point on the curve, for the provider's ephemeral key.
    private static let ephemeral = try? P256.KeyAgreement.PrivateKey(
        rawRepresentation: [UInt8](repeating: 2, count: 32))

    static func read(_ bytes: [UInt8]) {
        open(String(decoding: bytes, as: UTF8.self))
        if JSONPromise.value(bytes)?.object != nil { open(token(header: bytes, content: Array("a.b.c".utf8))) }
        guard let ephemeral else { return }
        let point = Array(ephemeral.publicKey.rawRepresentation)
        let (x, y) = (Base64URL.encode(point.prefix(32)), Base64URL.encode(point.suffix(32)))
        let header = """
            {"alg":"ECDH-ES","enc":"A128GCM","epk":{"kty":"EC","crv":"P-256","x":"\(x)","y":"\(y)"}}
            """
        let text = token(header: Array(header.utf8), content: bytes)
        let opened = open(text)
        let isReadable = !bytes.isEmpty && text.utf8.count <= limit && String(validating: bytes, as: UTF8.self) != nil
        demand((opened != nil) == isReadable, "a token for the client's key is opened")
        demand(opened.map { Array($0.utf8) == bytes } ?? true, "its content is what was encrypted")
    }

    @discardableResult
    private static func open(_ text: String) -> String? {
        guard let key = keys.first else { return nil }
        let decryption = IDTokenDecryption(key: key, encryption: .a128GCM)
        do throws(OIDCError) {
            let opened = try decryption.open(Secret(text), maximumBytes: limit).exposed
            demand(
                text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).count == 5, "five parts"
            )
            return opened
        } catch {
            demand(error.check == .encryption, "all refusals look alike")
            return nil
        }
    }

    /// With the content key that the ephemeral key and the client's agree on.
    private static func token(header: [UInt8], content: [UInt8]) -> String {
        let protected = Base64URL.encode(header)
        guard let signing, let ephemeral,
            let theirs = try? P256.KeyAgreement.PublicKey(rawRepresentation: signing.publicKey.rawRepresentation),
            let secret = try? ephemeral.sharedSecretFromKeyAgreement(with: theirs),
            let nonce = try? AES.GCM.Nonce(data: [UInt8](repeating: 3, count: 12)),
            let box = try? AES.GCM.seal(
                content, using: ConcatKDF.key(from: secret, for: .a128GCM, apu: [], apv: []), nonce: nonce,
                authenticating: Array(protected.utf8))
        else { return protected }
        return "\(protected)..\(Base64URL.encode(Array(box.nonce))).\(Base64URL.encode(Array(box.ciphertext)))."
            + Base64URL.encode(Array(box.tag))
    }
}
