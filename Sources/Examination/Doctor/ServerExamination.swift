import LatchkeyConfiguration
import LatchkeyService
package import OpenIDConnect
import Primitives
import SignIn

/// Compares what a server says in its metadata with the settings for it, and asks for its keys.
struct ServerExamination {
    typealias Finding = DoctorReport.Finding

    let doctor: Doctor
    /// The settings of the server.
    let known: Configuration.Provider
    let provider: ProviderMetadata
    let relyingParty: RelyingParty
    /// Keeps the requests that the examination sends.
    let recorder: ExchangeRecorder
    /// The name that the findings of this examination have.
    var subject: String
    private(set) var findings: [Finding] = []

    var party: Doctor.Party { Doctor.Party(known) }

    mutating func examine() async {
        ok("the issuer is \(provider.issuer)")
        if party == .provider { for client in known.clients { examineAuthentication(of: client) } }
        if known.hasSignIns {
            examineDemands()
            examineBackchannel()
            examineDeviations()
            if let profile = known.profile { ok("the settings meet the profile \(profile.rawValue)") }
            for note in doctor.features.features.compactMap({ $0.note(at: known, in: doctor.configuration) }) {
                ok(note)
            }
            if provider.jwksURI != nil { await examineKeys() }
        }
        for (setting, certificate) in known.certificates {
            let fix = "get a new certificate, and restart the server"
            findings.append(doctor.finding(certificate.validity, "\(subject), \(setting)", fix: fix))
        }
        await reachEndpoints()
    }

    /// A client with a method that the provider does not list: its token request is refused before it is sent.
    mutating func examineAuthentication(of client: Configuration.Client) {
        do throws(OIDCError) {
            try provider.check(client.authentication)
            let credentials = client.credentials
            guard credentials.dependOnEncoding else { return }
            warning(
                "the id or the secret of \(client.id.text) has characters that HTTP Basic percent-encodes",
                fix: "nothing, unless its sign-ins fail with invalid_client; \(ClientCredentials.encodingRemedy)")
        } catch {
            let ours = ClientAuthenticationMethod.allCases.map(\.rawValue).joined(separator: ", ")
            let fix =
                if known.kind == .camara {
                    "have the provider accept \(client.authentication.method.rawValue); Latchkey has no other method "
                        + "for mobile operators and Telco Finder"
                } else if provider.clientAuthenticationMethods?.isEmpty != true {
                    "set the client's token_endpoint_auth_method in \(known.keys.clients) to one that the provider "
                        + "lists"
                } else {
                    "have the provider accept one of \(ours); it lists none of them, and Latchkey has no other method"
                }
            problem(error.reason, fix: fix)
        }
    }

    /// Requests the endpoints on hosts not requested so far, without parameters: any response is good.
    private mutating func reachEndpoints() async {
        let urls = [
            provider.tokenEndpoint, provider.userInfoEndpoint, provider.userEndpoint?.url,
            provider.pushedAuthorizationRequestEndpoint, known.apiRoot, known.rules.endpoints["prepare_endpoint"],
            known.rules.endpoints["process_endpoint"],
        ]
        for url in urls.compactMap(\.self) {
            let host = "\(url.host):\(url.port)"
            guard !recorder.exchanges.contains(where: { $0.host == host }) else { continue }
            let request = OutboundRequest(
                method: .get, url: url, timeout: doctor.configuration.outbound.limits.userInfoTimeout,
                maximumBodyBytes: 65_536)
            do throws(OutboundError) {
                _ = try await recorder.send(request)
                ok("\(host) answers", in: .endpoints)
            } catch {
                problem(error.reason, in: .endpoints, fix: error.code.remedy)
            }
        }
    }

    mutating func ok(_ message: String, in area: Finding.Area = .metadata, of client: Configuration.Client? = nil) {
        findings.append(.ok(area, name(client), message))
    }

    mutating func warning(_ message: String, in area: Finding.Area = .metadata, fix: String) {
        findings.append(.warning(area, subject, message, fix: fix))
    }

    mutating func problem(
        _ message: String, in area: Finding.Area = .metadata, of client: Configuration.Client? = nil, fix: String
    ) {
        findings.append(.problem(area, name(client), message, fix: fix))
    }

    mutating func certificate(of client: Configuration.Client) {
        guard let validity = client.clientTLS?.certificate.validity else { return }
        let fix = "get a new certificate, register it with the provider, and send the server SIGHUP"
        findings.append(doctor.finding(validity, name(client), fix: fix))
    }

    private func name(_ client: Configuration.Client?) -> String {
        client.map { "\(subject), client \($0.id.text)" } ?? subject
    }
}

// The signing keys of a provider: whether sign-ins can use them, and why not.
extension ServerExamination {
    mutating func examineKeys() async {
        let failure: OIDCError?
        do throws(OIDCError) {
            _ = try await relyingParty.signingKeys(of: provider)
            failure = nil
        } catch {
            failure = error
        }
        let exchange = recorder.exchanges.last { $0.url == provider.jwksURI }
        let entries = exchange?.response.flatMap { KeySetEntry.all(in: $0.body) } ?? []
        if let failure {
            var message = failure.check == nil ? failure.reason : "The key set has no usable key."
            if let reason = exchange?.failure?.reason { message += " (\(reason))" }
            if let status = exchange?.response?.status, status != 200 { message += " (HTTP status \(status))" }
            problem(message, in: .keys, fix: exchange?.failure?.code.remedy ?? party.unusableKeysRemedy)
        } else {
            examine(usable: entries.filter { !$0.algorithms.isEmpty })
        }
        // Keys for other purposes and of other kinds are ignored.
        for entry in entries {
            guard let reason = entry.refusal?.reason(entry) else { continue }
            warning(
                "\(entry.name) is not used: \(reason)", in: .keys,
                fix: "tell the \(party.rawValue) if it signs with the key: such tokens are refused")
        }
    }

    private mutating func examine(usable: [KeySetEntry]) {
        let usableKeys = usable.map { "\($0.name) (\($0.algorithmNames), \($0.kind), \($0.bits ?? 0) bits)" }
        ok("usable: \(usableKeys.prefix(8).joined(separator: ", "))\(usableKeys.count > 8 ? ", …" : "")", in: .keys)
        let there = Set(usable.flatMap(\.algorithms))
        for accepted in Set(known.clients.map(\.signingAlgorithms)).sorted(by: { names($0) < names($1) }) {
            let listed = accepted.intersection(provider.signingAlgorithms)
            if listed.isEmpty {
                problem(
                    "its metadata lists none of the accepted algorithms (\(names(accepted)))", in: .keys,
                    fix: "set the client's id_token_signed_response_alg to one of "
                        + names(provider.signingAlgorithms) + ", as it is registered there")
            } else if listed.isDisjoint(with: there) {
                problem(
                    "no key is for the accepted algorithms (\(names(listed)))", in: .keys,
                    fix: "tell the \(party.rawValue): its metadata and its keys contradict each other")
            }
        }
        for algorithm in there.sorted(by: { $0.rawValue < $1.rawValue }) {
            let nameless = usable.count { $0.algorithms.contains(algorithm) && $0.keyID == nil }
            guard nameless > 1 else { continue }
            warning(
                "\(nameless) keys for \(algorithm.rawValue) have no kid, so none is used", in: .keys,
                fix: "tell the \(party.rawValue) to name its keys")
        }
    }

    /// Responses that a provider encrypts for its clients.
    mutating func encryptedResponses() {
        let (clients, demands) = (known.clients, provider.demands)
        for client in clients {
            encryptedResponses("ID tokens", "id_token", of: client, client.idTokenDecryption, demands.idTokenEncryption)
        }
        for client in clients {
            encryptedResponses(
                "userinfo responses", "userinfo", of: client, client.userInfoDecryption, demands.userInfoEncryption)
        }
    }

    /// - Parameter prefix: Begins the names of the client's settings and of the metadata's lists.
    private mutating func encryptedResponses(
        _ name: String, _ prefix: String, of client: Configuration.Client, _ decryption: ResponseDecryption?,
        _ support: EncryptionSupport
    ) {
        guard let decryption else { return }
        let (algorithm, encryption) = (decryption.key.algorithm, decryption.encryption)
        let missing = [
            (support.algorithms?.contains(algorithm) ?? true) ? nil : (algorithm.rawValue, "alg"),
            (support.encryptions?.contains(encryption) ?? true) ? nil : (encryption.rawValue, "enc"),
        ]
        if let (value, list) = missing.compactMap(\.self).first {
            problem(
                "the provider does not list \(value) in \(prefix)_encryption_\(list)_values_supported: sign-ins "
                    + "fail, unless its metadata is wrong", of: client,
                fix: "set \(prefix)_encrypted_response_\(list) of the client as it is registered there")
        } else {
            ok("\(name) must be encrypted with \(algorithm.rawValue) and \(encryption.rawValue)", of: client)
        }
    }
}

/// In alphabetical order.
private func names(_ algorithms: Set<SigningAlgorithm>) -> String {
    algorithms.map(\.rawValue).sorted().joined(separator: ", ")
}

/// An entry of a key set, with the reason why it is not used. For administrators.
package struct KeySetEntry: Sendable, Hashable {
    /// The key id on one line; nil if there is none, or it is not a text.
    package let keyID: String?
    /// The `kty` and `crv`: `RSA`, `EC P-256`, …
    package let kind: String
    /// What the key can verify; empty if it cannot be used.
    package let algorithms: [SigningAlgorithm]
    /// The size of the modulus, or of the curve.
    package let bits: Int?
    package let refusal: PublicKey.KeyError?

    /// Nil if it is not a key set, or has too many entries, or none.
    package static func all(in body: [UInt8]) -> [KeySetEntry]? { JSONWebKeySet.entries(of: body)?.map(Self.init) }
}

extension KeySetEntry {
    private init(_ value: JSONValue) {
        guard let object = value.object else {
            self.init(keyID: nil, kind: "no object", algorithms: [], bits: nil, refusal: .kind)
            return
        }
        let names = [object["kty"]?.string, object["crv"]?.string].compactMap { $0.map(DisplayText.line) }
        let keyID = object["kid"]?.string.map(DisplayText.line)
        let kind = names.isEmpty ? "no kty" : names.joined(separator: " ")
        do throws(PublicKey.KeyError) {
            let key = try PublicKey(object)
            self.init(keyID: keyID, kind: kind, algorithms: key.algorithms, bits: key.bits, refusal: nil)
        } catch {
            let bits = object["n"]?.string.flatMap { Base64URL.decode($0) }.map { $0.drop { $0 == 0 }.count * 8 }
            self.init(keyID: keyID, kind: kind, algorithms: [], bits: bits, refusal: error)
        }
    }

    fileprivate var algorithmNames: String { algorithms.map(\.rawValue).joined(separator: " or ") }

    fileprivate var name: String { keyID.map { "«\($0)»" } ?? "a key without kid" }
}

extension PublicKey.KeyError {
    fileprivate func reason(_ entry: KeySetEntry) -> String? {
        switch self {
        case .purpose, .kind: nil
        case .algorithm: "its alg is not accepted for \(entry.kind)"
        case .keyID: "its kid is not a text"
        case .size: "\(entry.kind) of \(entry.bits ?? 0) bits; 2048 to 8192 are accepted"
        case .numbers: "its values are not those of a valid \(entry.kind) key"
        }
    }
}
