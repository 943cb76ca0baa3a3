import CLatchkeySystem
import Dispatch

/// The worker of an event loop: waits, has the loop take its turn, and returns once the loop is released.
///
/// A block of Dispatch's for each turn would cost a second context switch. Of the workers of this quality of service,
/// ``EventLoop/maximumCount`` may be loops.
enum LoopQueue {
    static func start(_ loop: EventLoop, poller: Poller, label: String) {
        // The block never holds the loop while it waits, or no loop would be released.
        Worker.start(label, quality: .userInitiated) { [weak loop] in
            // Not released between two turns while there is work.
            var busy: EventLoop?
            var milliseconds: Int32 = 0
            while true {
                let count = poller.wait(milliseconds: milliseconds)
                guard let loop = busy ?? loop else { return }
                csystem_set_current_loop(Unmanaged.passUnretained(loop).toOpaque())
                milliseconds = loop.turn(events: count)
                // Before the loop may be released.
                csystem_set_current_loop(nil)
                busy = loop.hasWork ? loop : nil
            }
        }
    }
}
