import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// The log lines of logout tokens that anyone can post.
@Suite("Refused logout tokens")
struct LogSamplerTests {
    /// An app with two OpenID providers.
    private struct Stage {
        let app: TestApp
        let useCases: UseCases

        init() throws {
            app = try TestApp()
            let client = SignInConfiguration.Client(id: try #require(ClientID("client-1")), secret: Secret("s"))
            let url = try #require(EndpointURL(FakeCarrier.discoveryURL, policy: .httpsOnly))
            let party = RelyingParty(
                configuration: RelyingParty.Configuration(discoveryURL: url), http: app.carrier.http,
                clock: app.clock.wallClock)
            useCases = UseCases(
                configuration: SignInConfiguration(providers: [
                    "acme": .init(kind: .oidc, name: "Acme", clients: [client]),
                    "globex": .init(kind: .oidc, name: "Globex", clients: [client]),
                ]), relyingParties: ["acme": party, "globex": party], store: app.store, logger: app.log.logger,
                clock: app.clock.wallClock)
        }

        func post(_ count: Int, to provider: String = "acme") async {
            for number in 0..<count {
                _ = try? await useCases.backchannelLogout(
                    provider: provider, logoutToken: Secret("junk-\(number)"), requestID: "r")
            }
        }

        var lines: [[String: String]] {
            app.log.lines.filter { $0.message == "back-channel logout refused" }.map(\.metadata)
        }
    }

    @Test("are logged ten times a minute for each provider, and the next line has the number of the others")
    func sampled() async throws {
        let stage = try Stage()
        await stage.post(1000)
        #expect(stage.lines.count == 10)
        #expect(stage.lines.allSatisfy { $0["left_out"] == nil && $0["provider"] == "acme" })
        await stage.post(3, to: "globex")
        #expect(stage.lines.count == 13)
        stage.app.clock.advance(bySeconds: 59)
        await stage.post(1)
        #expect(stage.lines.count == 13)
        stage.app.clock.advance(bySeconds: 1)
        await stage.post(2)
        #expect(stage.lines.count == 15)
        #expect(stage.lines[13]["left_out"] == "991")
        #expect(stage.lines[14]["left_out"] == nil)
    }

    @Test("are logged again if the clock was set back")
    func clockSetBack() async throws {
        let stage = try Stage()
        await stage.post(11)
        stage.app.clock.advance(bySeconds: -3600)
        await stage.post(1)
        #expect(stage.lines.count == 11)
        #expect(stage.lines[10]["left_out"] == "1")
    }
}
