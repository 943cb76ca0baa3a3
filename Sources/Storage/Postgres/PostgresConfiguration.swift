public import Primitives
import StorageModel

/// Which PostgreSQL database to use, and how.
public struct PostgresConfiguration: Sendable {
    /// As libpq takes it: `postgres://user:password@host:port/database?sslmode=verify-full`. It may hold a password.
    public var url: Secret
    /// The most connections, 2 to 256: a half writes, the rest reads. They are made when they are needed.
    public var poolSize: Int
    /// For one statement. The server is told to stop it then; should it not answer, the connection is given up.
    public var statementTimeout: Duration
    /// For one attempt to connect.
    public var connectTimeout: Duration
    /// The most writes that share one commit.
    public var maximumBatch: Int
    /// The most calls that may wait, for writes and for reads each; a call beyond them is refused as `overloaded`.
    public var maximumWaiting: Int

    public init(
        url: Secret, poolSize: Int = 8, statementTimeout: Duration = .seconds(5),
        connectTimeout: Duration = .seconds(5), maximumBatch: Int = 32, maximumWaiting: Int = 4_096
    ) {
        self.url = url
        self.poolSize = poolSize
        self.statementTimeout = statementTimeout
        self.connectTimeout = connectTimeout
        self.maximumBatch = maximumBatch
        self.maximumWaiting = maximumWaiting
    }
}
