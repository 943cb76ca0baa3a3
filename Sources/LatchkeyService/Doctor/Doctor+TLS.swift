import HTTPServer
import LatchkeyConfiguration
import Primitives

// The certificate of this server. The configuration's loader has checked that its files are valid.
extension Doctor {
    func examineTLS() -> [Finding] {
        guard configuration.tls.isOn, let path = configuration.tls.certificateFile else { return [] }
        do throws(TLSFileError) {
            return [
                finding(
                    try ServerTLS(configuration.tls, .system).validity, path,
                    fix: "renew it; a running server loads new files by itself")
            ]
        } catch {
            return [.problem(.certificates, error.key, error.reason, fix: error.remedy)]
        }
    }

    /// The validity of a certificate of our own.
    func finding(_ validity: ClosedRange<Timestamp>, _ path: String, fix: String) -> Finding {
        let now = clock.now()
        guard now >= validity.lowerBound else {
            let start = UTCTime.text(validity.lowerBound)
            return .problem(.certificates, path, "is not valid before \(start)", fix: "check this machine's clock")
        }
        guard now <= validity.upperBound else {
            return .problem(.certificates, path, "expired on \(UTCTime.text(validity.upperBound))", fix: fix)
        }
        return expiry(validity.upperBound, path, fix: fix)
    }
}
