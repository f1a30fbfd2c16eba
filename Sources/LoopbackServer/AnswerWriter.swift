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
        let persists = rules.persists && !response.closesConnection
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
        let hasBody = response.status != 204 && response.status != 304
        if hasBody {
            HeadWriter.appendFraming(.length(UInt64(response.body.count)), into: &output)
        }
        HeadWriter.appendEnd(into: &output)
        if hasBody && !rules.isHead {
            response.body.withUnsafeBytes { output.append($0) }
        }
        return persists
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
