package import Primitives
package import StorageModel

/// Where a server-initiated sign-in stands at a moment: a state machine without state of its own.
///
/// Pure, so that every row of the table is a row of its test.
package enum BackchannelAuthenticationStatus: String, Sendable, CaseIterable {
    case waiting
    case approved
    case done
    case failed
    case cancelled
    /// Waiting or approved, and its time is over.
    case expired

    package init(_ record: BackchannelAuthenticationRecord, at now: Timestamp) {
        switch record.phase {
        case .waiting: self = now < record.expiresAt ? .waiting : .expired
        case .approved: self = now < record.expiresAt ? .approved : .expired
        case .done: self = .done
        case .failed: self = .failed
        case .cancelled: self = .cancelled
        }
    }

    /// What happens to a sign-in.
    package enum Event: String, Sendable, CaseIterable {
        /// The carrier vouches for the user.
        case approval
        /// The carrier says no.
        case refusal
        /// The client asks how it stands.
        case poll
        /// The client wants the carrier to be asked again.
        case retry
        /// The client does not want it any more.
        case cancellation
    }

    /// What comes of an event.
    package enum Step: Sendable, Hashable {
        case becomes(BackchannelAuthenticationRecord.Phase)
        /// Nothing changes, and nobody is told off: duplicates, late news, and polls before there is news.
        case stays
        /// The client cannot have that.
        case refused(BackchannelAuthenticationStatus)
    }

    package func after(_ event: Event) -> Step {
        switch (self, event) {
        case (.waiting, .approval): .becomes(.approved)
        case (.waiting, .refusal): .becomes(.failed)
        // A carrier that tells twice, or too late, has told nothing.
        case (_, .approval), (_, .refusal): .stays

        case (.waiting, .poll), (.done, .poll): .stays
        case (.approved, .poll): .becomes(.done)
        case (_, .poll): .refused(self)

        case (.waiting, .retry), (.failed, .retry), (.expired, .retry): .becomes(.waiting)
        case (_, .retry): .refused(self)

        case (.cancelled, .cancellation): .stays
        case (.done, .cancellation): .refused(self)
        case (_, .cancellation): .becomes(.cancelled)
        }
    }
}
