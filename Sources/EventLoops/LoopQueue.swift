import CLatchkeySystem
import Dispatch

/// The Dispatch queue of an event loop: waits, has the loop take its turn, and returns once the loop is released.
///
/// The queue runs one block, for as long as the loop lives, because a block of Dispatch's for each turn would cost a
/// second context switch. A serial queue of its own gets a worker whatever else runs, up to 255 in a process, of which
/// ``EventLoop/maximumCount`` may be loops. Workers take no signals.
enum LoopQueue {
    /// What the block holds: never the loop itself while it waits, or no loop would be released.
    ///
    /// Sendable without the compiler's check: only the block uses it.
    private final class Context: @unchecked Sendable {
        weak var loop: EventLoop?
        let poller: Poller
        let label: String

        init(loop: EventLoop, poller: Poller, label: String) {
            self.loop = loop
            self.poller = poller
            self.label = label
        }
    }

    static func start(_ loop: EventLoop, poller: Poller, label: String) {
        let context = Context(loop: loop, poller: poller, label: label)
        DispatchQueue(label: label, qos: .userInitiated).async { run(context) }
    }

    private static func run(_ context: Context) {
        csystem_name_thread(context.label)
        // Not released between two turns while there is work.
        var busy: EventLoop?
        var milliseconds: Int32 = 0
        while true {
            let count = context.poller.wait(milliseconds: milliseconds)
            guard let loop = busy ?? context.loop else { return }
            csystem_set_current_loop(Unmanaged.passUnretained(loop).toOpaque())
            milliseconds = loop.turn(events: count)
            // Before the loop may be released.
            csystem_set_current_loop(nil)
            busy = loop.hasWork ? loop : nil
        }
    }
}
