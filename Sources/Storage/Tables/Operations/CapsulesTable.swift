/// The table `capsules`: what became of failed sign-ins, for administrators. Its statements are in the module
/// `Capsules`.
enum CapsulesTable {
    // The serials are in the order of time, so that the time needs no index. The index by cause has all that a removal
    // looks at, so that it reads no contents.
    static let schema = """
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
