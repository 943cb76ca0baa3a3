package import LatchkeyService
import Primitives

extension AdminService {
    /// The most capsules of one command.
    package static let maximumCapsules = 1000

    /// The latest capsules, oldest first, one line each.
    /// - Throws: ``AdministratorError`` for a limit out of range; `StorageError`.
    package func capsules(limit: Int) async throws -> CommandReport {
        guard (1...Self.maximumCapsules).contains(limit) else {
            throw AdministratorError(.usage, "the limit must be a number from 1 to \(Self.maximumCapsules)")
        }
        var report = CommandReport(text: [], json: [])
        for capsule in try await store.capsules(of: nil, limit: limit).reversed() {
            do throws(AdministratorError) {
                let (summary, json) = (try capsule.summary(), try capsule.oneLine())
                report.text.append(summary)
                report.json.append(json)
            } catch {
                // The others are still of use.
                report.text.append(error.description)
                let unreadable: [(String, JSONValue?)] = [
                    ("correlation_id", .string(capsule.correlationID)), ("unreadable", true),
                ]
                report.json.append(JSONValue.object(of: unreadable).terminalText)
            }
        }
        return report
    }

    /// The newest capsule of a sign-in.
    /// - Throws: ``AdministratorError`` if there is none; `StorageError`.
    package func capsule(of correlationID: String) async throws -> CommandReport {
        guard let capsule = try await store.capsules(of: correlationID, limit: 1).first else {
            throw AdministratorError(
                "there is no capsule of \(correlationID.onOneLine()). A sign-in that succeeded, that must register "
                    + "first, or that was refused before a provider was asked leaves none; more than "
                    + "capsules.per_minute are not kept, and old ones are removed. latchkey capsule list shows the "
                    + "latest.")
        }
        return CommandReport(
            text: [try capsule.summary()] + CapsuleReport(of: try capsule.content(), at: capsule.time).lines,
            json: [try capsule.oneLine()])
    }
}

extension CapsuleRecord {
    fileprivate func content() throws(AdministratorError) -> JSONObject {
        guard let content = (try? JSONValue(parsing: Array(json.utf8)))?.object else {
            throw AdministratorError("the capsule of \(correlationID.onOneLine()) cannot be read")
        }
        return content
    }

    /// The capsule as one JSON object on one line. Written again, because the database may have anything.
    fileprivate func oneLine() throws(AdministratorError) -> String { JSONValue.object(try content()).terminalText }

    /// Time, correlation id, provider, flow, and what failed.
    fileprivate func summary() throws(AdministratorError) -> String {
        let content = try content()
        var words = [UTCTime.text(time), correlationID]
        let request = content["request"]?.object
        if let provider = request?["provider"]?.string { words.append(provider) }
        if let flow = request?["flow"]?.string { words.append("flow=\(flow)") }
        let failure = content["failure"]?.object
        words += ["code", "check", "provider_code", "step"].compactMap { name in
            failure?[name]?.string.map { "\(name)=\($0)" }
        }
        return words.joined(separator: " ").onOneLine()
    }
}
