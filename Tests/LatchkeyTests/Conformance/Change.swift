import CarrierSimulator
import HTTPServer
import HTTPTypes
import TestSupport

extension ConformanceCase {
    /// One thing that makes a case what it is.
    struct Change: Sendable {
        typealias Endpoint = CarrierFront.Endpoint

        let apply: @Sendable (inout ConformanceCase) -> Void

        static func fault(_ faults: CarrierSimulator.Fault...) -> Change {
            Change { $0.faults.formUnion(faults) }
        }

        /// A carrier of another kind, which is not wrong.
        static func carrier(_ edit: @escaping @Sendable (inout Carrier) -> Void) -> Change {
            Change { $0.nature.append(edit) }
        }

        /// Signs with ES256.
        static let es256 = carrier { $0.signingAlgorithm = .es256 }

        static func draft(_ edit: @escaping @Sendable (inout IDTokenDraft) -> Void) -> Change {
            Change { $0.tampering.idTokens.append(edit) }
        }

        static func claim(_ name: String, _ value: JSON?) -> Change { draft { $0.claims[name] = value } }
        static func claim(_ name: String, plus suffix: String) -> Change {
            draft { $0.claims[name] = $0.claims[name]?.appending(suffix) }
        }
        /// A NumericDate so many seconds from now.
        static func claim(_ name: String, inSeconds seconds: Int64) -> Change {
            draft { $0.claims[name] = $0.moment(plus: seconds) }
        }
        static func header(_ name: String, _ value: JSON?) -> Change { draft { $0.header[name] = value } }
        static func compact(_ edit: @escaping @Sendable (inout String) -> Void) -> Change {
            Change { $0.tampering.compactForms.append(edit) }
        }

        static func object(_ endpoint: Endpoint, _ edit: @escaping @Sendable (inout JSONMembers) -> Void) -> Change {
            Change { $0.tampering.objects[endpoint, default: []].append(edit) }
        }
        static func metadata(_ name: String, _ value: JSON?) -> Change { object(.discovery) { $0[name] = value } }
        static func metadata(_ name: String, plus suffix: String) -> Change {
            object(.discovery) { $0[name] = $0[name]?.appending(suffix) }
        }
        static func tokens(_ name: String, _ value: JSON?) -> Change { object(.token) { $0[name] = value } }
        static func claims(_ name: String, _ value: JSON?) -> Change { object(.userInfo) { $0[name] = value } }
        /// The keys of the key set, one after another.
        static func keys(_ edit: @escaping @Sendable (inout [JSONMembers]) -> Void) -> Change {
            object(.keys) { set in
                var keys = set.keys
                edit(&keys)
                set["keys"] = .array(keys.map(JSON.object))
            }
        }

        static func answer(_ endpoint: Endpoint, _ edit: @escaping @Sendable (inout Response) -> Void) -> Change {
            Change { $0.tampering.answers[endpoint, default: []].append(edit) }
        }
        static func answer(_ endpoint: Endpoint, _ text: String) -> Change { answer(endpoint, 200, text) }
        static func answer(_ endpoint: Endpoint, _ status: Int, _ text: String) -> Change {
            answer(endpoint, status, "application/json", text)
        }
        static func answer(_ endpoint: Endpoint, _ status: Int, _ contentType: String, _ text: String) -> Change {
            answer(endpoint) {
                $0 = Response(status: .init(code: status), contentType: contentType, text: text)
            }
        }
        static func label(_ endpoint: Endpoint, _ contentType: String) -> Change {
            answer(endpoint) { $0.headers[.contentType] = contentType }
        }
        /// To an address that must not be followed: another path of the same server, or wherever `location` says.
        static func redirect(_ endpoint: Endpoint, _ status: Int, to location: String? = nil) -> Change {
            answer(endpoint) { response in
                response = Response(status: .init(code: status))
                response.headers[.location] = location ?? "canary/redirect"
            }
        }
        static func raw(_ endpoint: Endpoint, _ script: @escaping CarrierFront.Script) -> Change {
            Change { $0.scripts[endpoint] = script }
        }

        static func asks(acr: String? = nil, context: String? = nil) -> Change {
            Change { row in
                row.acr = acr
                row.context = context
            }
        }
        static func app(_ edit: @escaping @Sendable (inout Fields) -> Void) -> Change { Change { $0.appEdit = edit } }
        static func posts(_ count: Int) -> Change { Change { $0.tokenPosts = count } }
        static func fetches(_ counts: ClosedRange<Int>) -> Change { Change { $0.keyFetches = counts } }
        /// As long as its metadata says, which is days.
        static let elsewhere = Change { $0.recoversElsewhere = true }
        static func later(_ seconds: Int) -> Change {
            Change { row in
                row.recoversElsewhere = true
                row.recovery = seconds
            }
        }
        static func client(_ id: String) -> Change { Change { $0.clientID = id } }
        static let redirect = Change { $0.flow = .redirect }
        static let phone = Change { $0.flow = .phone }
        static let transaction = Change { $0.flow = .transaction }
        static func notified(_ statuses: Int...) -> Change { Change { $0.notified = statuses } }
        static func callback(_ edit: @escaping @Sendable (inout [Returned.Item]) -> Void) -> Change {
            Change { $0.callbackEdit = edit }
        }
        /// A parameter of the authorization response.
        static func callback(_ name: String, _ value: String?) -> Change {
            callback { items in
                items.removeAll { $0.name == name }
                if let value { items.append(.init(name: name, value: value)) }
            }
        }
        static func callback(_ name: String, plus suffix: String) -> Change {
            callback { items in
                for index in items.indices where items[index].name == name { items[index].value += suffix }
            }
        }
        /// The carrier's network is held to its issuer by the configuration.
        static let pinned = Change { $0.isPinned = true }
        /// What happens instead of a sign-in at the case's carrier, and ends sessions or not.
        static func logout(_ steps: @escaping Steps) -> Change {
            Change { row in
                row.isLogout = true
                row.steps = steps
            }
        }
        static func steps(_ steps: @escaping Steps) -> Change { Change { $0.steps = steps } }
    }
}

extension JSON {
    /// A text with more after it.
    func appending(_ suffix: String) -> JSON {
        guard case .text(let text) = self else { return self }
        return .text(text + suffix)
    }

    var text: String {
        guard case .text(let text) = self else { return "" }
        return text
    }
}

extension JSONMembers {
    /// The keys of a key set.
    var keys: [JSONMembers] {
        guard case .array(let keys)? = self["keys"] else { return [] }
        return keys.compactMap { if case .object(let key) = $0 { key } else { nil } }
    }

    func with(_ name: String, _ value: JSON?) -> JSONMembers {
        var members = self
        members[name] = value
        return members
    }
}
