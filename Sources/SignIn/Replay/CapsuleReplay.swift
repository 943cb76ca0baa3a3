import OpenIDConnect
package import Primitives
import StorageModel

/// Runs the failed operation of a capsule again, offline, with the code and configuration of today.
///
/// The steps are those of the server for the flow of the capsule. What the provider sent is made anew from the capsule
/// with made-up values in the place of pseudonyms, and signed with a made-up key. What cannot be computed anew is
/// carried over from the capsule, and the verdict names it.
package struct CapsuleReplay: Sendable {
    /// The longest file that is read, in bytes. A capsule has at most 32 KiB, and may have been indented.
    package static let maximumBytes = 256 * 1024
    /// The most responses or keys that are read.
    static let maximumElements = 64

    /// Why a capsule is not replayed.
    package struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        package enum Code: Sendable {
            /// The file is no capsule.
            case unreadable
            /// The capsule is of another format.
            case format
            /// What decided the failure is not in the capsule.
            case notReplayable
            /// The configuration has no such provider.
            case configuration
        }

        package let code: Code
        package let description: String

        init(_ code: Code, _ description: String) {
            self.code = code
            self.description = description
        }
    }

    /// A failure, as far as two runs can be compared.
    package struct Failure: Sendable, Hashable {
        package let code: String
        package let check: String?
        package let errorType: String
        package let providerCode: String?
        package let step: String?
        /// What was wrong; nil if the capsule does not show it.
        package let cause: String?

        /// Whether two runs failed for the same reason.
        package func isSame(as other: Failure) -> Bool {
            code == other.code && check == other.check && errorType == other.errorType
                && providerCode == other.providerCode
        }
    }

    /// A check of the ID token that fails now.
    package struct FailedCheck: Sendable, Hashable {
        package let check: String
        package let expected: String
        package let found: String
    }

    /// What became of the sign-in.
    package struct Verdict: Sendable {
        /// How it failed.
        package let failure: Failure
        /// How it fails now; nil if it passes.
        package let failureNow: Failure?
        /// The checks of the ID token that fail now.
        package let failedChecks: [FailedCheck]
        /// The request whose response the capsule does not have, and at which the replay ended; nil if it has all. If
        /// it is the request that failed, the failure is taken from the capsule as it is.
        package let missing: String?
        /// Whether the failure was taken from the capsule as it is, after every step before it had passed.
        package let isTakenOver: Bool
        /// What the replay did not compute.
        package let carriedOver: [String]
        /// The settings that ID tokens are judged by and that differ: name, then and now.
        package let changedSettings: [(name: String, before: String, now: String)]
    }

    /// The provider's name in ``SignInConfiguration/providers``.
    package let provider: String
    package let clientID: String
    package let correlationID: String
    /// When the sign-in failed.
    package let time: Timestamp
    /// The version of Latchkey that made the capsule.
    package let version: String
    let content: JSONObject
    let failure: Failure
    let kind: ReplayKind

    /// Reads a capsule, which may come from anyone.
    /// - Throws: ``Refusal``.
    package init(parsing bytes: [UInt8]) throws(Refusal) {
        guard bytes.count <= Self.maximumBytes else {
            throw Refusal(.unreadable, "it has more than \(Self.maximumBytes / 1024) KiB, as no capsule has")
        }
        let parsed: JSONValue
        do throws(JSONSyntaxError) {
            parsed = try JSONValue(parsing: bytes)
        } catch {
            throw Refusal(
                .unreadable, "it is not JSON (\(error.code.rawValue) at byte \(error.offset)); export it again")
        }
        guard let content = parsed.object, let format = content["capsule"]?.integer else {
            throw Refusal(.unreadable, "it is no object with a member capsule; latchkey capsule export writes one")
        }
        guard format == Int64(Capsule.format) else {
            throw Refusal(
                .format,
                "it is of format \(format), and only format \(Capsule.format) can be replayed: let the sign-in fail "
                    + "again with this version")
        }
        guard let failure = content["failure"]?.object, let code = failure["code"]?.string,
            let errorType = failure["error_type"]?.string, let request = content["request"]?.object,
            let provider = request["provider"]?.string, let version = content["version"]?.string,
            let time = content["time"]?.string.flatMap(UTCTime.moment)
        else { throw Refusal(.unreadable, "a member is missing that every capsule has; export it again") }
        self.content = content
        self.provider = provider
        self.time = time
        self.version = version
        clientID = request["client_id"]?.string ?? ""
        correlationID = content["correlation_id"]?.string ?? ""
        let shown = Failure(
            code: code, check: failure["check"]?.string, errorType: errorType,
            providerCode: failure["provider_code"]?.string, step: failure["step"]?.string,
            cause: failure["cause"]?.string)
        self.failure = shown
        kind = try ReplayKind(request, shown)
    }
}

extension CapsuleReplay {
    /// Runs the sign-in again.
    ///
    /// With the settings that the capsule recorded, the same version must fail as it did. If it does not, the capsule
    /// lacks what decided, and no replay of it says anything. Another version may have other rules, so that nothing
    /// follows from a difference.
    ///
    /// - Parameters:
    ///   - settings: What the sign-in is judged by.
    ///   - usual: The settings of today without those that are tried.
    ///   - version: Of this program.
    /// - Throws: ``Refusal`` if the configuration has no such provider, or the capsule lacks what decided.
    package func run(
        _ settings: ReplaySettings, usual: ReplaySettings, version: String
    ) async throws(Refusal) -> Verdict {
        var failureIsComputed = false
        if version == self.version {
            let verdict = try await replay(recorded(in: usual), decrypts: true, failureIsComputed: false)
            failureIsComputed = !verdict.isTakenOver
            guard verdict.failureNow.map(failure.isSame) == true else {
                throw Refusal(
                    .notReplayable,
                    "with the settings and the version of then it does not fail as it did, so the capsule does not "
                        + "have what decided; if another setting has changed since, give the configuration of then "
                        + "with --config, and the change with --with")
            }
        }
        return try await replay(settings, decrypts: nil, failureIsComputed: failureIsComputed)
    }

    /// - Parameters:
    ///   - decrypts: Whether an encrypted ID token is decrypted; nil if the client's key decides.
    ///   - failureIsComputed: Whether the capsule has every response up to the failure.
    private func replay(
        _ settings: ReplaySettings, decrypts: Bool?, failureIsComputed: Bool
    ) async throws(Refusal) -> Verdict {
        let configuration = settings.signIn
        guard let provider = configuration.providers[provider], let relyingParty = settings.relyingParty else {
            throw Refusal(.configuration, "the configuration has no provider \(Self.shown(self.provider))")
        }
        guard provider.kind != .camara else {
            throw Refusal(.notReplayable, "sign-ins by number are not replayed")
        }
        let client = try client(of: provider)
        var isOfCarriers = false
        if case .byNetwork = relyingParty.discovery { isOfCarriers = true }
        var rebuilt = try RebuiltSignIn(
            self, client, isOfCarriers: isOfCarriers, decrypts: decrypts ?? (client.idTokenDecryption != nil))
        let flow = try kind.flow(of: self, &rebuilt)
        let moment = rebuilt.moment
        let http = RebuiltResponses(rebuilt.answers, isOfCarriers: isOfCarriers)
        let party = RelyingParty(
            configuration: relyingParty, http: http,
            bindings: MemoryIssuerBindings(rebuilt.knownIssuers(isOfCarriers)),
            clock: WallClock { moment })
        var adapted = configuration
        adapted.providers[self.provider]?.clients[client.id] = rebuilt.client
        let record = ProtocolRecord()
        let scene = ReplayScene(
            provider: self.provider, client: rebuilt.client, configuration: adapted, relyingParty: party,
            moment: moment)
        let outcome = await ProtocolRecord.$current.withValue(record) { await flow.run(scene) }
        let changes = changes(to: Capsule.settings(of: clientID.isEmpty ? nil : client, party))
        // What a request without an answer leads to says nothing.
        if let unanswered = http.unanswered {
            return try verdict(
                without: unanswered, flow.position, failureIsComputed: failureIsComputed, rebuilt.carriedOver, changes)
        }
        return try verdict(outcome, rebuilt, failedChecks(outcome, record, party), changes)
    }

    /// The client of the capsule, or any one for a flow that is of none.
    private func client(
        of provider: SignInConfiguration.Provider
    ) throws(Refusal) -> SignInConfiguration.Client {
        if clientID.isEmpty, !kind.needsClient, let any = provider.clients.values.min(by: { $0.id.text < $1.id.text }) {
            return any
        }
        guard let client = ClientID(clientID).flatMap({ provider.clients[$0] }) else {
            throw Refusal(
                .configuration,
                "the provider \(Self.shown(self.provider)) has no client \(Self.shown(clientID)) in the configuration")
        }
        return client
    }

    private func verdict(
        _ outcome: ReplayOutcome, _ rebuilt: RebuiltSignIn, _ failedChecks: [FailedCheck],
        _ changes: [(name: String, before: String, now: String)]
    ) throws(Refusal) -> Verdict {
        if outcome.check == IDTokenCheck.signature.rawValue, failure.check != outcome.check, !rebuilt.isSignatureKnown {
            throw Refusal(.notReplayable, "the capsule does not say whether the signature of the token is right")
        }
        let now = outcome.error.map { error in
            Failure(
                code: error.code.rawValue, check: outcome.check, errorType: error.errorType.rawValue,
                providerCode: (error.carrierError ?? error.carrierCode).map(Capsule.shownCode),
                step: outcome.step?.rawValue, cause: error.cause ?? error.description)
        }
        let undecided = now == nil ? outcome.undecided : nil
        return Verdict(
            failure: failure, failureNow: undecided == nil ? now : failure, failedChecks: failedChecks,
            missing: nil, isTakenOver: undecided != nil,
            carriedOver: rebuilt.carriedOver + (undecided.map { ["the failure itself: \($0)"] } ?? []),
            changedSettings: changes)
    }

    /// The verdict of a replay that came to a request whose response the capsule does not have.
    private func verdict(
        without unanswered: RebuiltResponses.Question, _ position: ReplayPosition?, failureIsComputed: Bool,
        _ carriedOver: [String], _ changes: [(name: String, before: String, now: String)]
    ) throws(Refusal) -> Verdict {
        let position = position ?? unanswered.position
        // A request that the failure had needed would have its response: this one comes after what failed.
        if unanswered.position > position || failureIsComputed && unanswered.position == position {
            let others = otherFailedChecks
            guard others.isEmpty else {
                throw Refusal(
                    .notReplayable,
                    "the failed check passes now, but the capsule has no response to \(unanswered.name), and then "
                        + "\(others.joined(separator: " and ")) failed, too")
            }
            return Verdict(
                failure: failure, failureNow: nil, failedChecks: [], missing: unanswered.name, isTakenOver: false,
                carriedOver: carriedOver, changedSettings: changes)
        }
        guard unanswered.position == position else {
            throw Refusal(.notReplayable, "the capsule has no response to \(unanswered.name)")
        }
        // It is the request that failed.
        return Verdict(
            failure: failure, failureNow: failure, failedChecks: [], missing: unanswered.name, isTakenOver: true,
            carriedOver: carriedOver + ["the failure itself: \(Self.unanswered)"], changedSettings: changes)
    }

    /// The checks that failed beside the one that decided, as the capsule has them.
    private var otherFailedChecks: [String] {
        let checks = content["checks"]?.object?["results"]?.array ?? []
        return checks.compactMap(\.object).filter { $0["verdict"]?.string == "failed" }
            .compactMap { $0["check"]?.string }.filter { $0 != failure.check }.map(Self.shown)
    }

    private static let unanswered =
        "another sign-in had begun the request that failed, or the server refused to send it"

    /// The checks of the token that fail; the one that decided first.
    private func failedChecks(
        _ outcome: ReplayOutcome, _ record: ProtocolRecord, _ party: RelyingParty
    ) -> [FailedCheck] {
        guard let error = outcome.error, outcome.failedChecks.isEmpty else { return outcome.failedChecks }
        var failed: [FailedCheck] = []
        if let validation = record.validation {
            failed = party.explain(validation).steps.filter { $0.verdict == .failed }.map {
                FailedCheck(check: $0.check.rawValue, expected: $0.check.demand, found: $0.found)
            }
        }
        guard let check = error.check, !failed.contains(where: { $0.check == check.rawValue }) else { return failed }
        let decided = FailedCheck(check: check.rawValue, expected: check.demand, found: "it is not met")
        return [decided] + failed
    }

    private func changes(to now: JSONValue) -> [(name: String, before: String, now: String)] {
        guard let before = content["settings"]?.object, let now = now.object else { return [] }
        return now.members.compactMap { member in
            guard let former = before[member.name], former != member.value else { return nil }
            return (member.name, Self.shown(former.text), member.value.text)
        }
    }

    /// A text of the file for a message.
    static func shown(_ text: String) -> String {
        let clean = text.unicodeScalars.prefix(80).map { (0x20...0x7E).contains($0.value) ? Character($0) : "?" }
        return String(clean)
    }
}
