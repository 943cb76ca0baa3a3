public import StorageModel

/// What a store has to do, and has done.
public struct StoreStatistics: Sendable, Hashable {
    /// Calls that wait for a connection to read with.
    public var readsWaiting = 0
    /// Calls that wait for their turn to write.
    public var writesWaiting = 0
    /// Commits, each of one write or several.
    public var commits = 0

    public init() {}
}

/// A call to a store that has ended.
public struct StoreCall: Sendable, Hashable {
    public enum Kind: Sendable, Hashable, CaseIterable { case read, write }

    public let kind: Kind
    /// From the call to its end, waiting included.
    public let nanoseconds: UInt64
    /// Why it failed, if it did.
    public let failure: StorageError.Code?
}

/// Is told of every call as it ends; has to be quick.
public typealias StoreObserver = @Sendable (StoreCall) -> Void

/// Runs before and after each call that reaches a queue, and may delay it or fail it: tests script a store's failures so.
package typealias StoreInterceptor =
    @Sendable (_ operation: StaticString, StoreCall.Kind, InterceptedMoment) async throws(StorageError) -> Void

package enum InterceptedMoment: Sendable {
    case before
    /// The call has succeeded.
    case after
}

/// Who follows a store's calls.
struct StoreHooks: Sendable {
    var observer: StoreObserver?
    var interceptor: StoreInterceptor?
}

extension SQLStore {
    public var statistics: StoreStatistics {
        var statistics = StoreStatistics()
        statistics.readsWaiting = reads.waitingCount
        statistics.writesWaiting = writes.waitingCount
        statistics.commits = writes.batchCount
        return statistics
    }
}
