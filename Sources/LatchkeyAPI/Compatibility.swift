/// Where responses follow the published example API rather than docs/.
public struct Compatibility: Sendable, Hashable {
    /// The outcome of a backchannel authentication gets 302 (without `Location`) instead of 200.
    public var async302 = false
    /// Responses are as the published Android example expects them: `unlinked_user` for an unknown user, and a profile
    /// whose attributes are objects with a `value`.
    public var android = false
    /// Also serves the paths of Zephr's OAuth sign-in.
    public var zephr = false

    /// All off.
    public init() {}
}
