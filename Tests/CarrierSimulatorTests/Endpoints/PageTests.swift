import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import Testing

@Suite("Pages")
struct PageTests {
    static let hostile = #""><script>alert('x')</script>&amp;"#
    static let escaped = "&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp;"
    let carriers = Harness()

    @Test(
        "Parameters of the authorization request are text on the page, never markup", arguments: ["context", "state"])
    func authorizationPage(name: String) async throws {
        let query = carriers.authorizationQuery(changing: [name: Self.hostile])
        let page = try await carriers.get("/carriers/310010/authorize?\(Forms.encode(query))")
        #expect(page.status == .ok)
        #expect(!page.text.contains("<script"))
        #expect(page.text.contains(Self.escaped))
    }

    @Test("The name of a parameter is text on the page")
    func parameterName() async throws {
        let query = carriers.authorizationQuery(changing: [Self.hostile: "x"])
        let page = try await carriers.get("/carriers/310010/authorize?\(Forms.encode(query))")
        #expect(page.status == .ok && !page.text.contains("<script"))
    }

    @Test("Names of clients, carriers and users, and redirect URIs, are text on the page")
    func names() async throws {
        let user = CarrierSimulator.User(
            id: Self.hostile, givenName: Self.hostile, familyName: "", email: "", phoneNumber: Self.hostile,
            postalCode: "")
        let simulator = CarrierSimulator(
            carriers: [.init(mccmnc: "310010", name: Self.hostile, users: [user])],
            clients: [.init(id: Self.hostile, secret: Secret("x"), redirectURIs: [Self.hostile])])
        simulator.baseURL = "http://localhost/" + Self.hostile
        let query = Forms.encode(
            carriers.authorizationQuery(changing: ["client_id": Self.hostile, "redirect_uri": Self.hostile]))
        for target in ["/carriers/310010/authorize?\(query)", "/ui/discovery-ui?\(query)", "/"] {
            let page = try await simulator.router.respond(to: try Request(.get, target))
            #expect(page.status == .ok)
            #expect(!page.text.contains("<script"))
            #expect(page.text.contains(Self.escaped))
        }
    }

    @Test("The state on the discovery page is text")
    func discoveryPage() async throws {
        let query = Forms.encode(DiscoveryUITests.query.map { $0.0 == "state" ? ($0.0, Self.hostile) : $0 })
        let page = try await carriers.get("/ui/discovery-ui?\(query)")
        #expect(page.status == .ok && !page.text.contains("<script") && page.text.contains(Self.escaped))
    }

    @Test("A refusal repeats nothing of the request")
    func refusal() async throws {
        let query = Forms.encode(carriers.authorizationQuery(changing: ["redirect_uri": Self.hostile]))
        let page = try await carriers.get("/carriers/310010/authorize?\(query)")
        #expect(page.status == .badRequest && !page.text.contains("alert"))
    }

    @Test("Hidden fields carry every parameter of the request unchanged")
    func hiddenFields() async throws {
        let page = try await carriers.get("/carriers/310010/authorize?\(Forms.encode(carriers.authorizationQuery()))")
        #expect(page.text.contains(#"<input type="hidden" name="state" value="s&amp;1">"#))
        #expect(page.text.contains(#"<input type="hidden" name="code_challenge" value="\#(Harness.challenge)">"#))
    }

    @Test("Pages load nothing from other origins, run no scripts, and cannot be framed")
    func policy() async throws {
        let query = Forms.encode(carriers.authorizationQuery())
        for target in ["/carriers/310010/authorize?\(query)", "/carriers/310010/authorize", "/"] {
            let page = try await carriers.get(target)
            let policy = try page.headers[.contentSecurityPolicy].required
            #expect(policy.hasPrefix("default-src 'none'; style-src 'self'"))
            #expect(policy.contains("frame-ancestors 'none'"))
            #expect(!page.text.contains("style=") && !page.text.contains("<style"))
            #expect(page.headers[.cacheControl] == "no-store")
        }
    }

    @Test("The style sheet is served")
    func styleSheet() async throws {
        let style = try await carriers.get("/style.css")
        #expect(style.headers[.contentType]?.hasPrefix("text/css") == true)
        #expect(style.text.contains("prefers-color-scheme: dark"))
    }
}
