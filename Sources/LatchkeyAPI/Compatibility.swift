/// Where answers follow the published example API rather than docs/.
public struct Compatibility: Sendable, Hashable {
    /// The outcome of a server-initiated sign-in is answered with 302 (without `Location`) instead of 200.
    public var async302 = false
    /// The paths of Zephr's OAuth sign-in are there, too.
    public var zephr = false

    public init() {}
}
