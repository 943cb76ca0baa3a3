import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An answer of the server's.
struct Answer: Sendable {
    let data: Data
    let response: HTTPURLResponse

    var status: Int { response.statusCode }

    /// - Throws: The error that the answer tells, unless it is a success or has one of `others` as its status.
    func checked(or others: Set<Int> = [], now: Date) throws(LatchkeyError) -> Answer {
        guard (200...299).contains(status) || others.contains(status) else { throw error(now) }
        return self
    }

    /// - Parameter keys: How the members are named; `.useDefaultKeys` for a type that names them itself.
    func decoded<Value: Decodable>(
        _ type: Value.Type, _ keys: JSONDecoder.KeyDecodingStrategy = .convertFromSnakeCase
    ) throws(LatchkeyError) -> Value {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = keys
        do { return try decoder.decode(type, from: data) } catch { throw .notLatchkeys }
    }

    /// The `error` of the answer, if it has one.
    var errorCode: String? { (try? decoded(ErrorResponse.self))?.error }

    private func error(_ now: Date) -> LatchkeyError {
        guard let answer = try? decoded(ErrorResponse.self) else {
            var error = LatchkeyError.notLatchkeys
            error.status = status
            return error
        }
        var error = LatchkeyError(
            LatchkeyError.Code(rawValue: answer.error), answer.errorDescription ?? "",
            kind: answer.errorType.flatMap(LatchkeyError.Kind.init) ?? .unknownError)
        error.userMessage = answer.message
        error.status = status
        error.correlationID = answer.correlationId
        error.requestID = answer.requestId
        error.retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap(TimeInterval.init)
        error.registration = answer.stateKey.map { key in
            RegistrationOffer(
                stateKey: Hidden(key), attributes: answer.zenkeyAttributes?.profile ?? Profile(),
                missing: answer.missing ?? [],
                expiresAt: answer.expiresIn.map { now.addingTimeInterval($0) })
        }
        return error
    }
}

/// The token answer of the server.
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

    /// The carrier's shape: an object with a `value` each.
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
