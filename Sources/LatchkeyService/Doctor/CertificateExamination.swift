import OpenIDConnect
import Primitives

/// How long the certificates of the requested hosts are valid.
struct CertificateExamination {
    let now: Timestamp

    func findings(_ exchanges: [ExchangeRecorder.Exchange]) -> [DoctorReport.Finding] {
        let encrypted = exchanges.filter { $0.url.scheme == .https }
        let plain = Set(exchanges.filter { $0.url.scheme == .http }.map(\.host)).sorted()
        let hosts = Set(encrypted.map(\.host)).sorted()
        return hosts.compactMap { host in finding(host, encrypted.filter { $0.host == host }) }
            + plain.map { .ok(.certificates, $0, "none: plain http on this machine") }
    }

    private func finding(_ host: String, _ exchanges: [ExchangeRecorder.Exchange]) -> DoctorReport.Finding? {
        // Only the first response on a connection has the expiry.
        if let expiry = exchanges.compactMap({ $0.response?.certificateExpiry }).first { return finding(host, expiry) }
        if let refused = exchanges.compactMap(\.failure).first(where: { $0.code == .tls }) {
            return .problem(.certificates, host, refused.reason, fix: refused.code.remedy)
        }
        // A host without a response is reported elsewhere.
        guard exchanges.contains(where: { $0.response != nil }) else { return nil }
        return .ok(.certificates, host, "is valid; this libcurl does not report until when")
    }

    private func finding(_ host: String, _ expiry: Timestamp) -> DoctorReport.Finding {
        let days = (expiry.secondsSinceEpoch - now.secondsSinceEpoch) / 86_400
        let message = "is valid until \(UTCTime.text(expiry)), \(days) more days"
        let fix = "ask the operator of the host to renew it: sign-ins fail when it expires"
        if days < 3 { return .problem(.certificates, host, message, fix: fix) }
        if days < 14 { return .warning(.certificates, host, message, fix: fix) }
        return .ok(.certificates, host, message)
    }
}
