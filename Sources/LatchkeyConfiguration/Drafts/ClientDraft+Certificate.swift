internal import HTTPCore
internal import OpenIDConnect
internal import Primitives

/// The certificate of a client, which must be usable with its key.
extension ClientDraft {
    /// Reads ``certificateFile``; false after reporting what is wrong with it or with ``certificateKey``.
    mutating func readCertificate(_ context: inout ReadingContext) -> Bool {
        guard let path = certificateFile else {
            guard certificateKey == nil else {
                context.refuse(origin, "has certificate_key, but no certificate_file", "give it")
                return false
            }
            return true
        }
        guard let key = certificateKey else {
            context.refuse(
                origin, "has certificate_file, but no certificate_key", "give certificate_key_file, the key's file")
            return false
        }
        return context.beneath(".certificate_file") { context in
            do throws(FileReader.Failure) {
                let chain = try context.files.contents(of: path, limit: Self.maximumChainBytes).bytes
                guard let certificate = Self.certificate(chain, key, origin, &context) else { return false }
                clientTLS = ClientTLS(certificate)
                return true
            } catch {
                context.refuse(
                    origin, "the file \(Printable.line(path)) \(error.reason)",
                    "give the path of a readable PEM file")
                return false
            }
        }
    }

    private static let maximumChainBytes = 64 * 1024

    private static func certificate(
        _ chain: [UInt8], _ key: Secret, _ origin: ConfigurationOrigin, _ context: inout ReadingContext
    ) -> TLSClientCertificate? {
        do throws(TLSError) {
            let tls = try TLSContext(presenting: chain, privateKey: key, trustingAs: nil)
            if let certificate = TLSClientCertificate(
                chain: chain, privateKey: key, subject: tls.subject ?? "", validity: tls.validity,
                isSelfIssued: tls.isSelfIssued)
            {
                return certificate
            }
            throw TLSError(code: .certificateUnreadable, detail: "")
        } catch {
            let isOfKey = [.keyUnreadable, .keyEncrypted].contains(error.code)
            let text = isOfKey ? "certificate_key \(error)" : "\(error)"
            context.refuse(origin, text, error.remedy)
            return nil
        }
    }
}
