import OpenIDConnect
import Primitives
import TestSupport
import Testing

struct UserInfoTests {
    private func userInfo(
        _ response: OutboundResponse, metadata: JSONDraft = FakeCarrier.metadata, subject: String? = nil
    ) async throws -> Result<UserInfo, OIDCError> {
        let text = metadata.text
        let carrier = FakeCarrier {
            $0.discovery = .json(text)
            $0.userInfo = response
        }
        let relyingParty = try carrier.relyingParty()
        let subjects = try SignInSubjects()
        let provider = try await relyingParty.provider(subjects)
        var draft = TokenDraft()
        if let subject { draft.claims["sub"] = "\"\(subject)\"" }
        let verified = try await relyingParty.validate(
            idToken: Secret(draft.text), expecting: expectation(), provider: provider)
        do throws(OIDCError) {
            let info = try await relyingParty.userInfo(
                accessToken: Secret("access-1"), about: verified, provider: provider,
                correlationID: subjects.correlationID)
            let request = carrier.http.requests(to: FakeCarrier.userInfoURL)
            #expect(request.map(\.url.text) == [FakeCarrier.userInfoURL + "?correlation_id=corr-1"])
            #expect(request.first?.headers.first { $0.name == "Authorization" }?.value == "Bearer access-1")
            #expect(request.first?.method == .get)
            #expect(request.first?.timeout == .seconds(5))
            #expect(request.first?.maximumBodyBytes == 65_536)
            return .success(info)
        } catch {
            return .failure(error)
        }
    }

    private func attributes(_ members: String) async throws -> UserInfo {
        try await userInfo(.json(#"{"sub":"310999-subject","# + members + "}")).get()
    }

    private func error(_ response: OutboundResponse) async throws -> OIDCError? {
        guard case .failure(let error) = try await userInfo(response) else { return nil }
        return error
    }

    @Test("The flat shape is read, booleans as texts too")
    func flat() async throws {
        let info = try await attributes(
            #""name":"Jane Doe","given_name":"Jane","family_name":"Doe","email":"j@example.com","#
                + #""email_verified":"true","#
                + #""phone_number":"+15550100","phone_number_verified":false,"postal_code":"01234","#
                + #""birthdate":"1990-01-02""#
        )
        #expect(info.attributes[.name] == "Jane Doe")
        #expect(info.attributes[.givenName] == "Jane")
        #expect(info.attributes[.familyName] == "Doe")
        #expect(info.attributes[.email] == "j@example.com")
        #expect(info.verified[.email] == true)
        #expect(info.attributes[.phoneNumber] == "+15550100")
        #expect(info.verified[.phoneNumber] == false)
        #expect(info.attributes[.postalCode] == "01234")
        #expect(info.claims[.birthdate] == .text("1990-01-02"))
    }

    @Test("The nested shape is read")
    func nested() async throws {
        let info = try await attributes(
            #""name":{"value":"Jane Doe","given_name":"Jane","family_name":"Doe"},"email":{"value":"j@example.com"},"#
                + #""postal_code":{"value":"01234"},"phone":{"value":"+15550100"},"email_verified":{"value":"false"},"#
                + #""address":{"value":{"street_address":"1 Main St\nFlat 2","locality":"Town","country":"US"}}"#)
        #expect(info.attributes[.name] == "Jane Doe")
        #expect(info.attributes[.givenName] == "Jane")
        #expect(info.attributes[.familyName] == "Doe")
        #expect(info.attributes[.email] == "j@example.com")
        #expect(info.verified[.email] == false)
        #expect(info.attributes[.phoneNumber] == "+15550100")
        #expect(info.attributes[.postalCode] == "01234")
        #expect(info.address == "1 Main St, Flat 2, Town, US")
    }

    @Test(
        "An address is read in each of its forms",
        arguments: [
            (#""address":"1 Main St""#, "1 Main St"), (#""address":{"value":"1 Main St"}"#, "1 Main St"),
            (#""address":{"formatted":"1 Main St\r\nTown"}"#, "1 Main St, Town"),
            (#""address":{"locality":"Town","postal_code":"01234"}"#, "Town, 01234"), (#""address":{}"#, nil),
            (#""address":7"#, nil),
        ] as [(String, String?)])
    func address(_ members: String, _ text: String?) async throws {
        #expect(try await attributes(members).address == text)
    }

    static let claims: [(claim: ConsentedClaim, json: String, value: ConsentedClaims.Value?)] = [
        (.birthdate, #""1984-05-17""#, .text("1984-05-17")),
        (.birthdate, #"{"value":"0000-05-17"}"#, .text("0000-05-17")),
        (.birthdate, "19840517", nil), (.birthdate, #""a\nb""#, nil),
        (.last4Social, #""0042""#, .text("0042")), (.last4Social, #"{"value":"1234"}"#, .text("1234")),
        (.last4Social, "42", .text("0042")), (.last4Social, #"{"value":1234}"#, .text("1234")),
        (.last4Social, "12345", nil), (.last4Social, "-1", nil), (.last4Social, "true", nil),
        (.isAdult, "true", .flag(true)), (.isAdult18, #""true""#, .flag(true)),
        (.isAdult21, #"{"value":"false"}"#, .flag(false)), (.isOver13, #"{"value":false}"#, .flag(false)),
        (.isAdult, #""yes""#, nil), (.isAdult18, "1", nil), (.isOver13, "null", nil),
        (.proofing, "true", .flag(true)), (.proofing, #""level 2""#, .text("level 2")), (.proofing, "[]", nil),
        (.address, #""1 Main St\nTown""#, nil),
        (.address, #"{"value":"1 Main St"}"#, .address([.formatted: "1 Main St"])),
        (
            .address, #"{"value":{"street_address":"1 Main St\nFlat 2","region":"OR","other":"x","country":7}}"#,
            .address([.formatted: "1 Main St, Flat 2, OR", .streetAddress: "1 Main St, Flat 2", .region: "OR"])
        ),
        (.address, #"{"formatted":"1 Main St\r\nTown"}"#, .address([.formatted: "1 Main St, Town"])),
        (.address, "{}", nil),
    ]

    @Test("A claim that the user consented to share is read, in each shape", arguments: claims)
    func claim(_ row: (claim: ConsentedClaim, json: String, value: ConsentedClaims.Value?)) async throws {
        let claims = try await attributes("\"\(row.claim.rawValue)\":\(row.json)").claims
        #expect(claims[row.claim] == row.value, "\(row.json)")
        #expect(claims.present == (row.value == nil ? [] : [row.claim]))
    }

    @Test("The postal code comes from the address if there is no other")
    func postalCodeOfAddress() async throws {
        #expect(
            try await attributes(#""address":{"value":{"postal_code":"01234"}}"#).attributes[.postalCode] == "01234")
        #expect(
            try await attributes(#""postal_code":"5","address":{"postal_code":"01234"}"#).attributes[.postalCode] == "5"
        )
    }

    @Test(
        "An attribute of another type, or with control characters, or too long, is left out",
        arguments: [
            "5", "null", "[\"a\"]", "\"\"", "\"a\\u0000b\"", "\"a\\nb\"", "\"a\\u007fb\"", "\"a\\u0085b\"",
            "\"a\\u2028b\"",
            "\"\(String(repeating: "x", count: 256))\"", "{}", "{\"value\":5}", "{\"value\":{\"value\":\"x\"}}",
        ])
    func leftOut(_ json: String) async throws {
        let info = try await attributes(
            "\"name\":\(json),\"email\":\(json),\"postal_code\":\(json),\"given_name\":\(json)")
        #expect(info == UserInfo())
        #expect(try await attributes("\"email\":\"\(String(repeating: "x", count: 255))\"").attributes[.email] != nil)
    }

    @Test(
        "A flag that is no boolean is left out",
        arguments: ["1", "\"TRUE\"", "\"yes\"", "null", "{\"value\":{\"value\":true}}"])
    func flags(_ json: String) async throws {
        #expect(try await attributes("\"email_verified\":\(json)").verified[.email] == nil)
    }

    @Test(
        "A flag is about the member with the attribute's own name",
        arguments: [
            (#""email":"a@x","email_verified":true"#, true, nil),
            (#""email":{"value":"a@x"},"email_verified":true"#, true, nil),
            (#""phone_number":"+1555","phone_number_verified":true"#, nil, true),
            (#""phone":{"value":"+1555"},"phone_number_verified":true"#, nil, true),
            (#""phone_number":null,"phone":"+1555","phone_number_verified":true"#, nil, true),
            (#""phone_number":5,"phone":"+1555","phone_number_verified":true"#, nil, nil),
            (#""phone_number":"","phone":"+1555","phone_number_verified":true"#, nil, nil),
        ] as [(String, Bool?, Bool?)])
    func flagOfMember(members: String, email: Bool?, phoneNumber: Bool?) async throws {
        let info = try await attributes(members)
        #expect(info.verified[.email] == email)
        #expect(info.verified[.phoneNumber] == phoneNumber)
    }

    @Test("Claims of the userinfo response do not override the ID token's")
    func overriding() async throws {
        let info = try await attributes(
            #""iss":"https://evil.example","aud":"x","exp":1,"roles":["root"],"_claim_sources":{}"#)
        #expect(info == UserInfo())
    }

    @Test("A subject may be written as a number", arguments: ["7", "7.0", "8", "-7"])
    func numberSubject(_ number: String) async throws {
        let found = try await userInfo(.json(#"{"sub":\#(number)}"#), subject: "7")
        #expect(((try? found.get()) != nil) == number.hasPrefix("7"))
    }

    @Test(
        "A response with another subject, or none, is refused",
        arguments: [
            #"{"sub":"foobar"}"#, #"{"sub":"310999-subject1"}"#, "{}", #"{"sub":null}"#, #"{"sub":["310999-subject"]}"#,
            #"{"sub":["x","310999-subject"]}"#, #"{"sub":{"value":"310999-subject"}}"#, #"{"sub":"310999-SUBJECT"}"#,
            #"{"sub":""}"#,
        ])
    func otherSubject(_ body: String) async throws {
        #expect(try await error(.json(body)) == .failed(.userInfoSubject))
    }

    @Test("A response other than 200 with a JSON object is unusable")
    func unusable() async throws {
        let proper = #"{"sub":"310999-subject"}"#
        for response in [
            OutboundResponse.json(proper, status: 401), .json(proper, status: 403), .json(proper, status: 500),
            .json(proper, status: 302),
            OutboundResponse(status: 200), .json("<html></html>"), .json("[]"),
            .json(#"{"sub":"310999-subject","sub":"310999-subject"}"#),
            OutboundResponse(status: 200, contentType: "text/html", body: Array(proper.utf8)),
            OutboundResponse(status: 200, contentType: "application/jwt", body: Array(proper.utf8)),
            .json(TokenDraft().text),
        ] {
            let found = try await error(response)
            #expect(found?.code == .unusableResponse)
            #expect(found?.codeMayBeSpent == true)
        }
    }

    @Test("A provider without the endpoint has no userinfo")
    func noEndpoint() async throws {
        let result = try await userInfo(.json("{}"), metadata: FakeCarrier.metadata.with("userinfo_endpoint", nil))
        #expect(throws: OIDCError(.metadataRefused, reason: "")) { try result.get() }
    }

    @Test("Attributes are hidden from print")
    func redacted() async throws {
        let info = try await attributes(#""name":"Jane Doe""#)
        #expect(!"\(info) \(String(reflecting: info)) \([info])".contains("Jane"))
    }
}

extension UserInfo {
    /// The address as one text.
    fileprivate var address: String? {
        guard case .address(let members) = claims[.address] else { return nil }
        return members[.formatted]
    }
}
