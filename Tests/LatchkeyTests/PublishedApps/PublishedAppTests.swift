import CarrierSimulator
import Foundation
import HTTPServer
import LatchkeyAPI
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import Registration
import SignIn
import TestSupport
import Testing

/// ZenKey's published example apps, over real sockets: they decode every response of their calls.
@Suite(.serialized) struct PublishedAppTests {
    @Test("The iOS app signs in, shows its user, and signs out")
    func iOSLife() async throws {
        try await SignInHarness.with { harness in
            var service = SigninService(app: harness.app)
            let (signedIn, result) = try await service.signIn(
                try harness.iOSResponse(
                    scope: "openid name email phone postal_code", acr: "a3", context: "Pay $10",
                    correlationId: "6D1E4F0C-1B5A-4C7D-9E43-0F1C8E6A2B11"))
            guard case .success(let tokens) = result else { throw Unexpected(answer: signedIn) }
            #expect(tokens.token == signedIn.token)
            #expect(tokens.refreshToken == signedIn.refreshToken)
            #expect(tokens.tokenType == "bearer")
            #expect(tokens.expires == 3600)

            service.apiToken = "Bearer " + tokens.token
            let (shown, found) = try await service.getUser()
            guard case .success(let user) = found else { throw Unexpected(answer: shown) }
            #expect(user.zenkeySub == shown.json["zenkey_sub"]?.string)
            #expect(Int64(user.userId) == shown.json["user_id"]?.integer)
            #expect(user.username == nil)

            let (ended, out) = try await service.signOut()
            guard case .success = out else { throw Unexpected(answer: ended) }
            for failure in [try await service.getUser().0, try await service.signOut().0] {
                #expect(failure.status == 401)
                #expect(failure.error == "invalid_token")
            }
        }
    }

    @Test("The iOS app decodes the attributes that the carrier vouches for, and nothing without them")
    func iOSUser() async throws {
        try await SignInHarness.with { harness in
            var fields = try harness.authorizedResponse(scope: "openid name email phone postal_code")
            fields["scope"] = "openid name email phone postal_code"
            let token = try #require(try await harness.app.signIn(fields).token)
            let (shown, found) = try await SigninService(app: harness.app, apiToken: "Bearer \(token)").getUser()
            guard case .success(let user) = found else { throw Unexpected(answer: shown) }
            #expect(user.name?.isEmpty == false)
            #expect(user.email?.contains("@") == true)
            #expect(user.phoneNumber?.hasPrefix("+") == true)
            #expect(user.postalCode?.isEmpty == false)
        }
    }

    @Test("The iOS app decodes the offer of a registration", arguments: [SignInHarness.mccmnc, "310410"])
    func iOSUnlinked(mccmnc: String) async throws {
        try await SignInHarness.with(configure: { configuration in
            configuration.registration.mode = .required
            configuration.zenkey.clients[0].scopes = ["openid", "name", "email", "phone", "postal_code"]
        }) { harness in
            let (answer, result) = try await SigninService(app: harness.app).signIn(
                try harness.iOSResponse(mccmnc: mccmnc, scope: "openid name email phone postal_code"))
            guard case .unlinked(let unlinked) = result else { throw Unexpected(answer: answer) }
            #expect(unlinked.error == "user_not_registered")
            #expect(!unlinked.errorDescription.isEmpty)
            #expect(unlinked.zenkeyAttributes.sub == answer.json["state_key"]?.string)
            let name = try #require(unlinked.zenkeyAttributes.name)
            #expect(![name.value, name.givenName, name.familyName].contains(""))
            #expect(unlinked.zenkeyAttributes.email?.value.contains("@") == true)
            #expect(unlinked.zenkeyAttributes.phone?.value.hasPrefix("+") == true)
            #expect(unlinked.zenkeyAttributes.postalCode?.value.isEmpty == false)
        }
    }

    /// A sign-in that fails, and the expected response.
    struct Failure: Sendable, CustomTestStringConvertible {
        let name: String
        let status: Int
        let error: String
        var configure: @Sendable (inout Configuration) -> Void = { _ in }
        var key = "test-key"
        /// Changes the app's values, or the carrier.
        var prepare: @Sendable (SignInHarness, inout IOSExampleApp.AuthorizedResponse) async throws -> Void = { _, _ in
        }
        var testDescription: String { name }
    }

    /// What each kind of failure is to the app; the carrier's codes are in the next test.
    static let failures: [Failure] = [
        Failure(
            name: "a network of letters", status: 400, error: "invalid_request",
            prepare: { _, app in app = app.with(mccmnc: "31o010") }),
        Failure(
            name: "a context of 281 characters", status: 400, error: "invalid_request",
            prepare: { _, app in app.context = String(repeating: "c", count: 281) }),
        Failure(
            name: "a key for another client", status: 400, error: "unauthorized_client",
            configure: { configuration in
                var key = APIKey.plain(Secret("other-key"))
                key.clients = [ClientID(SignInHarness.otherClientID)].compactMap(\.self)
                configuration.apiKeys.append(key)
            }, key: "other-key"),
        Failure(name: "an unknown key", status: 401, error: "invalid_api_key", key: "wrong"),
        Failure(
            name: "a used code", status: 401, error: "invalid_grant",
            prepare: { harness, app in
                _ = try await SigninService(app: harness.app).signIn(app)
                app.context = "another request"
            }),
        Failure(
            name: "another nonce", status: 401, error: "invalid_id_token",
            prepare: { _, app in app.nonce = "another" }),
        Failure(
            name: "content that is too large", status: 413, error: "payload_too_large",
            configure: { $0.http.limits.bodyBytes = 1024 },
            prepare: { _, app in app.correlationId = String(repeating: "c", count: 2048) }),
        Failure(
            name: "too many requests", status: 429, error: "rate_limited",
            configure: { $0.requestLimits.quotas[.perAPIKey] = .init(count: 1, seconds: 600) },
            prepare: { harness, _ in _ = try await harness.app.me("none") }),
        Failure(
            name: "an unusable response of the carrier", status: 502, error: "carrier_error",
            prepare: { harness, _ in harness.simulator.setFaults([.tokenNotJSON], for: SignInHarness.mccmnc) }),
        Failure(
            name: "an overloaded server", status: 503, error: "temporarily_unavailable",
            configure: { $0.requestLimits.requestsInProgress = 0 }),
        Failure(
            name: "a carrier that does not respond", status: 504, error: "carrier_timeout",
            configure: { $0.outbound.limits = .short },
            prepare: { harness, _ in harness.simulator.setFaults([.tokenSlow], for: SignInHarness.mccmnc) }),
    ]

    @Test("Each failure of a sign-in is an error for both apps", arguments: failures)
    func failure(_ failure: Failure) async throws {
        try await SignInHarness.with(configure: failure.configure) { harness in
            var response = try harness.iOSResponse()
            try await failure.prepare(harness, &response)
            var app = harness.app
            app.apiKey = failure.key
            let (answer, result) = try await SigninService(app: app).signIn(response)
            #expect(answer.status == failure.status)
            #expect(answer.error == failure.error)
            guard case .failure(let error) = result else { throw Unexpected(answer: answer) }
            #expect(error.error == failure.error)
            #expect(!error.errorDescription.isEmpty)
            let android = try AndroidExampleApp.result(
                AndroidExampleApp.TokenResponse.self, answer.status, answer.response.body)
            guard case .failure(let error) = android else { throw Unexpected(answer: answer) }
            #expect(error.error == failure.error)
            #expect(error.errorDescription?.isEmpty == false)
        }
    }

    @Test("Each error code of a carrier is an error for both apps", arguments: ErrorTableTests.rows)
    func carriersCode(row: ErrorTableTests.Row) async throws {
        try await SignInHarness.with { harness in
            harness.simulator.update(SignInHarness.mccmnc) { $0.tokenRefusal = row.code }
            let (answer, result) = try await SigninService(app: harness.app).signIn(try harness.iOSResponse())
            guard case .failure(let error) = result else { throw Unexpected(answer: answer) }
            #expect([row.code, "carrier_error"].contains(error.error))
            _ = try AndroidExampleApp.result(
                AndroidExampleApp.TokenResponse.self, answer.status, answer.response.body)
        }
    }

    /// The statuses that the app's sign-in cannot get: its requests are well formed and small, the path is fixed; 500
    /// is a bug.
    private static let otherStatuses: Set = [404, 408, 414, 415, 417, 431, 500, 505]

    @Test("The failures above are all that the document names, and the apps decode each of its examples")
    func documented() throws {
        let contract = try PublishedAPI.contract()
        let signIn = "POST /auth/zenkey-signin"
        let seen = Set(Self.failures.map(\.status) + [200, 403])
        #expect(Set(contract.statuses(of: signIn)).subtracting(Self.otherStatuses) == seen)
        for operation in [signIn, "GET /users/me", "DELETE /auth/token"] {
            for status in contract.statuses(of: operation) where status >= 400 {
                let examples = contract.examples(of: operation, status)
                #expect(!examples.isEmpty, "\(operation) \(status)")
                for example in examples {
                    let body = Array(example.text.utf8)
                    if operation == signIn {
                        #expect(throws: Never.self, "\(operation) \(status)") {
                            _ = try IOSExampleApp.signInResult(status, body)
                        }
                    }
                    _ = try IOSExampleApp.decode(IOSExampleApp.ErrorResponse.self, body)
                    _ = try AndroidExampleApp.result(AndroidExampleApp.TokenResponse.self, status, body)
                }
            }
        }
    }

    @Test("The Android app signs in, renews its session, and signs out")
    func androidLife() async throws {
        try await SignInHarness.with { harness in
            let api = AuthApi(app: harness.app)
            let (signedIn, result) = try await api.signIn(try harness.androidRequest())
            guard case .success(let first) = result else { throw Unexpected(answer: signedIn) }
            #expect(first.token == signedIn.token)
            #expect(first.tokenType == "bearer")
            #expect(first.expires == 3600)
            let (renewed, refresh) = try await api.refreshToken(first.refreshToken)
            guard case .success(let second) = refresh else { throw Unexpected(answer: renewed) }
            #expect(second.token != first.token)
            // The published app leaves the session's token out here.
            let without = try await api.endSession(nil)
            #expect(without.status == 401)
            let ended = try await api.endSession(second.token)
            #expect(ended.status == 200)
            let (refused, again) = try await api.refreshToken(second.refreshToken)
            guard case .failure(let error) = again else { throw Unexpected(answer: refused) }
            #expect(error.error == "invalid_grant")
        }
    }

    @Test("With compat.android, the Android app decodes its user, with and without attributes and further claims")
    func androidUser() async throws {
        for scopes in [["openid"], ["openid", "name", "email", "phone", "postal_code", "birthdate", "last_4_social"]] {
            try await SignInHarness.with(configure: { configuration in
                configuration.compatibility.android = true
                configuration.encryptionKeys = [EncryptionKey([UInt8](repeating: 7, count: 32))].compactMap(\.self)
                configuration.zenkey.clients[0].scopes = scopes
            }) { harness in
                let api = AuthApi(app: harness.app)
                let request = try harness.androidRequest(mccmnc: "310410", scope: scopes.joined(separator: " "))
                let (signedIn, result) = try await api.signIn(request)
                guard case .success(let tokens) = result else { throw Unexpected(answer: signedIn) }
                let (shown, found) = try await api.getUser(tokens.token)
                guard case .success(let user) = found else { throw Unexpected(answer: shown) }
                #expect(user.userId == shown.json["user_id"]?.integer)
                #expect(user.zenkeySub == shown.json["sub"]?.string)
                let isShared = scopes.count > 1
                #expect((user.name?.givenName?.isEmpty == false) == isShared)
                #expect((user.name?.familyName?.isEmpty == false) == isShared)
                #expect((user.name?.value?.contains(" ") == true) == isShared)
                #expect((user.email?.value?.contains("@") == true) == isShared)
                #expect((user.postalCode?.value?.isEmpty == false) == isShared)
                #expect((user.phoneNumber?.value?.hasPrefix("+") == true) == isShared)
                for claim in ["birthdate", "last_4_social"] {
                    let value = shown.json[claim]?.object?["value"]?.string
                    #expect((value?.isEmpty == false) == isShared, "\(claim)")
                }
                #expect(shown.json["phone_number_verified"] == .bool(isShared))
            }
        }
    }

    @Test("The Android app's form registers a user, with the handle as zenkey_sub")
    func androidRegistration() async throws {
        try await SignInHarness.with(configure: { configuration in
            configuration.registration.mode = .required
            configuration.registration.blockedEmailDomains = ["blocked.example"]
        }) { harness in
            let api = AuthApi(app: harness.app)
            let (answer, result) = try await api.signIn(try harness.androidRequest())
            guard case .failure = result else { throw Unexpected(answer: answer) }
            #expect(answer.status == 403)
            let handle = try #require(answer.response.attributesSub)
            let user = ["username": "jane", "password": "PASSWORD", "name": "Jane Doe", "email": "jane@example.org"]
            let wrong = [("email", "nobody", 400), ("email", "jane@blocked.example", 403)]
            for (name, value, status) in wrong {
                let (refused, result) = try await api.createUser(
                    zenkeySub: handle, user.merging([name: value]) { $1 })
                #expect(refused.status == status)
                guard case .failure(let error) = result else { throw Unexpected(answer: refused) }
                #expect(error.errorDescription?.isEmpty == false)
            }
            let (created, registered) = try await api.createUser(zenkeySub: handle, user)
            #expect(created.status == 201)
            guard case .success(let tokens) = registered else { throw Unexpected(answer: created) }
            let me = try await harness.app.me(tokens.token)
            #expect(me.json["email"]?.string == "jane@example.org")
            #expect(me.json["name"]?.string == "Jane Doe")
            let (used, again) = try await api.createUser(zenkeySub: handle, user.merging(["name": "Joe"]) { $1 })
            #expect(used.status == 401)
            guard case .failure = again else { throw Unexpected(answer: used) }
        }
    }

    /// A response of another kind than expected.
    private struct Unexpected: Error, CustomStringConvertible {
        let answer: App.Answer
        var description: String { "\(answer.status): \(answer.response.text)" }
    }
}

extension SignInHarness {
    /// The carrier's approval as the iOS SDK gives it to the app.
    fileprivate func iOSResponse(
        mccmnc: String = mccmnc, scope: String = "openid", acr: String? = nil, context: String? = nil,
        correlationId: String? = nil
    ) throws -> IOSExampleApp.AuthorizedResponse {
        let fields = try authorizedResponse(mccmnc: mccmnc, scope: scope, acr: acr, context: context)
        func field(_ name: String) throws -> String { try #require(fields[name]) }
        return IOSExampleApp.AuthorizedResponse(
            code: try field("code"), mccmnc: mccmnc, redirectURI: try #require(URL(string: try field("redirect_uri"))),
            codeVerifier: try field("code_verifier"), nonce: fields["nonce"], acrValues: acr.map { [$0] },
            correlationId: correlationId, context: context, clientId: fields["client_id"])
    }

    fileprivate func androidRequest(
        mccmnc: String = mccmnc, scope: String = "openid"
    ) throws -> AndroidExampleApp.SignInRequest {
        let fields = try authorizedResponse(mccmnc: mccmnc, scope: scope, acr: "a3", context: "Pay $10")
        func field(_ name: String) throws -> String { try #require(fields[name]) }
        return AndroidExampleApp.SignInRequest(
            clientId: try field("client_id"), code: try field("code"), redirectUri: try field("redirect_uri"),
            mccmnc: try field("mccmnc"), codeVerifier: fields["code_verifier"], correlationId: "corr-1",
            nonce: fields["nonce"], context: fields["context"], acrValues: fields["acr_values"])
    }
}

extension IOSExampleApp.AuthorizedResponse {
    fileprivate func with(mccmnc: String) -> Self {
        var copy = Self(code: code, mccmnc: mccmnc, redirectURI: redirectURI, codeVerifier: codeVerifier)
        copy.clientId = clientId
        return copy
    }
}

extension RawClient.Response {
    /// `zenkey_attributes.sub`
    fileprivate var attributesSub: String? {
        let object = (try? JSONValue(parsing: body))?.object
        return object?["zenkey_attributes"]?.object?["sub"]?.string
    }
}
