package import Primitives

/// Which PostgreSQL database to use, and how.
package struct PostgresConfiguration: Sendable {
    /// The URL in libpq's form: `postgres://user:password@host:port/database?sslmode=verify-full`. It may contain a
    /// password.
    package var url: Secret
    /// The most connections, 2 to 256: half of them write, half read. They are opened when needed.
    package var poolSize: Int
    /// The time limit of one statement. The server cancels it then; if the server does not respond, the connection is
    /// closed.
    package var statementTimeout: Duration
    /// The time limit of one attempt to connect.
    package var connectTimeout: Duration
    /// The most writes that share one commit.
    package var maximumBatch: Int
    /// The most calls that may wait, for writes and for reads each; a call beyond them is refused as `overloaded`.
    package var maximumWaiting: Int
    /// The longest time that a call waits for a connection; then it is refused as `overloaded`.
    package var maximumWait: Duration

    package init(
        url: Secret, poolSize: Int = 8, statementTimeout: Duration = .seconds(5),
        connectTimeout: Duration = .seconds(5), maximumBatch: Int = 32, maximumWaiting: Int = 4_096,
        maximumWait: Duration = .seconds(5)
    ) {
        self.url = url
        self.poolSize = poolSize
        self.statementTimeout = statementTimeout
        self.connectTimeout = connectTimeout
        self.maximumBatch = maximumBatch
        self.maximumWaiting = maximumWaiting
        self.maximumWait = maximumWait
    }
}
