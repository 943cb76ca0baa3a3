import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

@testable import Linking

/// A user's own account: `PATCH` and `DELETE /users/me`, `/users/me/identities`.
@Suite("A user's account")
struct AccountTests {
    @Test("is edited: fields that are sent change, null and empty clear, the rest stays")
    func edit() async throws {
        let app = try TestApp()
        let (token, other) = (try await app.token(), try await app.token(SignInBody().code("CODE-2")))
        #expect(try await app.me(other).status == 200)
        let first = try await app.patch(
            token,
            #"""
            {"username":"jd","name":" Jane Doe ","email":"jane@mail.example","phone":"+1 310 123 4567",
            "postal_code":"90210"}
            """#)
        #expect(first.status == 200)
        #expect(first.headers[.cacheControl] == "no-store")
        #expect(
            first.json?.members.map(\.name) == [
                "user_id", "username", "name", "email", "postal_code", "phone_number", "zenkey_sub", "sub",
                "created_at", "email_verified", "email_verified_at", "email_verified_by", "phone_number_verified",
                "phone_number_verified_at", "phone_number_verified_by",
            ])
        #expect(try await app.me(token).body == first.body)
        #expect(try await app.me(other).body == first.body)
        let texts = ["username", "name", "email", "phone_number", "postal_code"].map { first.text($0) }
        #expect(texts == ["jd", "Jane Doe", "jane@mail.example", "+1 310 123 4567", "90210"])
        let second = try await app.patch(token, #"{"username":null,"name":"","phone_number":"+13101234567"}"#)
        #expect(second.json?["username"]?.isNull == true)
        #expect(second.json?["name"]?.isNull == true)
        #expect(second.text("email") == "jane@mail.example")
        #expect(second.text("phone_number") == "+13101234567")
        let form = try await app.patch(
            token, "email=&given_name=J%C3%A4ne&family_name=D", type: "application/x-www-form-urlencoded")
        #expect(form.json?["email"]?.isNull == true)
        let events = try await app.store.auditEvents(AuditQuery())
        #expect(
            events.map(\.event.details.json) == [
                #"{"attributes":["given_name","family_name","email"]}"#,
                #"{"attributes":["username","name","phone_number"]}"#,
                #"{"attributes":["username","name","email","phone_number","postal_code"]}"#,
            ])
        #expect(events.allSatisfy { $0.event.kind.name == "user.edited" && $0.event.actor == .user })
        #expect(events.first?.event.requestID == form.requestID)
    }

    @Test("is not changed by an empty edit", arguments: ["{}", #"{"name":null}"#])
    func nothing(_ body: String) async throws {
        let app = try TestApp()
        let token = try await app.token()
        let answer = try await app.patch(token, body)
        #expect(answer.status == 200)
        #expect(try await app.me(token).body == answer.body)
        #expect(try await app.store.auditEvents(AuditQuery()).isEmpty)
    }

    static let refused: [(body: String, says: [String])] = [
        (
            #"{"email":"nobody","phone_number":"call me","postal_code":"<>"}"#,
            ["email is", "phone_number is", "postal_code is"]
        ),
        (#"{"phone":"call me"}"#, ["phone is"]), (#"{"phone_number":7}"#, ["phone_number must be"]),
        (#"{"name":7,"email":["a"]}"#, ["name must be a string or null", "email must be"]),
        (
            #"{"user_id":1,"zenkey_sub":"x","sub":"x","created_at":0}"#,
            ["user_id cannot", "zenkey_sub cannot", "; sub cannot", "created_at cannot"]
        ),
        (
            #"{"email_verified":true,"email_verified_at":1,"phone_number_verified_by":"https://a.example"}"#,
            ["email_verified cannot", "email_verified_at cannot", "phone_number_verified_by cannot"]
        ),
        (#"{"is_admin":true}"#, ["a field is unknown"]),
        (#"{"phone":"12345","phone_number":"12345"}"#, ["is repeated as phone"]),
        (#"{"username":"\#(String(repeating: "u", count: 65))"}"#, ["username is longer than 64"]),
        (#"{"name":"\#(String(repeating: "u", count: 1025))"}"#, ["name is longer than 1024"]),
        (#"{"name":"a\u0000b"}"#, ["name has control characters"]),
    ]

    @Test("is not edited by malformed fields, and the error names all of them", arguments: refused)
    func malformed(_ row: (body: String, says: [String])) async throws {
        let app = try TestApp()
        let token = try await app.token()
        let before = try await app.me(token).body
        // With a valid field beside it.
        let answer = try await app.patch(token, String(row.body.dropLast()) + #","given_name":"Jane"}"#)
        #expect(answer.status == 400)
        #expect(answer.error == "invalid_request")
        for words in row.says { #expect(answer.description.contains(words), "\(answer.description)") }
        #expect(!answer.description.contains("is_admin"))
        #expect(try await app.me(token).body == before)
        #expect(try await app.store.auditEvents(AuditQuery()).isEmpty)
    }

    @Test("keeps the attributes that registration requires, and refuses an address of a blocked domain")
    func rules() async throws {
        var rules = TestRegistration()
        rules.requiredAttributes = [.init(.email), .init(.phoneNumber)]
        rules.blockedEmailDomains = ["blocked.example"]
        let app = try TestApp(registration: rules)
        let token = try await app.token()
        let cleared = try await app.patch(token, #"{"email":null,"phone_number":" ","name":null}"#)
        #expect(cleared.status == 400)
        #expect(cleared.description == "email cannot be empty; phone_number cannot be empty.")
        let blocked = try await app.patch(token, #"{"email":"jane@mail.blocked.example"}"#)
        #expect(blocked.status == 403)
        #expect(blocked.error == "email_domain_blocked")
        #expect(try await app.patch(token, #"{"email":"jane@fine.example"}"#).status == 200)
    }

    @Test("is changed by the request's method alone: no header overrides it")
    func methodOverride() async throws {
        let app = try TestApp()
        let token = try await app.token()
        let before = try await app.me(token).body
        for name in ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"] {
            for wanted in ["PATCH", "DELETE"] {
                let headers: HTTPFields = [
                    .authorization: "Bearer \(token)", .contentType: "application/json",
                    try #require(HTTPField.Name(name)): wanted,
                ]
                let post = try await app.send(.post, "/users/me", headers, body: #"{"name":"Jane"}"#)
                #expect(post.status == 405)
                #expect(post.headers[.allow] == "DELETE, GET, HEAD, OPTIONS, PATCH")
                #expect(try await app.send(.get, "/users/me?_method=\(wanted)", headers).status == 200)
            }
        }
        #expect(try await app.me(token).body == before)
    }

    @Test("is edited with a JSON object or a form, and nothing else")
    func bodies() async throws {
        let app = try TestApp()
        let token = try await app.token()
        let rows: [(body: String, type: String, status: Int)] = [
            ("[]", "application/json", 400), (#"{"name":"a","name":"b"}"#, "application/json", 400),
            ("", "application/json", 400), ("name=a&name=b", "application/x-www-form-urlencoded", 400),
            (#"{"name":"Jane"}"#, "text/plain", 415), ("<name>Jane</name>", "application/xml", 415),
            (#"[{"op":"replace","path":"/name","value":"Jane"}]"#, "application/json-patch+json", 415),
            ("name=Jane", "application/x-www-form-urlencoded; charset=utf-8", 200),
        ]
        for row in rows {
            let answer = try await app.patch(token, row.body, type: row.type)
            #expect(answer.status == row.status, "\(row)")
            let isEdited = try await app.me(token).text("name") == "Jane"
            #expect(isEdited == (row.status == 200), "\(row)")
        }
    }

    /// The session was valid when the request was admitted, and is revoked while the request waits.
    @Test("is not changed by a request whose session was revoked meanwhile")
    func revokedMeanwhile() async throws {
        let app = try TestApp()
        let (token, other) = (try await app.token(), try await app.token(SignInBody().code("CODE-2")))
        let sessions = app.useCases.sessions
        let holder = try #require(try await sessions.authenticate(Secret(token)))
        let identities = LinkingFeature(LinkingSettings(), in: .test(app.testStore.store)).identities(of: app.api)
        let identity = try #require(try await identities.list(for: holder).first).id
        #expect(try await app.asUser(.delete, "/auth/token", token).status == 200)
        var edit = ProfileEdit()
        edit.attributes[.name] = "Jane"
        await #expect(throws: SignInError.self) { try await sessions.edit(edit, for: holder, requestID: "r") }
        await #expect(throws: SignInError.self) { try await identities.unlink(identity, for: holder, requestID: "r") }
        await #expect(throws: SignInError.self) { try await sessions.eraseUser(holder, requestID: "r") }
        await #expect(throws: SignInError.self) { try await sessions.revokeOthers(than: holder, requestID: "r") }
        let otherID = try #require(try await sessions.authenticate(Secret(other))).session.id
        for id in [otherID, "unknown", holder.session.id] {
            let refusal = await #expect(throws: SignInError.self) {
                try await sessions.revoke(id, for: holder, requestID: "r")
            }
            #expect(refusal?.code == .invalidToken)
        }
        let me = try await app.me(other)
        #expect(me.status == 200 && me.json?["name"]?.isNull == true)
    }

    @Test("cannot be edited by others")
    func others() async throws {
        let app = try TestApp()
        let token = try await app.token()
        app.carrier.script { $0.subject = "SUBJECT-of-somebody-else" }
        let other = try await app.token(SignInBody().code("CODE-2"))
        #expect(try await app.patch(token, #"{"name":"Jane"}"#).status == 200)
        #expect(try await app.me(other).json?["name"]?.isNull == true)
        #expect(try await app.patch(String(repeating: "a", count: 43), #"{"name":"Jane"}"#).status == 401)
        #expect(try await app.send(.patch, "/users/me", body: "{}").error == "invalid_token")
    }

    @Test(
        "that is erased ends the consent at a provider whose tokens are stored, and is erased if that fails",
        arguments: [(200, "revoked"), (400, "not_revoked"), (nil, nil)] as [(Int?, String?)])
    func revocation(status: Int?, outcome: String?) async throws {
        let key = try #require(EncryptionKey([UInt8](repeating: 7, count: 32)))
        let app = try TestApp(vaultKeys: [key], rules: { $0.storesTokens = true })
        let idToken = app.carrier.idToken()
        app.carrier.script { script in
            script.token = { _ throws(OutboundError) in
                .json(
                    #"{"access_token":"ACCESS","token_type":"Bearer","refresh_token":"REFRESH","#
                        + #""id_token":"\#(idToken)"}"#
                )
            }
            guard let status else { return }
            script.configuration = { _ throws(OutboundError) in .json(FakeCarrier.metadataWithRevocation) }
            script.revocation = { _ throws(OutboundError) in .json("{}", status: status) }
        }
        let signedIn = try await app.post("/auth/bank/sign-in", SignInBody().json)
        let token = try #require(signedIn.text("token"))
        #expect(try await app.asUser(.delete, "/users/me", token).status == 200)
        #expect(try await app.me(token).status == 401)
        let requests = app.carrier.http.requests(to: FakeCarrier.revocationURL)
        #expect(requests.count == (status == nil ? 0 : 1))
        for request in requests {
            #expect(String(decoding: request.body, as: UTF8.self) == "token=REFRESH&token_type_hint=refresh_token")
            #expect(request.headers.contains { $0.name == "Authorization" && $0.value.hasPrefix("Basic ") })
        }
        let line = app.log.lines.last { $0.message == "provider tokens" }
        #expect(line?.metadata["outcome"].map { "\($0)" } == outcome)
        #expect(!app.log.text.contains("REFRESH"))
    }

    @Test("is erased with all its tokens and identities, with an audit event")
    func erase() async throws {
        let app = try TestApp()
        let old = try await app.tokens()
        let new = try #require(Tokens(try await app.refresh(old.refreshToken)))
        let user = try #require(try await app.me(new.token).integer("user_id"))
        let answer = try await app.asUser(.delete, "/users/me", new.token)
        #expect(answer.body == "{}")
        for tokens in [old, new] {
            #expect(try await app.me(tokens.token).status == 401)
            #expect(try await app.refresh(tokens.refreshToken).status == 401)
        }
        #expect(try await app.store.identities(of: UserID(user)).isEmpty)
        let events = try await app.store.auditEvents(AuditQuery(user: UserID(user)))
        #expect(events.map(\.event.kind.name) == ["user.erased"])
        #expect(events.first?.event.requestID == answer.requestID)
    }

    @Test("lists its identities without their subjects, under stable ids")
    func identities() async throws {
        let app = try TestApp()
        let token = try await app.token()
        let first = try await app.asUser(.get, "/users/me/identities", token)
        #expect(first.status == 200)
        let identities = try #require(first.json?["identities"]?.array).compactMap(\.object)
        #expect(identities.map { $0.members.map(\.name) } == [["id", "issuer", "created_at"]])
        #expect(identities.first?["issuer"]?.string == FakeCarrier.issuer)
        #expect(identities.first?["created_at"]?.integer == app.clock.now.secondsSinceEpoch)
        #expect(!first.body.contains("SUBJECT"))
        #expect(try await app.asUser(.get, "/users/me/identities", token).body == first.body)
    }

    @Test("keeps its last identity")
    func lastIdentity() async throws {
        let app = try TestApp()
        let token = try await app.token()
        let list = try await app.asUser(.get, "/users/me/identities", token)
        let id = try #require(list.json?["identities"]?.array?.first?.object?["id"]?.string)
        let answer = try await app.asUser(.delete, "/users/me/identities/\(id)", token)
        #expect(answer.status == 409)
        #expect(answer.error == "last_identity")
        #expect(try await app.asUser(.get, "/users/me/identities", token).body == list.body)
    }

    @Test("reveals no other user's identities")
    func guessing() async throws {
        let app = try TestApp()
        let token = try await app.token()
        app.carrier.script { $0.subject = "SUBJECT-of-somebody-else" }
        let victim = try await app.token(SignInBody().code("CODE-2"))
        let list = try await app.asUser(.get, "/users/me/identities", victim)
        let id = try #require(list.json?["identities"]?.array?.first?.object?["id"]?.string)
        var bodies: Set<String> = []
        for guess in [id, String(repeating: "0", count: 32), "x", String(repeating: "y", count: 500)] {
            let answer = try await app.asUser(.delete, "/users/me/identities/\(guess)", token)
            #expect(answer.status == 404)
            bodies.insert(answer.body.replacing(answer.requestID ?? "", with: ""))
        }
        #expect(bodies.count == 1)
    }

    @Test("has identities only with the feature: the core has neither a route nor a word of them")
    func core() throws {
        let app = try TestApp()
        let core = LatchkeyAPI(useCases: app.useCases, apiKeys: APIKeys([]), logger: app.log.logger)
        let ours = ["/users/me/identities", "/users/me/identities/{id}", "/auth/{provider}/link"]
        #expect(core.routes.filter { ours.contains($0.pattern) }.isEmpty)
        #expect(Set(app.api.routes.map(\.pattern)).isSuperset(of: ours))
        let document = PublishedAPI.document(of: []).text
        #expect(!document.contains("/identities") && !document.contains("LinkStart"))
    }
}
