package import StorageModel

/// The tables of this version, and the migrations that lead to them.
///
/// A published migration is never changed: a further one changes its result.
package enum Schema {
    /// Makes all tables in an empty database. Databases of ``baselineVersion`` have the same ones.
    static let baseline = Migration(
        "\(baselineVersion) all tables", users, sessions, waiting, auditEvents, rotation, transactions, moves,
        asyncSignIns, APIKeysTable.schema, ProviderTokensTable.schema, logoutTokens, accountChanges,
        RecentSignInsTable.schema, IssuerBindingsTable.schema, PromptsTable.schema,
        OneTimeRecordsTable.schema, IDTokenHintsTable.schema, phoneVerifications, ReassignedNumber.schema,
        pendingPhoneVerifications, auditSeals, capsules, sqlite: auditGuards,
        postgres: auditGuardsOnPostgres + "\n" + announcements)

    /// In their order. Later ones go to the end; the name of each begins with its number, the next one.
    package static let migrations = [
        baseline,
        Migration(
            "36 backchannel authentications", backchannelAuthentications, sqlite: issuedNonces(empty: "x''"),
            postgres: issuedNonces(empty: "''::bytea")),
        Migration("37 former tables", "DROP TABLE sign_in_attempts; DROP TABLE account_changes"),
        Migration("38 rows removed with their user", postgres: removalWithUser),
        Migration("39 webhooks", webhooks),
        Migration("40 events of sessions", sqlite: eventsOfSessions, postgres: eventsOfSessionsOnPostgres),
        Migration("41 statistics", statistics),
    ]

    /// The version of the tables that ``baseline`` makes.
    static let baselineVersion = 35

    /// The last of the 35 single migrations that made the tables of ``baseline``.
    private static let lastOfBaseline = "causes of capsules"

    /// The migrations that a database lacks, all of them if it has no tables.
    /// - Parameter done: The names in its table of migrations.
    /// - Throws: ``StorageError`` for a database of a newer version, or of one before ``baseline``.
    package static func missing(
        after done: Set<String>, of migrations: [Migration] = migrations
    ) throws(StorageError) -> [Migration] {
        guard !done.isEmpty else { return migrations }
        let unknown = done.subtracting(migrations.map(\.name))
        if !unknown.isEmpty {
            // Names of the single migrations have no number, or a lower one.
            let isLater = unknown.contains { name in
                let digits = name.prefix { $0.isNumber }
                return !digits.isEmpty && Int(digits) ?? .max >= baselineVersion
            }
            guard !isLater, unknown.count <= baselineVersion, !done.contains(baseline.name) else { throw isNewer }
            guard unknown.count == baselineVersion, unknown.contains(lastOfBaseline) else { throw isOlder }
        }
        return migrations.filter { !done.contains($0.name) && $0.name != baseline.name }
    }

    /// The version of a database: the number of its last migration, 0 without tables.
    package static func version(lacking missing: [Migration]) -> Int {
        missing.count == migrations.count ? 0 : version - missing.count
    }

    /// The version of the tables of this version of Latchkey.
    package static var version: Int { baselineVersion - 1 + migrations.count }

    static let isNewer = StorageError(
        .corrupt, reason: "the database was written by a newer version of Latchkey; run that version")
    static let isOlder = StorageError(
        .corrupt,
        reason: """
            the database has the tables of an older version of Latchkey; start the version of commit fd443933 once, \
            which brings them up to date
            """)

    // AUTOINCREMENT: the number of an erased user is never reused, because logs and audit events may still name it. It
    // costs one more row to update for each new user. Numbers count up from 1, so 2^53 is out of reach.
    //
    // public_id has no index: no request looks a user up by it, it is random and long, and a tree in random order is
    // the most expensive part of a sign-in.
    //
    // users_by_verified_email: only for registrations that refuse an address of another account. Without verified
    // addresses it is empty, and costs a sign-in nothing.
    //
    // provider_claims: encrypted by the use case, or JSON without what is sensitive. No index: only a change of the key
    // looks for them.
    //
    // identities: the table is its own index on (issuer, subject). The subject is stored nowhere else. An identity that
    // an account was moved from stays with the number of the move: so the primary key keeps it from becoming another
    // user's, and the move can be undone. See IdentityMovesTable. Its id is NULL until the user's identities are first
    // listed: a sign-in does not need it.
    private static let users = """
        CREATE TABLE users (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            public_id TEXT NOT NULL,
            username TEXT,
            name TEXT,
            given_name TEXT,
            family_name TEXT,
            email TEXT,
            phone_number TEXT,
            postal_code TEXT,
            created_at INTEGER NOT NULL,
            sessions_ended INTEGER NOT NULL DEFAULT 0,
            email_verified_at INTEGER,
            email_verified_by TEXT,
            phone_number_verified_at INTEGER,
            phone_number_verified_by TEXT,
            attribute_origins INTEGER,
            profile_issuer TEXT,
            provider_claims TEXT
        ) STRICT;
        CREATE INDEX users_by_verified_email ON users (lower(email)) WHERE email_verified_at IS NOT NULL;
        CREATE TABLE identities (
            issuer TEXT NOT NULL,
            subject TEXT NOT NULL,
            user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            created_at INTEGER NOT NULL,
            moved_by INTEGER,
            arrived_by INTEGER,
            restored_at INTEGER,
            id TEXT,
            PRIMARY KEY (issuer, subject)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX identities_by_user ON identities (user_id);
        """

    // A session and its live refresh token are one row: they are made, removed and looked up together, and a separate
    // row for the refresh token would add three trees to every sign-in. The row stays until both have expired.
    //
    // The rows are stored in the order they were made, and the two hashes in narrow indexes: with the wide rows in the
    // order of a hash, each sign-in would write a wide page in the middle of the file.
    //
    // seen_at is NULL until a session is seen again after its first minutes.
    //
    // identity_hash, provider_session_hash: the origin of a session, the identity that signed in and the session at its
    // provider, each as half of a SHA-256. The subject is stored in `identities` only, and the provider's session id
    // nowhere.
    //
    // retry_key, retry_endings, retry_ends_at: NULL in a shared store, and for sessions that no sign-in can be repeated
    // for. No index: they are read in the order of the rows.
    //
    // sessions_by_user: finds a session of a user by its id at once, also of a user with thousands of sessions.
    private static let sessions = """
        CREATE TABLE sessions (
            serial INTEGER PRIMARY KEY,
            token_hash BLOB NOT NULL UNIQUE,
            refresh_hash BLOB NOT NULL UNIQUE,
            id TEXT NOT NULL,
            user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            client_id TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            refresh_expires_at INTEGER NOT NULL,
            rotations INTEGER NOT NULL DEFAULT 0,
            device TEXT,
            seen_at INTEGER,
            identity_hash BLOB,
            provider_session_hash BLOB,
            retry_key BLOB,
            retry_endings INTEGER,
            retry_ends_at INTEGER
        ) STRICT;
        CREATE INDEX sessions_by_user ON sessions (user_id, id);
        CREATE INDEX sessions_by_expiry ON sessions (refresh_expires_at);
        CREATE INDEX sessions_by_provider_session ON sessions (provider_session_hash)
        WHERE provider_session_hash IS NOT NULL;
        """

    // A rotation changes the session's row in place, so the session keeps its id: the row is the token family of RFC
    // 9700 section 4.14.2, and revoking it removes the rows of both tables.
    //
    // spent_refresh_tokens: recognises the session's former tokens. See RefreshTokensTable.
    //
    // last_rotations: what a repeated response to the same rotation needs, until the next rotation or the end of the
    // new refresh token. Without its salt a spent token does not reveal its successor. The former session token
    // (`token_hash`) is valid for some seconds.
    private static let rotation = """
        CREATE TABLE spent_refresh_tokens (
            refresh_hash BLOB PRIMARY KEY NOT NULL,
            session INTEGER NOT NULL REFERENCES sessions (serial) ON DELETE CASCADE,
            number INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE UNIQUE INDEX spent_refresh_tokens_by_session ON spent_refresh_tokens (session, number);
        CREATE TABLE last_rotations (
            session INTEGER PRIMARY KEY NOT NULL REFERENCES sessions (serial) ON DELETE CASCADE,
            refresh_hash BLOB NOT NULL,
            salt BLOB NOT NULL,
            caller BLOB NOT NULL,
            grace_ends_at INTEGER NOT NULL,
            token_hash BLOB NOT NULL UNIQUE,
            token_expires_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX last_rotations_by_end ON last_rotations (grace_ends_at);
        """

    // signing_keys: each key has at most one successor, so that of several processes that make one at once only one
    // succeeds; the first key's predecessor is the empty text.
    //
    // receipts: by the hash of the receipt's id. The code's hash is unique, so that no code makes two receipts.
    private static let transactions = """
        CREATE TABLE signing_keys (
            serial INTEGER PRIMARY KEY,
            kid TEXT NOT NULL UNIQUE,
            predecessor TEXT NOT NULL UNIQUE,
            public_key BLOB NOT NULL,
            private_key BLOB NOT NULL,
            created_at INTEGER NOT NULL,
            signs_from INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE receipts (
            receipt_hash BLOB PRIMARY KEY NOT NULL,
            code_hash BLOB NOT NULL UNIQUE,
            user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            expires_at INTEGER NOT NULL,
            redeemed_at INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX receipts_by_user ON receipts (user_id);
        CREATE INDEX receipts_by_expiry ON receipts (expires_at);
        """

    // Version 36 drops it: it is here, because a backup of version 35 has it.
    private static let asyncSignIns = """
        CREATE TABLE async_sign_ins (
            handle_hash BLOB PRIMARY KEY NOT NULL, caller BLOB NOT NULL, provider TEXT NOT NULL,
            client_id TEXT NOT NULL, network TEXT NOT NULL, redirect_uri TEXT NOT NULL, scope TEXT NOT NULL,
            login_hint TEXT NOT NULL, acr_values TEXT, context TEXT, prompt TEXT, options TEXT,
            correlation_id TEXT NOT NULL, phase TEXT NOT NULL, attempt INTEGER NOT NULL,
            notification_hash BLOB NOT NULL UNIQUE, carrier_request_hash BLOB, failure TEXT, issuer TEXT, subject TEXT,
            username TEXT, name TEXT, given_name TEXT, family_name TEXT, email TEXT, phone_number TEXT,
            postal_code TEXT, expires_at INTEGER NOT NULL, removed_at INTEGER NOT NULL, revision INTEGER NOT NULL,
            ported_from TEXT, session_id TEXT, sessions_ended INTEGER, email_verified INTEGER,
            phone_number_verified INTEGER, provider_claims TEXT, user_hash BLOB, share BLOB, poll_mode TEXT,
            provider_request BLOB, poll_interval INTEGER, next_poll_at INTEGER, polling_until INTEGER,
            is_notified INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX async_sign_ins_by_caller ON async_sign_ins (caller, removed_at);
        CREATE INDEX async_sign_ins_by_removal ON async_sign_ins (removed_at);
        CREATE INDEX async_sign_ins_by_carrier ON async_sign_ins (provider, network, expires_at)
        WHERE phase = 'waiting';
        CREATE INDEX async_sign_ins_by_user ON async_sign_ins (user_hash) WHERE phase = 'waiting';
        CREATE INDEX async_sign_ins_by_share ON async_sign_ins (provider, network, share) WHERE phase = 'waiting';
        """

    // Looked up by the client's handle, or by the token of the provider's notification. Rows live for minutes, so that
    // those of the former table are not kept.
    //
    // share, user_hash: the caller and the user of the prompt. content: what is only stored and read back, in JSON.
    // session_id, sessions_ended: NULL until the first response; the session that it gave, and the user's count then.
    private static let backchannelAuthentications = """
        DROP TABLE async_sign_ins;
        CREATE TABLE backchannel_authentications (
            handle_hash BLOB PRIMARY KEY NOT NULL,
            caller BLOB NOT NULL,
            provider TEXT NOT NULL,
            network TEXT NOT NULL,
            user_hash BLOB NOT NULL,
            share BLOB NOT NULL,
            phase TEXT NOT NULL,
            notification_hash BLOB NOT NULL UNIQUE,
            expires_at INTEGER NOT NULL,
            removed_at INTEGER NOT NULL,
            content TEXT NOT NULL,
            revision INTEGER NOT NULL,
            session_id TEXT,
            sessions_ended INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX backchannel_authentications_by_caller ON backchannel_authentications (caller, removed_at);
        CREATE INDEX backchannel_authentications_by_removal ON backchannel_authentications (removed_at);
        CREATE INDEX backchannel_authentications_by_carrier
        ON backchannel_authentications (provider, network, expires_at) WHERE phase = 'pending';
        CREATE INDEX backchannel_authentications_by_user ON backchannel_authentications (user_hash)
        WHERE phase = 'pending';
        CREATE INDEX backchannel_authentications_by_share ON backchannel_authentications (provider, network, share)
        WHERE phase = 'pending';
        """

    // For each session and identity, PostgreSQL would look its user up by another statement, and lock it: a quarter of
    // its time for a sign-in. Each call that stores one holds the user's lock already (``WriteLock``), and so does
    // each that removes the user. The schema is the table's, also after it has got another name.
    private static let removalWithUser = """
        ALTER TABLE sessions DROP CONSTRAINT IF EXISTS sessions_user_id_fkey;
        ALTER TABLE identities DROP CONSTRAINT IF EXISTS identities_user_id_fkey;
        CREATE FUNCTION remove_sessions_and_identities() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN
        EXECUTE format('DELETE FROM %I.sessions WHERE user_id = $1', TG_TABLE_SCHEMA) USING OLD.id;
        EXECUTE format('DELETE FROM %I.identities WHERE user_id = $1', TG_TABLE_SCHEMA) USING OLD.id;
        RETURN NULL;
        END$$;
        CREATE TRIGGER remove_sessions_and_identities AFTER DELETE ON users
        FOR EACH ROW EXECUTE FUNCTION remove_sessions_and_identities();
        """

    private static let logoutTokens = """
        CREATE TABLE logout_tokens (
            token_hash BLOB PRIMARY KEY NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX logout_tokens_by_expiry ON logout_tokens (expires_at);
        """

    // Version 37 drops it: such changes are counted in `prompts`.
    private static let accountChanges = """
        CREATE TABLE account_changes (
            user_id INTEGER PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            whole_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX account_changes_by_end ON account_changes (whole_at);
        """

    // Issued nonces are one-time records from version 36 on.
    private static func issuedNonces(empty: String) -> String {
        """
        INSERT INTO sealed_notes (handle_hash, purpose, content, expires_at)
        SELECT nonce_hash, 'nonce for ' || provider, \(empty), expires_at FROM sign_in_attempts;
        DELETE FROM sign_in_attempts;
        """
    }

    // sign_in_attempts: version 37 drops it.
    private static let waiting = """
        CREATE TABLE pending_registrations (
            handle_hash BLOB PRIMARY KEY NOT NULL,
            issuer TEXT NOT NULL,
            subject TEXT NOT NULL,
            client_id TEXT NOT NULL,
            username TEXT,
            name TEXT,
            given_name TEXT,
            family_name TEXT,
            email TEXT,
            phone_number TEXT,
            postal_code TEXT,
            expires_at INTEGER NOT NULL,
            provider_session_hash BLOB,
            email_verified INTEGER,
            phone_number_verified INTEGER,
            provider_claims TEXT
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX pending_registrations_by_identity ON pending_registrations (issuer, subject);
        CREATE INDEX pending_registrations_by_expiry ON pending_registrations (expires_at);
        CREATE TABLE sign_in_attempts (
            nonce_hash BLOB PRIMARY KEY NOT NULL,
            provider TEXT NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX sign_in_attempts_by_expiry ON sign_in_attempts (expires_at);
        """

    // Small rows for each day and provider. `day` is the number of days since 1970-01-01.
    private static let statistics = """
        CREATE TABLE statistics_counts (
            day INTEGER NOT NULL,
            provider TEXT NOT NULL,
            measure TEXT NOT NULL,
            amount INTEGER NOT NULL,
            PRIMARY KEY (day, provider, measure)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE statistics_users (
            day INTEGER NOT NULL,
            provider TEXT NOT NULL,
            registers BLOB NOT NULL,
            PRIMARY KEY (day, provider)
        ) STRICT;
        """

    private static let moves = """
        CREATE TABLE identity_moves (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            port_token_hash BLOB NOT NULL UNIQUE,
            moved_at INTEGER NOT NULL,
            undone_at INTEGER,
            earlier_departure INTEGER,
            earlier_arrival INTEGER
        ) STRICT;
        CREATE INDEX identity_moves_by_user ON identity_moves (user_id);
        """

    // user_id has no foreign key, because an event outlives its user. Numbers are never reused (AUTOINCREMENT), so that
    // a gap shows missing events.
    private static let auditEvents = """
        CREATE TABLE audit_events (
            serial INTEGER PRIMARY KEY AUTOINCREMENT,
            time INTEGER NOT NULL,
            kind TEXT NOT NULL,
            user_id INTEGER,
            actor TEXT NOT NULL,
            request_id TEXT,
            details TEXT NOT NULL,
            salt BLOB,
            details_digest BLOB
        ) STRICT;
        CREATE INDEX audit_events_by_user ON audit_events (user_id) WHERE user_id IS NOT NULL;
        """

    /// The channel of PostgreSQL that the triggers notify.
    package static let channel = "latchkey"

    // Other processes cache sessions and users for some seconds: the notification tells them which to read again. A
    // sign-in of a known user notifies of nothing, because notifications serialize the commits.
    private static let announcements = """
        CREATE FUNCTION announce_user() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN PERFORM pg_notify('\(channel)', OLD.id::text); RETURN NULL; END$$;
        CREATE TRIGGER users_announce AFTER UPDATE OR DELETE ON users
        FOR EACH ROW EXECUTE FUNCTION announce_user();
        CREATE FUNCTION announce_session() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN PERFORM pg_notify('\(channel)', OLD.user_id::text); RETURN NULL; END$$;
        CREATE TRIGGER sessions_announce AFTER DELETE ON sessions
        FOR EACH ROW EXECUTE FUNCTION announce_session();
        """
}

/// A step from one version of the tables to the next.
package struct Migration: Sendable {
    /// Recorded in every database that it was run on.
    package let name: String
    /// For both engines, in SQLite's dialect.
    package let statements: [String]
    /// For SQLite only, after ``statements``.
    let sqlite: String?
    /// For PostgreSQL in its place.
    package let postgres: String?

    init(_ name: String, _ statements: String..., sqlite: String? = nil, postgres: String? = nil) {
        self.name = name
        self.statements = statements
        self.sqlite = sqlite
        self.postgres = postgres
    }
}
