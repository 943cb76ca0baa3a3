/// A database as 35 single migrations made it, up to commit fd443933. Later versions make the same tables at once.
enum Version35 {
    /// Makes an SQLite database one of a version before, as far as its migrations tell.
    static let older =
        "DELETE FROM grdb_migrations; INSERT INTO grdb_migrations VALUES ('capsules of failed sign-ins')"

    /// The migrations, in their order.
    static let migrations = """
        1 users, identities, sessions
        audit events
        refresh token rotation
        sealed notes
        transactions: signing keys, receipts
        moved identities
        devices and last sight of sessions
        server-initiated sign-ins
        ids of identities
        API keys
        former identities of server-initiated sign-ins
        sessions of server-initiated sign-ins
        provider tokens
        origins of sessions, logout tokens
        announcements of changed users
        changes of accounts
        server-initiated sign-ins by carrier
        recent sign-ins
        retries in the rows of sessions
        verified contacts, origins of attributes
        claims that users consented to share
        bindings of issuers
        requests by user, shares of callers
        one-time records in order
        refresh requests to providers
        ID tokens for logout
        sessions by user and id
        users by verified phone number
        verifications of phone numbers
        verified phone numbers without separators
        polls of backchannel authentications
        pending verifications of phone numbers
        seals of audit events
        capsules of failed sign-ins
        causes of capsules
        """.split(separator: "\n").map(String.init)

    /// The tables on SQLite.
    static let tables = """
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
        , sessions_ended INTEGER NOT NULL DEFAULT 0, email_verified_at INTEGER, email_verified_by TEXT,
        phone_number_verified_at INTEGER, phone_number_verified_by TEXT, attribute_origins INTEGER,
        profile_issuer TEXT, provider_claims TEXT) STRICT;
        CREATE TABLE identities (
            issuer TEXT NOT NULL,
            subject TEXT NOT NULL,
            user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            created_at INTEGER NOT NULL, moved_by INTEGER, arrived_by INTEGER, restored_at INTEGER, id TEXT,
            PRIMARY KEY (issuer, subject)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX identities_by_user ON identities (user_id);
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
        , rotations INTEGER NOT NULL DEFAULT 0, device TEXT, seen_at INTEGER, identity_hash BLOB,
        provider_session_hash BLOB, retry_key BLOB, retry_endings INTEGER, retry_ends_at INTEGER) STRICT;
        CREATE INDEX sessions_by_expiry ON sessions (refresh_expires_at);
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
        , provider_session_hash BLOB, email_verified INTEGER, phone_number_verified INTEGER,
        provider_claims TEXT) STRICT, WITHOUT ROWID;
        CREATE INDEX pending_registrations_by_identity ON pending_registrations (issuer, subject);
        CREATE INDEX pending_registrations_by_expiry ON pending_registrations (expires_at);
        CREATE TABLE sign_in_attempts (
            nonce_hash BLOB PRIMARY KEY NOT NULL,
            provider TEXT NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX sign_in_attempts_by_expiry ON sign_in_attempts (expires_at);
        CREATE TABLE audit_events (
            serial INTEGER PRIMARY KEY AUTOINCREMENT,
            time INTEGER NOT NULL,
            kind TEXT NOT NULL,
            user_id INTEGER,
            actor TEXT NOT NULL,
            request_id TEXT,
            details TEXT NOT NULL
        , salt BLOB, details_digest BLOB) STRICT;
        CREATE INDEX audit_events_by_user ON audit_events (user_id) WHERE user_id IS NOT NULL;
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
        CREATE TABLE async_sign_ins (
            handle_hash BLOB PRIMARY KEY NOT NULL,
            caller BLOB NOT NULL,
            provider TEXT NOT NULL,
            client_id TEXT NOT NULL,
            network TEXT NOT NULL,
            redirect_uri TEXT NOT NULL,
            scope TEXT NOT NULL,
            login_hint TEXT NOT NULL,
            acr_values TEXT,
            context TEXT,
            prompt TEXT,
            options TEXT,
            correlation_id TEXT NOT NULL,
            phase TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            notification_hash BLOB NOT NULL UNIQUE,
            carrier_request_hash BLOB,
            failure TEXT,
            issuer TEXT,
            subject TEXT,
            username TEXT,
            name TEXT,
            given_name TEXT,
            family_name TEXT,
            email TEXT,
            phone_number TEXT,
            postal_code TEXT,
            expires_at INTEGER NOT NULL,
            removed_at INTEGER NOT NULL,
            revision INTEGER NOT NULL
        , ported_from TEXT, session_id TEXT, sessions_ended INTEGER, email_verified INTEGER,
        phone_number_verified INTEGER, provider_claims TEXT, user_hash BLOB, share BLOB, poll_mode TEXT,
        provider_request BLOB, poll_interval INTEGER, next_poll_at INTEGER, polling_until INTEGER,
        is_notified INTEGER) STRICT, WITHOUT ROWID;
        CREATE INDEX async_sign_ins_by_caller ON async_sign_ins (caller, removed_at);
        CREATE INDEX async_sign_ins_by_removal ON async_sign_ins (removed_at);
        CREATE TABLE api_keys (
            serial INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL,
            key_hash BLOB NOT NULL UNIQUE,
            scope TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            revoked_at INTEGER
        ) STRICT;
        CREATE UNIQUE INDEX api_keys_by_name ON api_keys (name) WHERE revoked_at IS NULL;
        CREATE TABLE provider_tokens (
            serial INTEGER PRIMARY KEY AUTOINCREMENT,
            user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            issuer TEXT NOT NULL,
            subject TEXT NOT NULL,
            provider TEXT NOT NULL,
            client_id TEXT NOT NULL,
            key_id TEXT NOT NULL,
            content BLOB NOT NULL,
            expires_at INTEGER,
            stored_at INTEGER NOT NULL,
            version INTEGER NOT NULL,
            claimed_until INTEGER, refresh_hash BLOB, refresh_started_at INTEGER, refresh_holder TEXT,
            FOREIGN KEY (issuer, subject) REFERENCES identities (issuer, subject) ON DELETE CASCADE
        ) STRICT;
        CREATE UNIQUE INDEX provider_tokens_by_identity ON provider_tokens (issuer, subject, provider, client_id);
        CREATE INDEX provider_tokens_by_user ON provider_tokens (user_id, provider, client_id);
        CREATE INDEX provider_tokens_by_expiry ON provider_tokens (expires_at) WHERE expires_at IS NOT NULL;
        CREATE INDEX sessions_by_provider_session ON sessions (provider_session_hash)
        WHERE provider_session_hash IS NOT NULL;
        CREATE TABLE logout_tokens (
            token_hash BLOB PRIMARY KEY NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX logout_tokens_by_expiry ON logout_tokens (expires_at);
        CREATE TABLE account_changes (
            user_id INTEGER PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            whole_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX account_changes_by_end ON account_changes (whole_at);
        CREATE INDEX async_sign_ins_by_carrier ON async_sign_ins (provider, network, expires_at)
        WHERE phase = 'waiting';
        CREATE TABLE recent_sign_ins (
            fingerprint BLOB PRIMARY KEY NOT NULL,
            user_id INTEGER NOT NULL,
            session_id TEXT NOT NULL,
            sessions_ended INTEGER NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX recent_sign_ins_by_end ON recent_sign_ins (expires_at);
        CREATE INDEX users_by_verified_email ON users (lower(email)) WHERE email_verified_at IS NOT NULL;
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
        CREATE TABLE prompts (
            user_hash BLOB PRIMARY KEY NOT NULL,
            whole_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX prompts_by_end ON prompts (whole_at);
        CREATE INDEX async_sign_ins_by_user ON async_sign_ins (user_hash) WHERE phase = 'waiting';
        CREATE INDEX async_sign_ins_by_share ON async_sign_ins (provider, network, share) WHERE phase = 'waiting';
        CREATE TABLE "sealed_notes" (
            handle_hash BLOB NOT NULL UNIQUE,
            purpose TEXT NOT NULL,
            content BLOB NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX sealed_notes_by_expiry ON sealed_notes (expires_at);
        CREATE TABLE id_token_hints (
            session INTEGER PRIMARY KEY NOT NULL REFERENCES sessions (serial) ON DELETE CASCADE,
            content BLOB NOT NULL,
            session_key BLOB NOT NULL
        ) STRICT;
        CREATE INDEX sessions_by_user ON sessions (user_id, id);
        CREATE TABLE phone_verifications (
            id_hash BLOB PRIMARY KEY NOT NULL,
            user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            session_id TEXT NOT NULL,
            phone_number TEXT NOT NULL,
            operator TEXT NOT NULL,
            status TEXT NOT NULL,
            sim_swapped INTEGER,
            error TEXT,
            checked_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX phone_verifications_by_user ON phone_verifications (user_id);
        CREATE INDEX phone_verifications_by_expiry ON phone_verifications (expires_at);
        CREATE INDEX users_by_verified_phone_number ON users (replace(replace(replace(replace(replace(phone_number,
        ' ', ''), '-', ''), '.', ''), '(', ''), ')', '')) WHERE phone_number_verified_at IS NOT NULL;
        CREATE INDEX pending_registrations_by_verified_phone_number
        ON pending_registrations (replace(replace(replace(replace(replace(phone_number, ' ', ''), '-', ''), '.',
        ''), '(', ''), ')', '')) WHERE phone_number_verified = 1;
        CREATE TABLE pending_phone_verifications (
            id_hash BLOB PRIMARY KEY NOT NULL,
            user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            session_id TEXT NOT NULL,
            phone_number TEXT,
            operator TEXT NOT NULL,
            expires_at INTEGER NOT NULL,
            wrong_confirmations INTEGER NOT NULL,
            status TEXT,
            found_number TEXT,
            sim_swapped INTEGER,
            error TEXT,
            checked_at INTEGER,
            issuer TEXT,
            confirmation_hash BLOB
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX pending_phone_verifications_by_user ON pending_phone_verifications (user_id);
        CREATE INDEX pending_phone_verifications_by_expiry ON pending_phone_verifications (expires_at);
        CREATE TABLE audit_seals (
            number INTEGER PRIMARY KEY,
            last_serial INTEGER NOT NULL,
            time INTEGER NOT NULL,
            jws TEXT NOT NULL,
            entries BLOB NOT NULL
        ) STRICT;
        CREATE TRIGGER audit_events_stay_as_they_are BEFORE UPDATE ON audit_events
        WHEN NOT (NEW.serial IS NOT DISTINCT FROM OLD.serial AND NEW.time IS NOT DISTINCT FROM OLD.time
        AND NEW.kind IS NOT DISTINCT FROM OLD.kind AND NEW.user_id IS NOT DISTINCT FROM OLD.user_id
        AND NEW.actor IS NOT DISTINCT FROM OLD.actor AND NEW.request_id IS NOT DISTINCT FROM OLD.request_id
        AND ((OLD.salt IS NULL AND OLD.details_digest IS NULL AND NEW.salt IS NOT NULL
                AND NEW.details_digest IS NOT NULL AND NEW.details = OLD.details)
            OR (OLD.salt IS NOT NULL AND NEW.salt IS NULL AND NEW.details = '{}'
                AND OLD.details_digest IS NOT NULL AND NEW.details_digest IS NOT DISTINCT FROM OLD.details_digest)))
        BEGIN
            SELECT RAISE(ABORT, 'audit events are never changed');
        END;
        CREATE TRIGGER audit_seals_stay_as_they_are BEFORE UPDATE ON audit_seals
        BEGIN
            SELECT RAISE(ABORT, 'audit seals are never changed');
        END;
        CREATE TABLE capsules (
            serial INTEGER PRIMARY KEY,
            correlation_id TEXT NOT NULL,
            time INTEGER NOT NULL,
            content TEXT NOT NULL
        , cause TEXT NOT NULL DEFAULT '') STRICT;
        CREATE INDEX capsules_by_correlation_id ON capsules (correlation_id);
        CREATE INDEX capsules_by_cause ON capsules (cause, serial, time);
        """

    /// A statement that records the first of the migrations.
    static func record(first count: Int = migrations.count, in table: String) -> String {
        let values = migrations.prefix(count).map { "('\($0)')" }.joined(separator: ", ")
        return "INSERT INTO \(table) VALUES \(values)"
    }

    /// The whole SQLite database.
    static let sqlite = """
        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
        \(record(in: "grdb_migrations"));
        \(tables)
        """
}
