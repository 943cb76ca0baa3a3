import StorageModel

/// Tables whose statements are in the modules of the features.
extension Schema {
    // Rows of the last day. The number is empty if it never became known. The session's id, not its token, because a
    // refresh changes the token.
    static let phoneVerifications = """
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
        """

    // The columns from `status` on are NULL until the browser is back. `phone_number` is what the session has asked
    // for, and `found_number` what the operator confirmed: only the confirmation shows it. Rows stay for a day, to be
    // read as failed.
    static let pendingPhoneVerifications = """
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
        """

    // Several instances may make a seal at the same time: the primary key lets one of them have the number.
    static let auditSeals = """
        CREATE TABLE audit_seals (
            number INTEGER PRIMARY KEY,
            last_serial INTEGER NOT NULL,
            time INTEGER NOT NULL,
            jws TEXT NOT NULL,
            entries BLOB NOT NULL
        ) STRICT;
        """

    // webhook_endpoints: how far each has the audit log. `cursor` is the serial up to which every event was delivered,
    // is not for it, or is of a user in webhook_backlog. `generation` counts changes from outside the delivery.
    // `holder` is the instance that delivers, until `held_until`.
    //
    // webhook_backlog: users for whom an event was not taken. `serial` is that of the first event that was not
    // delivered. No reference to the user, because the erasure is delivered, too.
    static let webhooks = """
        CREATE TABLE webhook_endpoints (
            name TEXT PRIMARY KEY NOT NULL,
            salt TEXT NOT NULL,
            cursor INTEGER NOT NULL,
            generation INTEGER NOT NULL DEFAULT 0,
            holder TEXT,
            held_until INTEGER NOT NULL DEFAULT 0,
            seen_at INTEGER NOT NULL,
            delivered INTEGER NOT NULL DEFAULT 0,
            dropped INTEGER NOT NULL DEFAULT 0,
            delivered_at INTEGER,
            failed_at INTEGER,
            error TEXT
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE webhook_backlog (
            endpoint TEXT NOT NULL,
            user_id INTEGER NOT NULL,
            serial INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            due_at INTEGER NOT NULL,
            since INTEGER NOT NULL,
            error TEXT NOT NULL,
            PRIMARY KEY (endpoint, user_id)
        ) STRICT, WITHOUT ROWID;
        """

    /// The condition of an update that leaves an audit event as it was: it adds a salt and the digest of the details to
    /// an event of a version without seals, or it erases the details.
    private static let isAllowed = """
        NEW.serial IS NOT DISTINCT FROM OLD.serial AND NEW.time IS NOT DISTINCT FROM OLD.time
        AND NEW.kind IS NOT DISTINCT FROM OLD.kind AND NEW.user_id IS NOT DISTINCT FROM OLD.user_id
        AND NEW.actor IS NOT DISTINCT FROM OLD.actor AND NEW.request_id IS NOT DISTINCT FROM OLD.request_id
        AND ((OLD.salt IS NULL AND OLD.details_digest IS NULL AND NEW.salt IS NOT NULL
                AND NEW.details_digest IS NOT NULL AND NEW.details = OLD.details)
            OR (OLD.salt IS NOT NULL AND NEW.salt IS NULL AND NEW.details = '{}'
                AND OLD.details_digest IS NOT NULL AND NEW.details_digest IS NOT DISTINCT FROM OLD.details_digest))
        """

    static let auditGuards = """
        CREATE TRIGGER audit_events_stay_as_they_are BEFORE UPDATE ON audit_events
        WHEN NOT (\(isAllowed))
        BEGIN
            SELECT RAISE(ABORT, 'audit events are never changed');
        END;
        CREATE TRIGGER audit_seals_stay_as_they_are BEFORE UPDATE ON audit_seals
        BEGIN
            SELECT RAISE(ABORT, 'audit seals are never changed');
        END;
        """
    static let auditGuardsOnPostgres = """
        CREATE FUNCTION audit_events_stay_as_they_are() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN
            IF \(isAllowed) THEN RETURN NEW; END IF;
            RAISE EXCEPTION 'audit events are never changed' USING ERRCODE = 'restrict_violation';
        END$$;
        CREATE TRIGGER audit_events_stay_as_they_are BEFORE UPDATE ON audit_events
        FOR EACH ROW EXECUTE FUNCTION audit_events_stay_as_they_are();
        CREATE FUNCTION audit_seals_stay_as_they_are() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN RAISE EXCEPTION 'audit seals are never changed' USING ERRCODE = 'restrict_violation'; END$$;
        CREATE TRIGGER audit_seals_stay_as_they_are BEFORE UPDATE ON audit_seals
        FOR EACH ROW EXECUTE FUNCTION audit_seals_stay_as_they_are();
        """

    // A sign-in needs no further tree for its event. Without AUTOINCREMENT, the newest event always stays: its number
    // must not be given again. If there is none, because all have expired, one is made for that.
    static let eventsOfSessions = """
        DROP TRIGGER audit_events_stay_as_they_are;
        DROP INDEX audit_events_by_user;
        ALTER TABLE audit_events RENAME TO former_audit_events;
        CREATE TABLE audit_events (
            serial INTEGER PRIMARY KEY,
            time INTEGER NOT NULL,
            kind TEXT NOT NULL,
            user_id INTEGER,
            actor TEXT NOT NULL,
            request_id TEXT,
            details TEXT NOT NULL,
            salt BLOB,
            details_digest BLOB
        ) STRICT;
        INSERT INTO audit_events SELECT * FROM former_audit_events ORDER BY serial;
        INSERT INTO audit_events (serial, time, kind, actor, details)
        SELECT seq + 1, CAST(strftime('%s', 'now') AS INTEGER), '\(AuditEvent.Kind.databaseMigrated)', 'latchkey', '{}'
        FROM sqlite_sequence WHERE name = 'former_audit_events' AND NOT EXISTS (SELECT 1 FROM audit_events);
        DROP TABLE former_audit_events;
        \(eventsByUser)
        CREATE TRIGGER audit_events_stay_as_they_are BEFORE UPDATE ON audit_events
        WHEN NOT (\(isAllowed)) OR (OLD.salt IS NULL AND OLD.kind IN (\(AuditTable.kindsOfSessions)))
        BEGIN
            SELECT RAISE(ABORT, 'audit events are never changed');
        END;
        """
    // An instance of the version before may salt an event of a session, to erase its details. Nothing changes then,
    // because the event may be sealed.
    static let eventsOfSessionsOnPostgres = """
        DROP INDEX audit_events_by_user;
        \(eventsByUser)
        CREATE OR REPLACE FUNCTION audit_events_stay_as_they_are() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN
            IF \(isAllowed) THEN
                IF OLD.salt IS NULL AND OLD.kind IN (\(AuditTable.kindsOfSessions)) THEN RETURN NULL; END IF;
                RETURN NEW;
            END IF;
            RAISE EXCEPTION 'audit events are never changed' USING ERRCODE = 'restrict_violation';
        END$$;
        """
    private static let eventsByUser = """
        CREATE INDEX audit_events_by_user ON audit_events (user_id)
        WHERE user_id IS NOT NULL AND \(AuditTable.mayLoseDetails);
        """

    // Records of failed sign-ins, for administrators. The serials are in the order of time, so that the time needs
    // no index. The index by cause has all that a removal looks at, so that it reads no contents.
    static let capsules = """
        CREATE TABLE capsules (
            serial INTEGER PRIMARY KEY,
            correlation_id TEXT NOT NULL,
            time INTEGER NOT NULL,
            content TEXT NOT NULL,
            cause TEXT NOT NULL DEFAULT ''
        ) STRICT;
        CREATE INDEX capsules_by_correlation_id ON capsules (correlation_id);
        CREATE INDEX capsules_by_cause ON capsules (cause, serial, time);
        """
}
