// Inlined, because a call in another module is generic: five of them, as a sign-in has, cost 6 thousand instructions.

/// The value of a call, whose error is told as another one.
@inlinable @inline(__always)
package func mappingErrors<Value, Cause: Error, Failure: Error>(
    _ call: @autoclosure () throws(Cause) -> Value, to failure: (Cause) -> Failure
) throws(Failure) -> Value {
    do throws(Cause) {
        return try call()
    } catch {
        throw failure(error)
    }
}

/// The value of an asynchronous call, whose error is told as another one.
@inlinable @inline(__always)
package func mappingErrors<Value, Cause: Error, Failure: Error>(
    awaiting call: @autoclosure () async throws(Cause) -> Value, to failure: (Cause) -> Failure
) async throws(Failure) -> Value {
    do throws(Cause) {
        return try await call()
    } catch {
        throw failure(error)
    }
}

extension Result {
    /// How an asynchronous call ended.
    @inlinable @inline(__always)
    package init(awaiting call: @autoclosure () async throws(Failure) -> Success) async {
        do throws(Failure) {
            self = .success(try await call())
        } catch {
            self = .failure(error)
        }
    }
}
