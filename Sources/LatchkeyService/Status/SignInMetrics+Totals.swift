import LatchkeyAPI
import SignIn

extension SignInMetrics {
    /// All sign-ins by kind of outcome.
    var totals: ServiceStatus.Outcomes {
        var totals = ServiceStatus.Outcomes()
        for (outcome, count) in counts {
            switch outcome {
            case .signedIn: totals.signedIn &+= count
            case .signedUp: totals.signedUp &+= count
            case .mustRegister, .linked, .wasLinked, .authorized: totals.other &+= count
            case .denied: totals.denied &+= count
            case .refused(.invalidIDToken), .refused(.issuerMismatch), .refused(.carrierError),
                .refused(.carrierTimeout), .refused(.temporarilyUnavailable), .refused(.serverError):
                totals.failed &+= count
            case .refused: totals.refused &+= count
            }
        }
        return totals
    }
}

extension ServiceStatus.Outcomes {
    static func - (left: Self, right: Self) -> Self { combine(left, right, &-) }

    static func + (left: Self, right: Self) -> Self { combine(left, right, &+) }

    private static func combine(_ left: Self, _ right: Self, _ operation: (UInt64, UInt64) -> UInt64) -> Self {
        var result = Self()
        result.signedIn = operation(left.signedIn, right.signedIn)
        result.signedUp = operation(left.signedUp, right.signedUp)
        result.other = operation(left.other, right.other)
        result.denied = operation(left.denied, right.denied)
        result.refused = operation(left.refused, right.refused)
        result.failed = operation(left.failed, right.failed)
        return result
    }
}
