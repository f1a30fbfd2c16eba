// Writes an answer: the status line, the handler's fields, and what the server itself has to say of
// length and connection.

import Bytes
import HTTPWire

enum AnswerWriter {
    /// What a handler may not set, since the server knows better.
    private static let ownFields = KnownFieldSet.hopByHop.union([.contentLength])

    /// Appends the whole answer; returns whether the connection goes on after it.
    static func append(
        _ response: ServerResponse, _ rules: AnswerRules, into output: inout ByteBuffer
    ) -> Bool {
        guard isSound(response) else {
            return append(
                ServerResponse(status: 500, text: "the answer could not be sent\n"), rules,
                into: &output)
        }
        let hasBody = response.status != 204 && response.status != 304
        let isOpen = hasBody && response.rest != nil
        // A client of HTTP/1.0 learns the end of an open body from the end of the connection.
        let persists =
            rules.persists && !response.closesConnection && !(isOpen && rules.isHTTP10)
        HeadWriter.appendStatusLine(response.status, into: &output)
        for field in response.fields where !ownFields.contains(known(field.name)) {
            output.append(text: field.name)
            output.append(": ")
            output.append(text: field.value)
            output.append("\r\n")
        }
        if !persists {
            output.append("Connection: close\r\n")
        } else if rules.isHTTP10 {
            output.append("Connection: keep-alive\r\n")
        }
        if isOpen {
            HeadWriter.appendFraming(rules.isHTTP10 ? .untilClose : .chunked, into: &output)
        } else if hasBody {
            HeadWriter.appendFraming(.length(UInt64(response.body.count)), into: &output)
        }
        HeadWriter.appendEnd(into: &output)
        if isOpen && !rules.isHead {
            append(piece: response.body, rules, into: &output)
        } else if hasBody && !rules.isHead {
            response.body.withUnsafeBytes { output.append($0) }
        }
        return persists
    }

    /// Appends a piece of an open body; nil ends it. An empty piece is nothing, since an empty chunk
    /// would be the end.
    static func append(
        piece: [UInt8]?, _ rules: AnswerRules, into output: inout ByteBuffer
    ) {
        guard let piece else {
            if !rules.isHTTP10 { HeadWriter.appendLastChunk(into: &output) }
            return
        }
        guard !piece.isEmpty else { return }
        if !rules.isHTTP10 { HeadWriter.appendChunkHead(size: piece.count, into: &output) }
        piece.withUnsafeBytes { output.append($0) }
        if !rules.isHTTP10 { HeadWriter.appendChunkEnd(into: &output) }
    }

    /// Whether the answer is one message and no more.
    private static func isSound(_ response: ServerResponse) -> Bool {
        (200...599).contains(response.status)
            && response.fields.allSatisfy { field in
                !field.name.isEmpty
                    && field.name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != ASCII.colon }
                    && field.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == ASCII.tab }
            }
    }

    private static func known(_ name: String) -> KnownField {
        var name = name
        return name.withUTF8 { KnownField.named(UnsafeRawBufferPointer($0)) }
    }
}
