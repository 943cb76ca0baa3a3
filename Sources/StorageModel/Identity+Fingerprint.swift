import Crypto

extension Identity {
    /// Names the identity where its subject must not stand: SHA-256 of issuer, a zero byte and subject, in hexadecimal.
    ///
    /// The same identity has the same fingerprint everywhere. Who knows a subject can tell that it is the one; subjects
    /// are long and random, so that nobody finds one by trying.
    public var fingerprint: String {
        var hash = SHA256()
        hash.update(data: Array(issuer.utf8))
        hash.update(data: [0])
        hash.update(data: Array(subject.utf8))
        let digits = Array("0123456789abcdef".utf8)
        let bytes = hash.finalize().flatMap { byte in [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
