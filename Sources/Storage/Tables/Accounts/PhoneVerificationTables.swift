/// The tables `phone_verifications` and `pending_phone_verifications`. Their statements are in the module
/// `PhoneVerification`.
enum PhoneVerificationTables {
    // Rows of the last day. The number is empty if it never became known. The session's id, not its token, because a
    // refresh changes the token.
    static let ended = """
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
    static let pending = """
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
}
