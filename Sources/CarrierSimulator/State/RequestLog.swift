extension CarrierSimulator {
    /// What came in: the latest requests with their parameters, and counts of all of them.
    ///
    /// Tests read it to see what a relying party sent, and what it did not. It holds codes, verifiers and credentials;
    /// printing an entry shows the names of its parameters only.
    public struct RequestLog: Sendable {
        public enum Endpoint: String, Sendable, CaseIterable {
            case discovery, discoveryUI, configuration, authorization, serverInitiated, token, keys, userInfo, resource
            case endSession, optimizedDiscovery
            /// An address that only a relying party which trusts what it must not comes to: where a token endpoint
            /// redirects to, where a token's `jku` points.
            case canary
        }

        public struct Parameter: Sendable, Hashable {
            public let name: String
            public let value: String
        }

        public struct Entry: Sendable, CustomStringConvertible {
            public let endpoint: Endpoint
            /// Nil where the request names no carrier of this simulator.
            public let mccmnc: String?
            public let method: String
            /// Of the query, then of the form, decoded, in the order they came. Long values are cut.
            public let parameters: [Parameter]
            /// The `Authorization` field.
            public let authorization: String?
            /// The fields by which traces are passed on, each as `name: value`.
            public let traceFields: [String]

            /// The value of the first parameter of a name.
            public subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

            public var description: String {
                let names = parameters.map(\.name).joined(separator: " ")
                return "\(method) \(endpoint.rawValue) \(mccmnc ?? "-") [\(names)]"
            }
        }

        struct Key: Hashable {
            let endpoint: Endpoint
            let mccmnc: String?
        }

        static let keptEntries = 512
        static let maximumValueCharacters = 2048

        /// The latest requests, oldest first: at least the last 512, at most 1024.
        public private(set) var entries: [Entry] = []
        private var counts: [Key: Int] = [:]

        /// Requests of an endpoint since the start: of one carrier, or of all.
        public func count(_ endpoint: Endpoint, _ mccmnc: String? = nil) -> Int {
            if let mccmnc { return counts[Key(endpoint: endpoint, mccmnc: mccmnc)] ?? 0 }
            return counts.reduce(0) { $0 + ($1.key.endpoint == endpoint ? $1.value : 0) }
        }

        public func tokenPosts(_ mccmnc: String? = nil) -> Int { count(.token, mccmnc) }
        public func keyFetches(_ mccmnc: String? = nil) -> Int { count(.keys, mccmnc) }
        public func discoveries(_ mccmnc: String? = nil) -> Int { count(.discovery, mccmnc) }
        public func userinfoCalls(_ mccmnc: String? = nil) -> Int { count(.userInfo, mccmnc) }
        public func canaryHits() -> Int { count(.canary) }

        /// The latest request of an endpoint.
        public func last(_ endpoint: Endpoint, _ mccmnc: String? = nil) -> Entry? {
            entries.last { $0.endpoint == endpoint && (mccmnc == nil || $0.mccmnc == mccmnc) }
        }

        mutating func add(_ entry: Entry) {
            counts[Key(endpoint: entry.endpoint, mccmnc: entry.mccmnc), default: 0] += 1
            // Room is made for many at once, so that a busy log does not move its entries at each request.
            if entries.count == 2 * Self.keptEntries { entries.removeFirst(Self.keptEntries) }
            entries.append(entry)
        }
    }
}
