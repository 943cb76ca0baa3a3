/// The tables, as named migrations in their order. A published migration is never changed: a further migration changes
/// its result.
enum Schema {
    static let migrations = [
        Migration("1 users, identities, sessions", users, sessions, waiting),
        Migration("audit events", auditEvents, sqlite: auditGuard, postgres: auditGuardOnPostgres),
        Migration("refresh token rotation", rotation),
        Migration("sealed notes", OneTimeRecordsTable.schema),
        Migration("transactions: signing keys, receipts", transactions),
        Migration("moved identities", moves),
        Migration("devices and last sight of sessions", sight),
        Migration("server-initiated sign-ins", BackchannelAuthenticationsTable.schema),
        // NULL until the user's identities are first listed: a sign-in does not need it.
        Migration("ids of identities", "ALTER TABLE identities ADD COLUMN id TEXT"),
        Migration("API keys", APIKeysTable.schema),
        Migration("former identities of server-initiated sign-ins", BackchannelAuthenticationsTable.formerIdentities),
        // NULL until the first response; also for rows answered before this migration, in their last minute.
        Migration("sessions of server-initiated sign-ins", "ALTER TABLE async_sign_ins ADD COLUMN session_id TEXT"),
        Migration("provider tokens", ProviderTokensTable.schema),
        Migration("origins of sessions, logout tokens", SessionsTable.originsSchema),
        Migration("announcements of changed users", postgres: announcements),
        Migration("changes of accounts", AccountChangesTable.schema),
        Migration("server-initiated sign-ins by carrier", BackchannelAuthenticationsTable.byCarrier),
        Migration("recent sign-ins", RecentSignInsTable.schema),
        Migration("retries in the rows of sessions", RecentSignInsTable.inSessions),
        Migration("verified contacts, origins of attributes", UsersTable.verifiedSchema),
        Migration("claims that users consented to share", UsersTable.claimsSchema),
        Migration("bindings of issuers", IssuerBindingsTable.schema),
        Migration("requests by user, shares of callers", PromptsTable.schema, BackchannelAuthenticationsTable.counted),
        Migration("one-time records in order", sqlite: OneTimeRecordsTable.inOrder),
        Migration("refresh requests to providers", ProviderTokensTable.requestsSchema),
        Migration("ID tokens for logout", IDTokenHintsTable.schema),
        Migration("sessions by user and id", SessionsTable.byUserAndID),
        Migration("users by verified phone number", UsersTable.verifiedNumberSchema),
        Migration("verifications of phone numbers", PhoneVerificationsTable.schema),
        Migration("verified phone numbers without separators", ReassignedNumber.schema),
        Migration("polls of backchannel authentications", BackchannelAuthenticationsTable.polled),
        Migration("pending verifications of phone numbers", PendingPhoneVerificationsTable.schema),
        Migration(
            "seals of audit events", AuditSealsTable.schema, sqlite: AuditSealsTable.guards,
            postgres: AuditSealsTable.guardsOnPostgres),
        Migration("capsules of failed sign-ins", CapsulesTable.schema),
        Migration("causes of capsules", CapsulesTable.causes),
    ]

    // AUTOINCREMENT: the number of an erased user is never reused, because logs and audit events may still name it. It
    // costs one more row to update for each new user. Numbers count up from 1, so 2^53 is out of reach.
    //
    // public_id has no index: no request looks a user up by it, it is random and long, and a tree in random order is
    // the most expensive part of a sign-in.
    //
    // identities: the table is its own index on (issuer, subject). The subject is stored nowhere else.
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
            created_at INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE identities (
            issuer TEXT NOT NULL,
            subject TEXT NOT NULL,
            user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            created_at INTEGER NOT NULL,
            PRIMARY KEY (issuer, subject)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX identities_by_user ON identities (user_id);
        """

    // A session and its live refresh token are one row: they are made, removed and looked up together, and a separate
    // row for the refresh token would add three trees to every sign-in. The row stays until both have expired.
    //
    // The rows are stored in the order they were made, and the two hashes in narrow indexes: with the wide rows in the
    // order of a hash, each sign-in would write a wide page in the middle of the file.
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
            refresh_expires_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX sessions_by_user ON sessions (user_id);
        CREATE INDEX sessions_by_expiry ON sessions (refresh_expires_at);
        """

    // A rotation changes the session's row in place, so the session keeps its id: the row is the token family of RFC
    // 9700 section 4.14.2, and revoking it removes the rows of both tables.
    //
    // spent_refresh_tokens: recognises the session's former tokens. See RefreshTokensTable.
    //
    // last_rotations: what a repeated response to the same rotation needs. A row is valid for some seconds and then
    // removed; without its salt a spent token does not reveal its successor.
    private static let rotation = """
        ALTER TABLE sessions ADD COLUMN rotations INTEGER NOT NULL DEFAULT 0;
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

    // seen_at is NULL until a session is seen again after its first minutes.
    private static let sight = """
        ALTER TABLE sessions ADD COLUMN device TEXT;
        ALTER TABLE sessions ADD COLUMN seen_at INTEGER;
        """

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
            expires_at INTEGER NOT NULL
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

    // An identity that an account was moved from stays in the table with the number of the move: so the primary key
    // keeps it from becoming another user's, and the move can be undone. See IdentityMovesTable.
    private static let moves = """
        ALTER TABLE identities ADD COLUMN moved_by INTEGER;
        ALTER TABLE identities ADD COLUMN arrived_by INTEGER;
        ALTER TABLE identities ADD COLUMN restored_at INTEGER;
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
            details TEXT NOT NULL
        ) STRICT;
        CREATE INDEX audit_events_by_user ON audit_events (user_id) WHERE user_id IS NOT NULL;
        """
    private static let auditGuard = """
        CREATE TRIGGER audit_events_stay_as_they_are BEFORE UPDATE ON audit_events
        BEGIN
            SELECT RAISE(ABORT, 'audit events are never changed');
        END;
        """
    private static let auditGuardOnPostgres = """
        CREATE FUNCTION audit_events_stay_as_they_are() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN RAISE EXCEPTION 'audit events are never changed' USING ERRCODE = 'restrict_violation'; END$$;
        CREATE TRIGGER audit_events_stay_as_they_are BEFORE UPDATE ON audit_events
        FOR EACH ROW EXECUTE FUNCTION audit_events_stay_as_they_are();
        """

    // Other processes cache sessions and users for some seconds: the notification tells them which to read again. A
    // sign-in of a known user notifies of nothing, because notifications serialize the commits.
    private static let announcements = """
        CREATE FUNCTION announce_user() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN PERFORM pg_notify('\(PostgresListener.channel)', OLD.id::text); RETURN NULL; END$$;
        CREATE TRIGGER users_announce AFTER UPDATE OR DELETE ON users
        FOR EACH ROW EXECUTE FUNCTION announce_user();
        CREATE FUNCTION announce_session() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN PERFORM pg_notify('\(PostgresListener.channel)', OLD.user_id::text); RETURN NULL; END$$;
        CREATE TRIGGER sessions_announce AFTER DELETE ON sessions
        FOR EACH ROW EXECUTE FUNCTION announce_session();
        """
}

/// A step from one version of the tables to the next.
struct Migration: Sendable {
    /// Recorded in every database that it was run on.
    let name: String
    /// The statements for SQLite.
    let statements: [String]
    let postgresStatements: [String]

    /// - Parameters:
    ///   - statements: In SQLite's dialect; translated for PostgreSQL.
    ///   - sqlite: For SQLite only, after the statements for both.
    ///   - postgres: For PostgreSQL in its place.
    init(_ name: String, _ statements: String..., sqlite: String? = nil, postgres: String? = nil) {
        self.name = name
        self.statements = statements + [sqlite].compactMap(\.self)
        postgresStatements = statements.map(PostgresStatementText.translate(schema:)) + [postgres].compactMap(\.self)
    }
}
