package import Primitives
package import StorageModel

/// The tables `issuer_bindings` and `network_issuers`: one row for each carrier's issuer, and for each mobile network.
package enum IssuerBindingsTable {
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

    fileprivate static func known(of network: String, _ issuer: String, in db: SQLSession) throws -> KnownIssuer {
        let networkIssuer = try db.first("SELECT issuer FROM network_issuers WHERE network = ?", network) {
            try $0.text(0)
        }
        let binding = try db.first("\(select) WHERE issuer = ?", issuer) { try read($0) }
        return KnownIssuer(networkIssuer: networkIssuer, binding: binding)
    }

    /// All networks and issuers.
    package static func all(in db: SQLSession) throws -> KnownIssuers {
        let networks = try db.all("SELECT network, issuer FROM network_issuers") { (try $0.text(0), try $0.text(1)) }
        return KnownIssuers(
            networkIssuers: Dictionary(networks) { first, _ in first },
            bindings: try db.all(SQL(select)) { try read($0) })
    }

    private static let select = "SELECT issuer, jwks_uri, token_host, hosts, trust FROM issuer_bindings"

    /// A reason for trust that this version does not know is read as the weakest.
    private static func read(_ row: borrowing CachedStatement) throws -> IssuerBinding {
        IssuerBinding(
            issuer: try row.text(0), jwksURI: try row.text(1), tokenHost: try row.text(2),
            hosts: Set(try row.text(3).split(ascii: " ").map(String.init)),
            trust: IssuerBinding.Trust(rawValue: try row.text(4)) ?? .firstUse)
    }

    /// Does what an effect says to an issuer's binding.
    fileprivate static func put(
        _ binding: IssuerBinding, _ effect: KnownIssuer.Effect, limit: Int, at now: Timestamp, in db: SQLSession
    ) throws {
        switch effect {
        case .stays: return
        case .isAdded: guard try db.number("SELECT count(*) FROM issuer_bindings") < Int64(limit) else { return }
        case .isReplaced: try db.perform("DELETE FROM issuer_bindings WHERE issuer = ?", binding.issuer)
        }
        try db.perform(
            """
            INSERT INTO issuer_bindings (issuer, jwks_uri, token_host, hosts, trust, bound_at) \
            VALUES (?, ?, ?, ?, ?, ?)
            """, binding.issuer, binding.jwksURI, binding.tokenHost, binding.hosts.sorted().joined(separator: " "),
            binding.trust.rawValue, now)
    }

    /// Does what an effect says to a network's issuer.
    fileprivate static func put(
        _ network: String, _ issuer: String, _ effect: KnownIssuer.Effect, limit: Int, at now: Timestamp,
        in db: SQLSession
    ) throws {
        switch effect {
        case .stays: return
        case .isAdded: guard try db.number("SELECT count(*) FROM network_issuers") < Int64(limit) else { return }
        case .isReplaced: try db.perform("DELETE FROM network_issuers WHERE network = ?", network)
        }
        try db.perform("INSERT INTO network_issuers (network, issuer, bound_at) VALUES (?, ?, ?)", network, issuer, now)
    }
}

extension SQLStore {
    package func knownIssuer(of network: String, _ issuer: String) async throws(StorageError) -> KnownIssuer {
        try await reads.submit { db in try IssuerBindingsTable.known(of: network, issuer, in: db) }
    }

    package func bindIssuer(
        _ binding: IssuerBinding, to network: String, limit: Int, at now: Timestamp
    ) async throws(StorageError) -> KnownIssuer {
        try await writes.submit { db in
            let change = try IssuerBindingsTable.known(of: network, binding.issuer, in: db).change(by: binding)
            if change.forgetsOtherNetworks {
                try db.perform(
                    "DELETE FROM network_issuers WHERE issuer = ? AND network <> ?", binding.issuer, network)
            }
            try IssuerBindingsTable.put(binding, change.binding, limit: limit, at: now, in: db)
            try IssuerBindingsTable.put(
                network, binding.issuer, change.networkIssuer, limit: limit, at: now, in: db)
            return try IssuerBindingsTable.known(of: network, binding.issuer, in: db)
        }
    }

    package func removeFirstUse(of issuer: String) async throws(StorageError) {
        try await writes.submit { db in
            let trust = IssuerBinding.Trust.firstUse.rawValue
            guard try db.run("DELETE FROM issuer_bindings WHERE issuer = ? AND trust = ?", issuer, trust) > 0 else {
                return
            }
            try db.perform("DELETE FROM network_issuers WHERE issuer = ?", issuer)
        }
    }
}
