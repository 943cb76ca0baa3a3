import LatchkeyConfiguration
import OpenIDConnect
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

    /// Whether the findings are about a carrier or another provider.
    var party: Doctor.Party { Doctor.Party(known) }

    mutating func examine() async {
        ok("the issuer is \(provider.issuer)")
        if party == .provider { for client in known.clients { examineAuthentication(of: client) } }
        if !known.isTelcoFinder {
            examineDemands()
            examineBackchannel()
            if let profile = known.profile { ok("the settings meet the profile \(profile.rawValue)") }
            if provider.jwksURI != nil { await examineKeys() }
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
            provider.pushedAuthorizationRequestEndpoint, known.apiRoot,
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
