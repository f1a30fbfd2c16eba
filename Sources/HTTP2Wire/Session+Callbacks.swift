// What nghttp2 calls back, noted as events. A header block is never interleaved with other frames, so one
// half-read head is enough for a session.

import Bytes
import CNGHTTP2
import HTTPWire

extension Session {
    // SAFETY: made once under Swift's lock for globals, then only read.
    nonisolated(unsafe) static let callbacks: OpaquePointer = {
        var made: OpaquePointer?
        guard nghttp2_session_callbacks_new(&made) == 0, let callbacks = made else {
            preconditionFailure("out of memory")
        }
        nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { _, header, data in
            Session.with(data) { $0.frameBegins(header!.pointee) }
            return 0
        }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, data in
            Session.with(data) { $0.headersBegin(frame!.pointee) }
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameCount, value, valueCount, flags, data in
            Session.with(data) {
                $0.heads.add(
                    UnsafeRawBufferPointer(start: name, count: nameCount),
                    UnsafeRawBufferPointer(start: value, count: valueCount),
                    isNeverIndexed: UInt32(flags) & NGHTTP2_NV_FLAG_NO_INDEX.rawValue != 0)
                guard $0.heads.isEndless else { return 0 }
                $0.cutHead(frame!.pointee.hd.stream_id)
                return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
            }
        }
        // Without this nghttp2 would drop a field that it takes for invalid and go on without it.
        nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) {
            _, _, _, _, _, _, _, _ in NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, data in
            Session.with(data) { $0.frameCame(frame!) }
            return 0
        }
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) {
            _, frame, _, data in
            Session.with(data) {
                $0.strain.add()
                $0.stream(frame!.pointee.hd.stream_id)?.isBroken = true
                $0.heads.drop()
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            _, _, id, bytes, count, data in
            Session.with(data) {
                $0.dataCame(id, UnsafeRawBufferPointer(start: bytes, count: count))
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, data in
            Session.with(data) { $0.frameSent(frame!.pointee) }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, code, data in
            Session.with(data) { $0.close(id, ErrorCode(rawValue: code)) }
            return 0
        }
        return callbacks
    }()

    /// Lends the session for a call, without counting that it is in use: whoever called nghttp2 holds it.
    private static func with<Result>(
        _ data: UnsafeMutableRawPointer?, _ body: (Session) -> Result
    ) -> Result {
        // SAFETY: see Session.init.
        Unmanaged<Session>.fromOpaque(data!)._withUnsafeGuaranteedRef(body)
    }

    // MARK: Frames that come

    private func frameBegins(_ header: nghttp2_frame_hd) {
        let type = UInt32(header.type)
        switch type {
        case NGHTTP2_CONTINUATION.rawValue: break
        case NGHTTP2_HEADERS.rawValue: judge(header.stream_id)
        case NGHTTP2_DATA.rawValue:
            if isServer { dataFrames.begin(header.stream_id) }
        case NGHTTP2_WINDOW_UPDATE.rawValue: strain.noteWindowUpdate()
        case NGHTTP2_SETTINGS.rawValue:
            if UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue == 0 { strain.add(4) }
        case NGHTTP2_PING.rawValue:
            if UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue == 0 { strain.notePings(1) }
        case NGHTTP2_RST_STREAM.rawValue: strain.noteReset()
        case NGHTTP2_GOAWAY.rawValue: break
        default: strain.add()
        }
    }

    /// Messages go on on open streams only.
    private func judge(_ id: Int32) {
        if isServer, stream(id) == nil, let code = history.judge(id) { violation = code }
    }

    /// The same for DATA, which nghttp2 begins on open streams alone. Frames of unknown kinds are earned as PINGs
    /// are: some clients send a priority with each request (RFC 9218 section 7.1).
    func judgeDroppedData() {
        dataFrames.settle()
        strain.notePings(dataFrames.takeUnknown())
        guard !dataFrames.dropped.isEmpty else { return }
        for id in dataFrames.dropped { judge(id) }
        dataFrames.forgetDropped()
    }

    private func headersBegin(_ frame: nghttp2_frame) {
        guard UInt32(frame.hd.type) == NGHTTP2_HEADERS.rawValue else { return }
        switch frame.headers.cat {
        case NGHTTP2_HCAT_REQUEST:
            let stream = SessionStream(id: frame.hd.stream_id)
            nghttp2_session_set_stream_user_data(handle, stream.id, stream.address)
            open(stream)
            heads.begin(.request)
        case NGHTTP2_HCAT_RESPONSE: heads.begin(.response)
        default:
            // Behind an interim response comes another head, behind the final one trailers.
            let isTrailers = stream(frame.hd.stream_id)?.hasHead ?? true
            heads.begin(isTrailers ? .trailers : .response)
        }
    }

    private func frameCame(_ pointer: UnsafePointer<nghttp2_frame>) {
        let header = pointer.pointee.hd
        let ends = UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue: headersCame(header.stream_id, ends)
        case NGHTTP2_DATA.rawValue:
            guard ends else {
                // Nothing, or nothing but padding.
                if header.length <= pointer.pointee.data.padlen { strain.add() }
                return
            }
            guard let stream = stream(header.stream_id) else { return }
            stream.hasEnded = true
            if !markLastDataAsEnd(of: stream) && !markLastHeadAsEnd(of: stream) {
                note(
                    NotedEvent(
                        UnsafeRawBufferPointer(start: nil, count: 0), of: stream, endsStream: true))
            }
        case NGHTTP2_RST_STREAM.rawValue: stream(header.stream_id)?.hasEnded = true
        case NGHTTP2_GOAWAY.rawValue:
            let code = ErrorCode(rawValue: pointer.pointee.goaway.error_code)
            note(NotedEvent(.goingAway, code: code))
        default: break
        }
    }

    private func headersCame(_ id: Int32, _ ends: Bool) {
        guard let stream = stream(id) else { return heads.drop() }
        if ends { stream.hasEnded = true }
        stream.neverIndexed.formUnion(heads.neverIndexed)
        countExcess()
        if stream.hasHead {
            let range = heads.finish(endsStream: ends)
            // Trailers that break a limit are a message that broke off.
            if heads.flaw != nil { return reset(stream, .protocolError) }
            note(NotedEvent(.trailers, of: stream, range))
            return
        }
        let isInterim = (100..<200).contains(heads.status)
        let range = heads.finish(endsStream: ends)
        if isInterim {
            if heads.flaw != nil { return reset(stream, .protocolError) }
            return note(NotedEvent(.interim, of: stream, range))
        }
        stream.hasHead = true
        stream.isTunnel = heads.isTunnel
        note(NotedEvent(.head, of: stream, range, endsStream: ends, flaw: heads.flaw))
    }

    /// A head is far beyond its limit: nghttp2 keeps the compression's state up to its end, and looks at
    /// nothing in it any more.
    private func cutHead(_ id: Int32) {
        countExcess()
        if let stream = stream(id) {
            if !isServer && !stream.hasHead {
                let range = heads.finish(endsStream: true)
                note(NotedEvent(.head, of: stream, range, endsStream: true, flaw: heads.flaw))
            }
            stream.isBroken = true
            reset(stream, .enhanceYourCalm)
        }
        heads.drop()
    }

    /// What clients send behind the limit is work for nothing. An upstream's other answers must not end with
    /// one that is too large.
    private func countExcess() {
        if isServer && heads.excess > 0 { strain.add(1 + heads.excess / 1024) }
    }

    private func dataCame(_ id: Int32, _ bytes: UnsafeRawBufferPointer) {
        // What the whole connection may send grows again at once: a stream whose data goes nowhere is held
        // back by its own window and holds up no other.
        nghttp2_session_consume_connection(handle, bytes.count)
        guard let stream = stream(id) else { return }
        note(NotedEvent(bytes, of: stream, endsStream: false))
    }

    // MARK: Frames that go

    private func frameSent(_ frame: nghttp2_frame) {
        let ends = UInt32(frame.hd.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
        switch UInt32(frame.hd.type) {
        case NGHTTP2_DATA.rawValue: strain.noteDataSent()
        case NGHTTP2_HEADERS.rawValue:
            strain.noteHeadSent()
            if frame.headers.cat == NGHTTP2_HCAT_REQUEST { strain.noteStreamBegun() }
            stream(frame.hd.stream_id)?.isBegun = true
        case NGHTTP2_RST_STREAM.rawValue:
            // A peer can have us reset its streams by breaking rules (CVE-2025-8671).
            switch ErrorCode(rawValue: frame.rst_stream.error_code) {
            case .protocolError, .flowControlError, .streamClosed, .frameSizeError: strain.add()
            default: break
            }
        default: return
        }
        if ends, let stream = stream(frame.hd.stream_id) {
            stream.isSent = true
            if stream.resetsWhenSent && !stream.hasEnded { reset(stream, .none) }
        }
    }
}
