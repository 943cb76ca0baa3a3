import HTTPServer
import LatchkeyConfiguration
import Primitives

// The certificate that this server shows. That its files can be used, the configuration's loader has seen to.
extension Doctor {
    func examineTLS() -> [Finding] {
        guard configuration.tls.isOn, let path = configuration.tls.certificateFile else { return [] }
        do throws(TLSFileProblem) {
            return [finding(try ServerTLS(configuration.tls, .system).validity, path)]
        } catch {
            return [.problem(.certificates, error.key, error.reason, fix: error.remedy)]
        }
    }

    private func finding(_ validity: ClosedRange<Timestamp>, _ path: String) -> Finding {
        let now = clock.now()
        let end = UTCTime.text(validity.upperBound)
        let fix = "renew it; a running server takes new files over by itself"
        guard now >= validity.lowerBound else {
            let start = UTCTime.text(validity.lowerBound)
            return .problem(
                .certificates, path, "does not hold before \(start)", fix: "see that this machine's clock is right")
        }
        guard now <= validity.upperBound else {
            return .problem(.certificates, path, "has expired, on \(end)", fix: fix)
        }
        let days = (validity.upperBound.secondsSinceEpoch - now.secondsSinceEpoch) / 86_400
        let message = "holds until \(end), \(days) more days"
        if days < 3 { return .problem(.certificates, path, message, fix: fix) }
        return days < 14 ? .warning(.certificates, path, message, fix: fix) : .ok(.certificates, path, message)
    }
}
