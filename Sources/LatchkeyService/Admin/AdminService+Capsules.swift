import Observability
import Primitives
import SignIn
import Storage
import StorageModel

extension AdminService {
    /// The most capsules of one command.
    package static let maximumCapsules = 1000

    /// The latest capsules, oldest first, one line each.
    /// - Throws: ``OperatorFailure`` for a limit out of range, or a failing database.
    package func capsules(limit: Int, as format: LineFormat) async throws(OperatorFailure) -> [String] {
        guard (1...Self.maximumCapsules).contains(limit) else {
            throw OperatorFailure(.usage, "the limit must be a number from 1 to \(Self.maximumCapsules)")
        }
        let capsules = try await stored(await store.capsules(of: nil, limit: limit))
        return capsules.reversed().map { capsule in
            do throws(OperatorFailure) {
                return format == .json ? try capsule.oneLine : try capsule.summary
            } catch {
                // The others are still of use.
                return format == .json ? capsule.unreadableLine : error.description
            }
        }
    }

    /// The newest capsule of a sign-in, for people.
    /// - Throws: ``OperatorFailure`` if there is none, or for a failing database.
    package func capsule(of correlationID: String) async throws(OperatorFailure) -> [String] {
        try await newestCapsule(of: correlationID).report
    }

    /// The newest capsule of a sign-in as one JSON object.
    /// - Throws: ``OperatorFailure`` if there is none, or for a failing database.
    package func exportCapsule(of correlationID: String) async throws(OperatorFailure) -> String {
        try await newestCapsule(of: correlationID).oneLine
    }

    private func newestCapsule(of correlationID: String) async throws(OperatorFailure) -> CapsuleRecord {
        guard let capsule = try await stored(await store.capsules(of: correlationID, limit: 1)).first else {
            throw OperatorFailure(
                "there is no capsule of \(ShownLine.text(correlationID)); latchkey capsule list shows the correlation "
                    + "ids, and capsules.count and capsules.retention say how many are kept")
        }
        return capsule
    }
}

extension CapsuleRecord {
    private var content: JSONObject {
        get throws(OperatorFailure) {
            guard let content = (try? JSONValue(parsing: Array(json.utf8)))?.object else {
                throw OperatorFailure("the capsule of \(ShownLine.text(correlationID)) cannot be read")
            }
            return content
        }
    }

    /// The capsule as one JSON object on one line. Written again, because the database may have anything.
    fileprivate var oneLine: String {
        get throws(OperatorFailure) { JSONValue.object(try content).terminalText }
    }

    /// What stands for a capsule that cannot be read, for programs.
    fileprivate var unreadableLine: String {
        JSONValue.object(of: [("correlation_id", .string(correlationID)), ("unreadable", true)]).terminalText
    }

    /// Time, correlation id, provider, flow, and what failed.
    fileprivate var summary: String {
        get throws(OperatorFailure) {
            let content = try content
            var words = [UTCTime.text(time), correlationID]
            let request = content["request"]?.object
            if let provider = request?["provider"]?.string { words.append(provider) }
            if let flow = request?["flow"]?.string { words.append("flow=\(flow)") }
            let failure = content["failure"]?.object
            words += ["code", "check", "provider_code", "step"].compactMap { name in
                failure?[name]?.string.map { "\(name)=\($0)" }
            }
            return ShownLine.text(words.joined(separator: " "))
        }
    }

    /// The members of the capsule, one line for each value, under the names of the objects around it.
    fileprivate var report: [String] {
        get throws(OperatorFailure) {
            let content = try content
            var lines = [try summary]
            for member in content.members where member.name != "checks" {
                Self.add(member.value, member.name, to: &lines)
            }
            guard let checks = content["checks"]?.object else { return lines }
            for check in checks["results"]?.array ?? [] {
                guard let check = check.object, let name = check["check"]?.string,
                    let verdict = check["verdict"]?.string
                else { continue }
                var line = "check \(name.padded(18)) \(verdict.padded(12))"
                for side in ["expected", "found"] { if let value = check[side] { line += " \(side) \(value.text)" } }
                lines.append(ShownLine.text(line))
            }
            return lines
        }
    }

    private static func add(_ value: JSONValue, _ name: String, to lines: inout [String]) {
        switch value {
        case .object(let object):
            for member in object.members { add(member.value, "\(name).\(member.name)", to: &lines) }
        case .array(let elements) where elements.contains(where: { $0.object != nil }):
            for (index, element) in elements.enumerated() { add(element, "\(name)[\(index)]", to: &lines) }
        case .string(let text): lines.append(ShownLine.text("\(name): \(text)"))
        default: lines.append(ShownLine.text("\(name): \(value.text)"))
        }
    }
}
