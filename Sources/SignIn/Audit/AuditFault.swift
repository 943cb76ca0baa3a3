package import StorageModel

/// What is wrong with the audit log: the first entry that is not as it was sealed.
package enum AuditFault: Error, Sendable, Hashable {
    case eventChanged(serial: Int64, seal: Int64)
    /// The details differ from their stored digest, which is as it was sealed.
    case detailsChanged(serial: Int64, seal: Int64)
    /// The details differed from their stored digest when the event was sealed: no server wrote it so.
    case detailsMismatched(serial: Int64, seal: Int64)
    /// The log does not say that the user of the event was erased.
    case detailsErased(serial: Int64, seal: Int64)
    case eventMissing(serial: Int64, seal: Int64)
    /// Among sealed events, and not sealed.
    case eventInserted(serial: Int64, seal: Int64)
    /// The statement, its signature, or the list of its events.
    case sealChanged(Int64)
    /// It follows another seal than the one before it.
    case sealReplaced(Int64)
    case sealMissing(Int64)
    /// The log ends before the seal that the operator kept. 0 is the log without a seal.
    case endMissing(after: Int64, expected: Int64)
    /// Signed with a key that neither the server has nor the next seal names.
    case unknownKey(seal: Int64, thumbprint: String)
    /// The seals before this one were removed too early.
    case removedEarly(before: Int64)
    /// Another digest than the one that the operator kept.
    case unexpected(seal: Int64, digest: AuditDigest)

    /// The name for programs.
    package var kind: String {
        switch self {
        case .eventChanged: "event_changed"
        case .detailsChanged: "details_changed"
        case .detailsMismatched: "details_mismatched"
        case .detailsErased: "details_erased"
        case .eventMissing: "event_missing"
        case .eventInserted: "event_inserted"
        case .sealChanged: "seal_changed"
        case .sealReplaced: "seal_replaced"
        case .sealMissing, .endMissing: "seal_missing"
        case .unknownKey: "unknown_key"
        case .removedEarly: "removed_early"
        case .unexpected: "unexpected_seal"
        }
    }

    /// The number of the event, if one is wrong.
    package var serial: Int64? {
        switch self {
        case .eventChanged(let serial, _), .detailsChanged(let serial, _), .detailsMismatched(let serial, _),
            .detailsErased(let serial, _), .eventMissing(let serial, _), .eventInserted(let serial, _):
            serial
        default: nil
        }
    }

    /// The number of the seal.
    package var seal: Int64 {
        switch self {
        case .eventChanged(_, let seal), .detailsChanged(_, let seal), .detailsMismatched(_, let seal),
            .detailsErased(_, let seal), .eventMissing(_, let seal), .eventInserted(_, let seal),
            .sealChanged(let seal), .sealReplaced(let seal), .sealMissing(let seal), .unknownKey(let seal, _),
            .removedEarly(let seal), .unexpected(let seal, _):
            seal
        case .endMissing(let last, _): last + 1
        }
    }
}

extension AuditFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .eventChanged(let serial, let seal): "event #\(serial) was changed after seal \(seal) was made"
        case .detailsChanged(let serial, let seal):
            "the details of event #\(serial) were changed after seal \(seal) was made"
        case .detailsMismatched(let serial, let seal):
            """
            the details of event #\(serial) did not match their digest before seal \(seal) was made: no server wrote \
            them
            """
        case .detailsErased(let serial, let seal):
            "the details of event #\(serial), of seal \(seal), were erased, and no event says that its user was"
        case .eventMissing(let serial, let seal): "event #\(serial) is missing, and seal \(seal) has it"
        case .eventInserted(let serial, let seal): "event #\(serial) was inserted: seal \(seal) does not have it"
        case .sealChanged(let seal): "seal \(seal) was changed: its signature or the list of its events is not valid"
        case .sealReplaced(let seal): "seal \(seal) does not follow the seal before it: one of them was replaced"
        case .sealMissing(let seal): "seal \(seal) is missing"
        case .endMissing(let last, let expected):
            """
            seal \(last + 1) is missing: the log \(last == 0 ? "has no seal" : "ends at seal \(last)"), and --expect \
            names seal \(expected)
            """
        case .unknownKey(let seal, let thumbprint):
            """
            seal \(seal) is signed with the key \(thumbprint), which is not one of the server's keys. Compare it \
            with a key that you noted earlier, before you add --key
            """
        case .removedEarly(let seal): "the seals before \(seal) were removed before their events expired"
        case .unexpected(let seal, let digest): "seal \(seal) has another digest than the expected one: \(digest)"
        }
    }
}
