import EventLoops
import HTTPCore
import HTTPServer
import Primitives
import Synchronization
import TestSupport
import Testing

@Suite("TLS credentials")
struct TLSCredentialsTests {
    static let rows: [(String, TLSCredentials, TLSError.Code?)] = [
        ("a chain and its key", TLSHarness.credentials(), nil),
        ("an expired one: the operator's to know", TLSHarness.credentials(chain: TLSTexts.expired), nil),
        ("clients' authorities", TLSHarness.credentials(clients: .required), nil),
        ("nothing", TLSHarness.credentials(chain: ""), .certificateUnreadable),
        ("no PEM", TLSHarness.credentials(chain: "certificate"), .certificateUnreadable),
        ("a key for a certificate", TLSHarness.credentials(chain: TLSTexts.key), .certificateUnreadable),
        (
            "a damaged certificate", TLSHarness.credentials(chain: damaged(TLSTexts.chain, after: 60)),
            .certificateUnreadable
        ),
        (
            "a damaged second one", TLSHarness.credentials(chain: damaged(TLSTexts.chain, after: 900)),
            .certificateUnreadable
        ),
        (
            "a weak one", TLSHarness.credentials(chain: TLSTexts.weakChain, key: TLSTexts.weakKey), .certificateRefused
        ),
        ("no key", TLSHarness.credentials(key: ""), .keyUnreadable),
        ("a certificate for a key", TLSHarness.credentials(key: TLSTexts.chain), .keyUnreadable),
        ("a damaged key", TLSHarness.credentials(key: damaged(TLSTexts.key, after: 60)), .keyUnreadable),
        ("a key under a passphrase", TLSHarness.credentials(key: TLSTexts.encryptedKey), .keyEncrypted),
        ("another's key", TLSHarness.credentials(key: TLSTexts.otherKey), .keyMismatch),
        ("a key of another kind", TLSHarness.credentials(key: TLSTexts.weakKey), .keyMismatch),
        ("no authorities", authorities("", .optional), .authoritiesUnreadable),
        ("authorities that are none", authorities(TLSTexts.key, .required), .authoritiesUnreadable),
        ("authorities without client certificates", authorities("", .none), nil),
    ]

    private static func damaged(_ text: String, after count: Int) -> String {
        var bytes = Array(text.utf8)
        bytes.removeSubrange(count..<count + 3)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func authorities(_ text: String, _ clients: TLSCredentials.Clients) -> TLSCredentials {
        var credentials = TLSHarness.credentials(clients: clients)
        credentials.clientAuthorities = Array(text.utf8)
        return credentials
    }

    @Test("Unusable credentials are refused with the reason", arguments: rows.indices)
    func refused(_ index: Int) {
        let (name, credentials, code) = Self.rows[index]
        do throws(TLSError) {
            _ = try ServerTLS(credentials)
            #expect(code == nil, "\(name)")
        } catch {
            #expect(error.code == code, "\(name): \(error)")
            #expect(!error.description.isEmpty && !error.remedy.isEmpty)
        }
    }

    @Test("The dates of the first certificate are shown, the key is not")
    func told() throws {
        let credentials = TLSHarness.credentials()
        let validity = try ServerTLS(credentials).validity
        #expect(UTCTime.text(validity.lowerBound) == "2020-01-01T00:00:00Z")
        #expect(UTCTime.text(validity.upperBound) == "2120-01-01T00:00:00Z")
        let line = TLSTexts.key.split(separator: "\n")[1]
        #expect(!"\(credentials)".contains(line) && !String(reflecting: credentials).contains(line))
    }
}
