import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport

extension ConformanceCase {
    /// A change that defines a case.
    struct Change: Sendable {
        typealias Endpoint = CarrierProxy.Endpoint

        let apply: @Sendable (inout ConformanceCase) -> Void

        static func fault(_ faults: CarrierSimulator.Fault...) -> Change {
            Change { $0.faults.formUnion(faults) }
        }

        /// A carrier of another, correct kind.
        static func carrier(_ edit: @escaping @Sendable (inout Carrier) -> Void) -> Change {
            Change { $0.nature.append(edit) }
        }

        /// Signs with ES256.
        static let es256 = carrier { $0.signingAlgorithm = .es256 }

        static func draft(_ edit: @escaping @Sendable (inout TokenDraft) -> Void) -> Change {
            Change { $0.tampering.idTokens.append(edit) }
        }

        static func claim(_ name: String, _ value: JSONValue?) -> Change { draft { $0.claims[name] = value } }
        static func claim(_ name: String, plus suffix: String) -> Change {
            draft { $0.claims[name] = $0.claims[name]?.appending(suffix) }
        }
        /// A NumericDate that is some seconds from now.
        static func claim(_ name: String, inSeconds seconds: Int64) -> Change {
            draft { $0.claims[name] = $0.time(plus: seconds) }
        }
        static func header(_ name: String, _ value: JSONValue?) -> Change { draft { $0.header[name] = value } }
        /// An access token of RFC 9068 for our client.
        static let accessToken = draft { draft in
            draft.header["typ"] = "at+jwt"
            draft.claims["nonce"] = nil
            draft.claims["client_id"] = draft.claims["aud"]
            draft.claims["scope"] = "openid email"
            draft.claims["jti"] = "token-1"
        }
        static func compact(_ edit: @escaping @Sendable (inout String) -> Void) -> Change {
            Change { $0.tampering.compactForms.append(edit) }
        }

        static func object(_ endpoint: Endpoint, _ edit: @escaping @Sendable (inout JSONMembers) -> Void) -> Change {
            Change { $0.tampering.objects[endpoint, default: []].append(edit) }
        }
        static func metadata(_ name: String, _ value: JSONValue?) -> Change { object(.discovery) { $0[name] = value } }
        static func metadata(_ name: String, plus suffix: String) -> Change {
            object(.discovery) { $0[name] = $0[name]?.appending(suffix) }
        }
        static func tokens(_ name: String, _ value: JSONValue?) -> Change { object(.token) { $0[name] = value } }
        static func claims(_ name: String, _ value: JSONValue?) -> Change { object(.userInfo) { $0[name] = value } }
        /// The keys of the key set, in order.
        static func keys(_ edit: @escaping @Sendable (inout [JSONMembers]) -> Void) -> Change {
            object(.keys) { set in
                var keys = set.keys
                edit(&keys)
                set["keys"] = .array(keys.map(\.value))
            }
        }

        static func answer(_ endpoint: Endpoint, _ edit: @escaping @Sendable (inout Response) -> Void) -> Change {
            Change { $0.tampering.responses[endpoint, default: []].append(edit) }
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
        /// A redirect that must not be followed: to another path of the same server, or to `location`.
        static func redirect(_ endpoint: Endpoint, _ status: Int, to location: String? = nil) -> Change {
            answer(endpoint) { response in
                response = Response(status: .init(code: status))
                response.headers[.location] = location ?? "canary/redirect"
            }
        }
        static func raw(_ endpoint: Endpoint, _ script: @escaping CarrierProxy.Script) -> Change {
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
        /// The metadata is cached for days.
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
        static func callback(_ edit: @escaping @Sendable (inout [AuthorizationCallback.Item]) -> Void) -> Change {
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
        /// The configuration pins the carrier's network to its issuer.
        static let pinned = Change { $0.isPinned = true }
        /// Steps that replace the sign-in and may end sessions.
        static func logout(_ steps: @escaping Steps) -> Change {
            Change { row in
                row.isLogout = true
                row.steps = steps
            }
        }
        static func steps(_ steps: @escaping Steps) -> Change { Change { $0.steps = steps } }
    }
}

extension JSONValue {
    /// A string with a suffix; another value unchanged.
    func appending(_ suffix: String) -> JSONValue { string.map { .string($0 + suffix) } ?? self }
}

extension JSONMembers {
    /// The keys of a key set.
    var keys: [JSONMembers] { (self["keys"]?.array ?? []).compactMap { $0.object.map(JSONMembers.init) } }

    func with(_ name: String, _ value: JSONValue?) -> JSONMembers {
        var members = self
        members[name] = value
        return members
    }
}
