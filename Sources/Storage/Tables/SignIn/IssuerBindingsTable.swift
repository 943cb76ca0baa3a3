package import Primitives
package import StorageModel

/// The tables `issuer_bindings` and `network_issuers`: one row for each carrier's issuer, and for each mobile network.
enum IssuerBindingsTable {
    // A network's row has no foreign key: the issuer of a pinned network may have another network's binding.
    static let schema = """
        CREATE TABLE issuer_bindings (
            issuer TEXT PRIMARY KEY NOT NULL,
            jwks_uri TEXT NOT NULL,
            token_host TEXT NOT NULL,
            hosts TEXT NOT NULL,
            trust TEXT NOT NULL,
            bound_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE network_issuers (
            network TEXT PRIMARY KEY NOT NULL,
            issuer TEXT NOT NULL,
            bound_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    fileprivate static func known(of network: String, _ issuer: String, in db: SQLSession) throws -> KnownIssuerRecord {
        let networkIssuer = try db.first("SELECT issuer FROM network_issuers WHERE network = ?", network) {
            try $0.text(0)
        }
        let binding = try db.first(
            "SELECT jwks_uri, token_host, hosts, trust FROM issuer_bindings WHERE issuer = ?", issuer
        ) { row in
            IssuerBindingRecord(
                issuer: issuer, jwksURI: try row.text(0), tokenHost: try row.text(1), hosts: try row.text(2),
                trust: IssuerBindingRecord.Trust(rawValue: try row.text(3)) ?? .firstUse)
        }
        return KnownIssuerRecord(networkIssuer: networkIssuer, binding: binding)
    }

    /// - Parameter former: The issuer's binding before.
    fileprivate static func put(
        _ binding: IssuerBindingRecord, replacing former: IssuerBindingRecord?, limit: Int, at now: Timestamp,
        in db: SQLSession
    ) throws {
        if former == nil {
            guard try db.number("SELECT count(*) FROM issuer_bindings") < Int64(limit) else { return }
        } else {
            try db.perform("DELETE FROM issuer_bindings WHERE issuer = ?", binding.issuer)
        }
        try db.perform(
            """
            INSERT INTO issuer_bindings (issuer, jwks_uri, token_host, hosts, trust, bound_at) \
            VALUES (?, ?, ?, ?, ?, ?)
            """, binding.issuer, binding.jwksURI, binding.tokenHost, binding.hosts, binding.trust.rawValue, now)
    }

    /// - Parameter former: The network's issuer before.
    fileprivate static func put(
        _ network: String, _ issuer: String, replacing former: String?, limit: Int, at now: Timestamp, in db: SQLSession
    ) throws {
        if former == nil {
            guard try db.number("SELECT count(*) FROM network_issuers") < Int64(limit) else { return }
        } else {
            try db.perform("DELETE FROM network_issuers WHERE network = ?", network)
        }
        try db.perform("INSERT INTO network_issuers (network, issuer, bound_at) VALUES (?, ?, ?)", network, issuer, now)
    }
}

extension SQLStore {
    package func knownIssuer(of network: String, _ issuer: String) async throws(StorageError) -> KnownIssuerRecord {
        try await reads.submit { db in try IssuerBindingsTable.known(of: network, issuer, in: db) }
    }

    package func bindIssuer(
        _ binding: IssuerBindingRecord, to network: String, limit: Int, at now: Timestamp
    ) async throws(StorageError) -> KnownIssuerRecord {
        try await writes.submit { db in
            let known = try IssuerBindingsTable.known(of: network, binding.issuer, in: db)
            if binding.replaces(known.binding) {
                if binding.refutes(known.binding) {
                    try db.perform(
                        "DELETE FROM network_issuers WHERE issuer = ? AND network <> ?", binding.issuer, network)
                }
                try IssuerBindingsTable.put(binding, replacing: known.binding, limit: limit, at: now, in: db)
            }
            if known.networkIssuer == nil || binding.trust == .pinned && known.networkIssuer != binding.issuer {
                try IssuerBindingsTable.put(
                    network, binding.issuer, replacing: known.networkIssuer, limit: limit, at: now, in: db)
            }
            return try IssuerBindingsTable.known(of: network, binding.issuer, in: db)
        }
    }

    package func removeFirstUse(of issuer: String) async throws(StorageError) {
        try await writes.submit { db in
            let trust = IssuerBindingRecord.Trust.firstUse.rawValue
            guard try db.run("DELETE FROM issuer_bindings WHERE issuer = ? AND trust = ?", issuer, trust) > 0 else {
                return
            }
            try db.perform("DELETE FROM network_issuers WHERE issuer = ?", issuer)
        }
    }
}

extension IssuerBindingRecord {
    /// Whether the binding takes the place of the issuer's former one.
    fileprivate func replaces(_ former: IssuerBindingRecord?) -> Bool {
        guard let former else { return true }
        guard former != self else { return false }
        return switch trust {
        case .firstUse: false
        case .confirmed: former.trust != .pinned
        case .pinned: true
        }
    }

    /// Whether the former binding was wrong.
    fileprivate func refutes(_ former: IssuerBindingRecord?) -> Bool {
        guard let former, trust == .confirmed, former.trust == .firstUse else { return false }
        return (former.jwksURI, former.tokenHost, former.hosts) != (jwksURI, tokenHost, hosts)
    }
}
