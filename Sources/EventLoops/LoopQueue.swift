import CLatchkeySystem
import Dispatch

/// The Dispatch queue of an event loop: waits, has the loop take its turn, and returns once the loop is released.
///
/// The queue runs one block, for as long as the loop lives, because a block of Dispatch's for each turn would cost a
/// second context switch. A separate serial queue gets a worker whatever else runs, up to 255 in a process, of which
/// ``EventLoop/maximumCount`` may be loops. Workers take no signals.
enum LoopQueue {
    static func start(_ loop: EventLoop, poller: Poller, label: String) {
        // The block never holds the loop while it waits, or no loop would be released.
        DispatchQueue(label: label, qos: .userInitiated).async { [weak loop] in
            csystem_name_thread(label)
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
