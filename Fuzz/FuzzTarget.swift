#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A parser of data from outside, for libFuzzer: `make fuzz`. Any input must lead to a value or an error within a
/// second, and every value must have the properties that its parser promises.
enum FuzzTarget: String, CaseIterable {
    case authorizationResponse = "authorization-response"
    case backchannel
    case configuration
    case connection
    case dpop
    case encryptedToken = "encrypted-token"
    case encryptedUserInfo = "encrypted-userinfo"
    case idToken = "id-token"
    case jwks
    case metadata
    case operatorAPI = "operator-api"
    case pushedAuthorization = "pushed-authorization"
    case requestFields = "request-fields"
    case response
    case storedContent = "stored-content"
    case storedRows = "stored-rows"
    case tokenResponse = "token-response"
    case userInfo = "userinfo"

    /// What is done once, and takes longer than an input may.
    func prepare() { if self == .storedRows { StoredRowsTarget.prepare() } }

    func read(_ bytes: [UInt8]) {
        switch self {
        case .authorizationResponse: AuthorizationResponseTarget.read(bytes)
        case .backchannel: BackchannelTarget.read(bytes)
        case .configuration: ConfigurationTarget.read(bytes)
        case .connection: ConnectionTarget.read(bytes)
        case .dpop: DPoPTarget.read(bytes)
        case .encryptedToken: EncryptedTokenTarget.read(bytes)
        case .encryptedUserInfo: EncryptedUserInfoTarget.read(bytes)
        case .idToken: IDTokenTarget.read(bytes)
        case .jwks: JWKSTarget.read(bytes)
        case .metadata: MetadataTarget.read(bytes)
        case .operatorAPI: OperatorAPITarget.read(bytes)
        case .pushedAuthorization: PushedAuthorizationTarget.read(bytes)
        case .requestFields: RequestFieldsTarget.read(bytes)
        case .response: ResponseTarget.read(bytes)
        case .storedContent: StoredContentTarget.read(bytes)
        case .storedRows: StoredRowsTarget.read(bytes)
        case .tokenResponse: TokenResponseTarget.read(bytes)
        case .userInfo: UserInfoTarget.read(bytes)
        }
    }
}

/// The target that FUZZ_TARGET names.
private let target: FuzzTarget = {
    let name = getenv("FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
        let names = FuzzTarget.allCases.map(\.rawValue).joined(separator: ", ")
        say("FUZZ_TARGET must be one of: \(names)")
        exit(64)
    }
    return target
}()

/// libFuzzer calls it before the first input.
@_cdecl("LLVMFuzzerInitialize")
public func prepareForInputs(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> CInt {
    target.prepare()
    return 0
}

/// libFuzzer calls it with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func readOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target.read(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}

/// Ends the process if a property does not hold. libFuzzer counts that as a crash and keeps the input.
func demand(_ holds: Bool, _ promise: StaticString) {
    guard !holds else { return }
    say("broken promise: \(promise)")
    abort()
}

private func say(_ text: String) {
    _ = Array("\(text)\n".utf8).withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
