// The transfers that libcurl has in hand, each with the attempts that are made for it. The first attempt
// that connects ends the others; one that cannot connect counts only when no other is left.

import CCurl

/// Belongs to the driver's thread. Empty it before the multi handle goes.
final class RunningTransfers {
    private final class Run {
        let transfer: any Transfer
        var attempts: [EasyHandle] = []

        init(_ transfer: any Transfer) { self.transfer = transfer }
    }

    private let multi: UnsafeMutableRawPointer
    private var runs: [UnsafeMutableRawPointer: Run] = [:]

    init(_ multi: UnsafeMutableRawPointer) { self.multi = multi }

    var isEmpty: Bool { runs.isEmpty }

    func begin(_ transfer: any Transfer) {
        attempt(Run(transfer))
    }

    /// Lets libcurl do what it can without waiting.
    func perform() {
        var count: Int32 = 0
        curl_multi_perform(multi, &count)
        conclude()
        for (pointer, run) in runs where run.attempts.first?.pointer == pointer {
            guard let race = run.attempts.first?.race else { continue }
            if let winner = race.winner {
                for loser in run.attempts where loser !== winner { remove(loser) }
            } else if race.wantsAnother() {
                attempt(run)
            }
        }
    }

    /// The transfers that were under way.
    func removeAll() -> [any Transfer] {
        var transfers: [any Transfer] = []
        for (pointer, run) in runs {
            if run.attempts.first?.pointer == pointer { transfers.append(run.transfer) }
            curl_multi_remove_handle(multi, pointer)
        }
        runs = [:]
        return transfers
    }

    private func attempt(_ run: Run) {
        guard let handle = run.transfer.begin() else { return }
        guard curl_multi_add_handle(multi, handle.pointer) == CURLM_OK else {
            if run.attempts.isEmpty { run.transfer.conclude(handle, CURLE_FAILED_INIT)() }
            return
        }
        run.attempts.append(handle)
        runs[handle.pointer] = run
    }

    private func remove(_ attempt: EasyHandle) {
        curl_multi_remove_handle(multi, attempt.pointer)
        if let run = runs.removeValue(forKey: attempt.pointer) {
            run.attempts.removeAll { $0 === attempt }
        }
    }

    private func conclude() {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let pointer = message.pointee.easy_handle,
                let run = runs[pointer],
                let handle = run.attempts.first(where: { $0.pointer == pointer })
            else { continue }
            // The message is gone once its handle is removed (curl_multi_info_read(3)).
            let code = CCurl_result(message)
            if run.attempts.count > 1, handle.hasNoConnection(code) {
                remove(handle)
                continue
            }
            let finish = run.transfer.conclude(handle, code)
            for attempt in run.attempts { remove(attempt) }
            finish()
        }
    }
}

extension EasyHandle {
    /// Whether it ended without a connection, by its own doing or since another one was first.
    fileprivate func hasNoConnection(_ code: CURLcode) -> Bool {
        guard !hasBegun else { return false }
        return switch code {
        case CURLE_COULDNT_CONNECT, CURLE_OPERATION_TIMEDOUT, CURLE_ABORTED_BY_CALLBACK: true
        default: false
        }
    }
}
