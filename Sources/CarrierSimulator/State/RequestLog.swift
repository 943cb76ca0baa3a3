extension CarrierSimulator {
    /// The latest requests with their parameters, and counts of all requests.
    ///
    /// It holds codes, verifiers and credentials; printing an entry shows only the names of its parameters.
    public struct RequestLog: Sendable {
        /// An endpoint of the simulator.
        public enum Endpoint: String, Sendable, CaseIterable {
            case discovery, discoveryUI, configuration, authorization, backchannelAuthentication, token, keys, userInfo
            case resource, endSession, optimizedDiscovery, pushedAuthorization, revocation
            case numberVerify, devicePhoneNumber, simSwapCheck, simSwapDate, telcoFinder
            /// An address that no relying party may request: the target of a redirect, or of a token's `jku`.
            case canary
        }

        /// A decoded parameter of a query, a form or a JSON object.
        public struct Parameter: Sendable, Hashable {
            public let name: String
            public let value: String
        }

        /// A request.
        public struct Entry: Sendable, CustomStringConvertible {
            public let endpoint: Endpoint
            /// The carrier; nil if the request names no carrier of this simulator.
            public let mccmnc: String?
            /// The HTTP method.
            public let method: String
            /// The parameters of the query, then those of the form, in order. Long values are truncated.
            public let parameters: [Parameter]
            /// The field `Authorization`; nil without one.
            public let authorization: String?
            /// The `DPoP` field.
            public let proof: String?
            /// The `x-correlator` field.
            public let correlator: String?
            /// The field `Host`; nil without one.
            public let host: String?
            /// The subject of the client's certificate; nil without one.
            public let certificate: String?
            /// The trace context fields, each as `name: value`.
            public let traceFields: [String]

            /// The value of the first parameter of a name.
            public subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

            /// The method, the endpoint, the carrier, and the names of the parameters.
            public var description: String {
                let names = parameters.map(\.name).joined(separator: " ")
                return "\(method) \(endpoint.rawValue) \(mccmnc ?? "-") [\(names)]"
            }
        }

        /// A request that a carrier refused.
        public struct Refused: Sendable, CustomStringConvertible {
            public let endpoint: Endpoint
            public let mccmnc: String
            public let code: String
            /// Why the request was refused.
            public let reason: String

            public var description: String { "\(endpoint.rawValue): \(code). \(reason)" }
        }

        static let keptEntries = 512
        static let maximumValueCharacters = 2048

        /// The latest requests, oldest first: at least the last 512, at most 1024.
        public private(set) var entries: [Entry] = []
        private var counts: [Endpoint: [String?: Int]] = [:]
        private var refused: [Refused] = []

        /// The latest requests that a carrier refused, oldest first: at least the last 512 of all carriers. One without
        /// the nonce that a DPoP proof must have is not among them, because only the refusal gives the nonce.
        public func refusals(at mccmnc: String) -> [Refused] { refused.filter { $0.mccmnc == mccmnc } }

        /// The number of requests at an endpoint since the start: of one carrier, or of all.
        public func count(_ endpoint: Endpoint, _ mccmnc: String? = nil) -> Int {
            let counts = counts[endpoint, default: [:]]
            return mccmnc.map { counts[$0] ?? 0 } ?? counts.values.reduce(0, +)
        }

        /// How many requests came to the token endpoint of a carrier, or of all.
        public func tokenPosts(_ mccmnc: String? = nil) -> Int { count(.token, mccmnc) }
        /// How often the keys of a carrier, or of all, were fetched.
        public func keyFetches(_ mccmnc: String? = nil) -> Int { count(.keys, mccmnc) }

        /// The latest request of an endpoint.
        public func last(_ endpoint: Endpoint, _ mccmnc: String? = nil) -> Entry? {
            entries.last { $0.endpoint == endpoint && (mccmnc == nil || $0.mccmnc == mccmnc) }
        }

        mutating func add(_ refusal: OAuthError, of endpoint: Endpoint, at mccmnc: String) {
            guard refusal.code != "use_dpop_nonce" else { return }
            if refused.count == 2 * Self.keptEntries { refused.removeFirst(Self.keptEntries) }
            refused.append(Refused(endpoint: endpoint, mccmnc: mccmnc, code: refusal.code, reason: refusal.reason))
        }

        mutating func add(_ entry: Entry) {
            counts[entry.endpoint, default: [:]][entry.mccmnc, default: 0] += 1
            // Removes many entries at once, so that a full log does not move its entries at each request.
            if entries.count == 2 * Self.keptEntries { entries.removeFirst(Self.keptEntries) }
            entries.append(entry)
        }
    }
}
