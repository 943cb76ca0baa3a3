/// The table `audit_seals`, and what its rows need of `audit_events`. A feature has its statements: the seals of the
/// audit log.
enum AuditSealsTable {
    /// The condition of an update that leaves the event as it was: it adds a salt and the digest of the details to an
    /// event of a version without seals, or it erases the details.
    private static let isAllowed = """
        NEW.serial IS NOT DISTINCT FROM OLD.serial AND NEW.time IS NOT DISTINCT FROM OLD.time
        AND NEW.kind IS NOT DISTINCT FROM OLD.kind AND NEW.user_id IS NOT DISTINCT FROM OLD.user_id
        AND NEW.actor IS NOT DISTINCT FROM OLD.actor AND NEW.request_id IS NOT DISTINCT FROM OLD.request_id
        AND ((OLD.salt IS NULL AND OLD.details_digest IS NULL AND NEW.salt IS NOT NULL
                AND NEW.details_digest IS NOT NULL AND NEW.details = OLD.details)
            OR (OLD.salt IS NOT NULL AND NEW.salt IS NULL AND NEW.details = '{}'
                AND OLD.details_digest IS NOT NULL AND NEW.details_digest IS NOT DISTINCT FROM OLD.details_digest))
        """

    // Several instances may make a seal at the same time: the primary key lets one of them have the number.
    static let schema = """
        CREATE TABLE audit_seals (
            number INTEGER PRIMARY KEY,
            last_serial INTEGER NOT NULL,
            time INTEGER NOT NULL,
            jws TEXT NOT NULL,
            entries BLOB NOT NULL
        ) STRICT;
        """
    static let guards = """
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
    static let guardsOnPostgres = """
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
}
