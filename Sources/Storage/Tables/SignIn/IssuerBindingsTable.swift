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

    /// The rows of both tables are changed together, and counted.
    fileprivate static let locks = [WriteLock.rule("issuer bindings")]

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

    /// Makes room for a row as an effect says. False if no row is to be inserted.
    fileprivate static func makeRoom(
        in table: StaticString, for effect: KnownIssuer.Effect, _ column: StaticString, _ key: String, limit: Int,
        in db: SQLSession
    ) throws -> Bool {
        switch effect {
        case .stays: return false
        case .isAdded: return try db.number("SELECT count(*) FROM \(table)") < Int64(limit)
        case .isReplaced:
            try db.perform("DELETE FROM \(table) WHERE \(column) = ?", key)
            return true
        }
    }
}

extension SQLStore {
    package func knownIssuer(of network: String, _ issuer: String) async throws(StorageError) -> KnownIssuer {
        try await reads.submit { db in try IssuerBindingsTable.known(of: network, issuer, in: db) }
    }

    package func bindIssuer(
        _ binding: IssuerBinding, to network: String, limit: Int, at now: Timestamp
    ) async throws(StorageError) -> KnownIssuer {
        try await writes.submit(locking: IssuerBindingsTable.locks) { db in
            let change = try IssuerBindingsTable.known(of: network, binding.issuer, in: db).change(by: binding)
            if change.forgetsOtherNetworks {
                try db.perform(
                    "DELETE FROM network_issuers WHERE issuer = ? AND network <> ?", binding.issuer, network)
            }
            if try IssuerBindingsTable.makeRoom(
                in: "issuer_bindings", for: change.binding, "issuer", binding.issuer, limit: limit, in: db)
            {
                try db.perform(
                    """
                    INSERT INTO issuer_bindings (issuer, jwks_uri, token_host, hosts, trust, bound_at) \
                    VALUES (?, ?, ?, ?, ?, ?)
                    """, binding.issuer, binding.jwksURI, binding.tokenHost,
                    binding.hosts.sorted().joined(separator: " "), binding.trust.rawValue, now)
            }
            if try IssuerBindingsTable.makeRoom(
                in: "network_issuers", for: change.networkIssuer, "network", network, limit: limit, in: db)
            {
                try db.perform(
                    "INSERT INTO network_issuers (network, issuer, bound_at) VALUES (?, ?, ?)", network, binding.issuer,
                    now)
            }
            return try IssuerBindingsTable.known(of: network, binding.issuer, in: db)
        }
    }

    package func removeFirstUse(of issuer: String) async throws(StorageError) {
        try await writes.submit(locking: IssuerBindingsTable.locks) { db in
            let trust = IssuerBinding.Trust.firstUse.rawValue
            guard try db.run("DELETE FROM issuer_bindings WHERE issuer = ? AND trust = ?", issuer, trust) > 0 else {
                return
            }
            try db.perform("DELETE FROM network_issuers WHERE issuer = ?", issuer)
        }
    }
}
