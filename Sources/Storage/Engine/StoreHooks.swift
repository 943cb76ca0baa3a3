package import StorageModel

/// A completed call of a store.
package struct StoreCall: Sendable, Hashable {
    package enum Kind: Sendable, Hashable, CaseIterable { case read, write }

    package let kind: Kind
    /// The duration of the call, waiting included.
    package let nanoseconds: UInt64
    /// The failure's code, if it failed.
    package let failure: StorageError.Code?
}

/// Receives every call as it ends; must return quickly.
package typealias StoreObserver = @Sendable (StoreCall) -> Void

/// Runs before and after each call, and may delay or fail it: tests script a store's failures with it.
package typealias StoreInterceptor =
    @Sendable (_ operation: StaticString, StoreCall.Kind, InterceptedMoment) async throws(StorageError) -> Void

package enum InterceptedMoment: Sendable {
    case before
    /// The call has succeeded.
    case after
}

/// What follows a store's calls.
package struct StoreHooks: Sendable {
    let observer: StoreObserver?
    let interceptor: StoreInterceptor?

    package init(observer: StoreObserver? = nil, interceptor: StoreInterceptor? = nil) {
        self.observer = observer
        self.interceptor = interceptor
    }
}
