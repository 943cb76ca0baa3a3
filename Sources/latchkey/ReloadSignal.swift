import Dispatch
import Foundation

/// Does something at each SIGHUP, one after another, as long as it is held.
final class ReloadSignal {
    private let source: any DispatchSourceSignal

    init(_ reload: @escaping @Sendable () -> Void) {
        // Without this the default action, to end the process, would come before the source.
        signal(SIGHUP, SIG_IGN)
        source = DispatchSource.makeSignalSource(signal: SIGHUP, queue: DispatchQueue(label: "reload"))
        source.setEventHandler(handler: reload)
        source.resume()
    }

    deinit {
        source.cancel()
    }
}
