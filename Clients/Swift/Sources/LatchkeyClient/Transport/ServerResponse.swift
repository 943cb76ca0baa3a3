import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A response of the server.
struct ServerResponse: Sendable {
    let data: Data
    let http: HTTPURLResponse

    var status: Int { http.statusCode }

    /// - Throws: The error in the response, unless its status is a success or one of `others`.
    func checked(or others: Set<Int> = [], now: Date) throws(LatchkeyError) -> ServerResponse {
        guard (200...299).contains(status) || others.contains(status) else { throw error(now) }
        return self
    }

    /// - Parameter keys: `.useDefaultKeys` for a type with its own coding keys.
    func decoded<Value: Decodable>(
        _ type: Value.Type, _ keys: JSONDecoder.KeyDecodingStrategy = .convertFromSnakeCase
    ) throws(LatchkeyError) -> Value {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = keys
        do { return try decoder.decode(type, from: data) } catch { throw .malformed }
    }

    /// The `error` of the response, if it has one.
    var errorCode: String? { (try? decoded(ErrorResponse.self))?.error }

    /// When the server made it.
    var time: Date? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        return http.value(forHTTPHeaderField: "Date").flatMap(format.date)
    }

    private func error(_ now: Date) -> LatchkeyError {
        guard let body = try? decoded(ErrorResponse.self) else {
            var error = LatchkeyError.malformed
            error.status = status
            return error
        }
        var error = LatchkeyError(
            LatchkeyError.Code(rawValue: body.error), body.errorDescription ?? "",
            kind: body.errorType.flatMap(LatchkeyError.Kind.init) ?? .unknownError)
        error.userMessage = body.message
        error.status = status
        error.correlationID = body.correlationId
        error.requestID = body.requestId
        error.retryAfter = http.value(forHTTPHeaderField: "Retry-After").flatMap(TimeInterval.init)
        error.registration = body.stateKey.map { key in
            RegistrationOffer(
                stateKey: Hidden(key), attributes: body.zenkeyAttributes?.profile ?? Profile(),
                missing: body.missing ?? [],
                expiresAt: body.expiresIn.map { now.addingTimeInterval($0) })
        }
        return error
    }
}

/// The server's token response.
struct TokenResponse: Decodable {
    let token: String
    let refreshToken: String
    let expires: Double
    let newUser: Bool
    let correlationId: String

    func session(now: Date) -> Session {
        Session(
            tokens: Tokens(token: token, refreshToken: refreshToken, expiresAt: now.addingTimeInterval(expires)),
            isNewUser: newUser, correlationID: correlationId)
    }
}

private struct ErrorResponse: Decodable {
    let error: String
    let errorDescription: String?
    let message: String?
    let errorType: String?
    let correlationId: String?
    let requestId: String?
    let stateKey: String?
    let zenkeyAttributes: Attributes?
    let missing: [String]?
    let expiresIn: Double?

    /// Attributes in the carrier's form, an object with `value` for each.
    struct Attributes: Decodable {
        struct Value: Decodable {
            let value: String?
            let givenName: String?
            let familyName: String?
        }

        let name: Value?
        let email: Value?
        let phone: Value?
        let postalCode: Value?

        var profile: Profile {
            var profile = Profile()
            profile[.name] = name?.value
            profile[.givenName] = name?.givenName
            profile[.familyName] = name?.familyName
            profile[.email] = email?.value
            profile[.phoneNumber] = phone?.value
            profile[.postalCode] = postalCode?.value
            return profile
        }
    }
}
