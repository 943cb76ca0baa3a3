import OpenIDConnect
import Primitives
import SignIn

/// A redirect sign-in under way: what was asked, and what the response must match.
struct PendingRedirect: Sendable {
    enum Leg: Sendable, Equatable {
        /// The user chooses a carrier.
        case carrierChoice
        /// The user is at the provider: a carrier, or another one, which has no network.
        case authorization(network: MCCMNC?, nonce: Secret, codeVerifier: CodeVerifier)
    }

    var leg = Leg.carrierChoice
    var start: RedirectStart
    let clientID: ClientID
    let correlationID: CorrelationID
    /// The SHA-256 of the value in the browser's cookie, in base64url; nil where any browser may come back.
    let browserHash: String?
    /// The key that the provider binds the code to; nil where none is used.
    var dpopKey: DPoPKey?
    /// The network of the browser's address, for the limit of pending starts; not stored.
    var subnet: IPAddress?

    /// The end of this sign-in, which the browser cannot bring a second time.
    /// - Parameter purpose: The query parameters that tell the frontend what the browser was sent away for.
    func end(_ result: RedirectEnd.Result, _ purpose: [(name: String, value: String)]) -> RedirectEnd {
        var result = result
        if case .failed(let error) = result { result = .failed(error.withoutRetry()) }
        return RedirectEnd(start: start, correlationID: correlationID, purpose: purpose, result: result)
    }
}

/// The bytes in the one-time store. Other instances read them, too. They are short, because a start needs no API key,
/// and each is a row: texts that are base64url of random bytes are kept as these bytes, and what only the first leg
/// needs is left out of the second.
extension PendingRedirect {
    private static let version: UInt8 = 1

    var bytes: [UInt8] {
        var writer = CompactWriter(version: Self.version)
        var isAtCarrierChoice = true
        if case .authorization(let network, let nonce, let codeVerifier) = leg {
            isAtCarrierChoice = false
            writer.add(nonce.exposed)
            writer.add(codeVerifier.secret.exposed)
            writer.add(network?.text)
        } else {
            writer.add(nil)
        }
        writer.add(start.provider.text)
        writer.add(clientID.text)
        writer.add(start.clientType.rawValue)
        writer.add(start.redirectURI)
        writer.add(start.callbackURL)
        writer.add(correlationID.text)
        writer.add(browserHash)
        let demand = start.demand
        writer.add(words: demand.scopes)
        writer.add(words: demand.acrValues)
        writer.add(demand.context)
        writer.add(words: isAtCarrierChoice ? demand.prompt.map(\.rawValue) : [])
        writer.add(isAtCarrierChoice ? demand.loginHint : nil)
        writer.add(start.codeChallenge)
        writer.add(start.trackingID)
        if case .errand(let session) = start.purpose { writer.add(session) } else { writer.add(nil) }
        writer.add(start.sessionIDIsSession ? "1" : nil)
        // Left out where there is none, so that an earlier instance reads all other sign-ins. One with a requirement
        // that it does not know is unknown to it.
        var task: Secret?
        if case .task(let id) = start.purpose { task = id }
        let hasRecency = demand.recency != nil || task != nil
        if dpopKey != nil || hasRecency { writer.add(dpopKey?.secret.exposed) }
        if hasRecency { writer.add(demand.recency) }
        if let task { writer.add(task.exposed) }
        return writer.bytes
    }

    init?(_ bytes: [UInt8]) {
        guard bytes.first == Self.version else { return nil }
        var reader = CompactReader(bytes.dropFirst())
        var leg = Leg.carrierChoice
        if let nonce = reader.text() {
            guard let codeVerifier = reader.text().flatMap(CodeVerifier.init) else { return nil }
            leg = .authorization(
                network: reader.text().flatMap(MCCMNC.init), nonce: Secret(nonce), codeVerifier: codeVerifier)
        }
        guard let provider = reader.text(), let clientID = reader.text().flatMap(ClientID.init),
            let clientType = reader.text().flatMap(ClientType.init(rawValue:)), let redirectURI = reader.text(),
            let callbackURL = reader.text(), let correlationID = reader.text().flatMap(CorrelationID.init)
        else { return nil }
        let browserHash = reader.text()
        var start = RedirectStart(
            provider: ProviderReference(text: provider), clientType: clientType, redirectURI: redirectURI,
            callbackURL: callbackURL)
        start.demand.scopes = reader.words()
        start.demand.acrValues = reader.words()
        start.demand.context = reader.text()
        // An unknown value, which an earlier version did not refuse, is left out.
        start.demand.prompt = reader.words().compactMap(Prompt.init)
        start.demand.loginHint = reader.text()
        start.codeChallenge = reader.text()
        start.trackingID = reader.text()
        if let session = reader.text() { start.purpose = .errand(session: session) }
        start.sessionIDIsSession = reader.text() != nil
        var dpopKey: DPoPKey?
        if !reader.isAtEnd {
            if let secret = reader.text() {
                guard let key = DPoPKey(secret: Secret(secret)) else { return nil }
                dpopKey = key
            } else if reader.isAtEnd {
                return nil
            }
        }
        if !reader.isAtEnd {
            if let text = reader.text() {
                guard start.demand.read(recency: text) else { return nil }
            } else if reader.isAtEnd {
                return nil
            }
        }
        if !reader.isAtEnd {
            guard let task = reader.text() else { return nil }
            start.purpose = .task(id: Secret(task))
        }
        guard reader.isWhole else { return nil }
        self.init(start: start, clientID: clientID, correlationID: correlationID, browserHash: browserHash)
        self.leg = leg
        self.dpopKey = dpopKey
    }
}

/// Writes texts one after the other: a length, whose lowest bits tell what follows, and the bytes.
private struct CompactWriter {
    private(set) var bytes: [UInt8]

    init(version: UInt8) {
        bytes = [version]
        bytes.reserveCapacity(384)
    }

    mutating func add(_ text: String?) {
        guard let text else { return bytes.append(0) }
        if text.utf8.count >= 16, let decoded = Base64URL.decode(text), Base64URL.encode(decoded) == text {
            add(decoded, kind: 2)
        } else {
            add(Array(text.utf8), kind: 1)
        }
    }

    mutating func add(words: [String]) { add(words.isEmpty ? nil : words.joined(separator: " ")) }

    /// The length in groups of seven bits, the lowest first.
    private mutating func add(_ content: [UInt8], kind: Int) {
        var rest = content.count << 2 | kind
        while rest >= 128 {
            bytes.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
        bytes += content
    }
}

private struct CompactReader {
    private var rest: ArraySlice<UInt8>
    private var isBroken = false

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    /// Whether all was read, and nothing was missing.
    var isWhole: Bool { !isBroken && isAtEnd }

    /// The next text; nil if it was nil.
    mutating func text() -> String? {
        guard let head = head(), head >> 2 <= rest.count else {
            isBroken = true
            return nil
        }
        let (count, kind) = (head >> 2, head & 3)
        guard kind != 0 else { return nil }
        let content = rest.prefix(count)
        rest = rest.dropFirst(count)
        return kind == 2 ? Base64URL.encode(content) : String(decoding: content, as: UTF8.self)
    }

    /// The words of the next text, which spaces separate.
    mutating func words() -> [String] { text().map { $0.split(ascii: " ").map(String.init) } ?? [] }

    private mutating func head() -> Int? {
        var head = 0
        for shift in [0, 7, 14, 21] {
            guard let byte = rest.popFirst() else { return nil }
            head |= Int(byte & 127) << shift
            if byte < 128 { return head }
        }
        return nil
    }
}
