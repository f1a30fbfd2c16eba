// The face of our own answers for a person whose browser opened an address of the proxy's: the same facts as
// in the problem document, as a page. Programs never see it.

import Bytes
import HTTPWire
import Pages

extension MessageHead {
    /// Whether a browser opens the address for a person: its first wish is a page.
    func asksForPage(in bytes: UnsafeRawBufferPointer) -> Bool {
        let wish: StaticString = "text/html"
        guard method == .get, let accept = value(of: .accept, in: bytes),
            accept.count >= wish.utf8CodeUnitCount
        else { return false }
        return ASCII.equalsIgnoringCase(
            UnsafeRawBufferPointer(rebasing: accept[..<wish.utf8CodeUnitCount]), wish)
    }
}

extension ReplyText {
    /// The page, with the fields that must go with it.
    func writePage(into body: inout ByteBuffer, fields: inout ByteBuffer) {
        let (text, own) = page.written()
        body.append(text: text)
        fields.append("Content-Type: text/html; charset=utf-8\r\n")
        for field in own {
            fields.append(text: field.name)
            fields.append(": ")
            fields.append(text: field.value)
            fields.append("\r\n")
        }
    }

    /// What happened and what to do next.
    var page: HTMLPage {
        var parts: [MessagePage.Part] = [.text(Self.sentence(detail))]
        if let loginURL {
            if let userCode {
                parts += [.text("Open the provider's page and type:"), .digits(userCode)]
            }
            parts.append(.links([(userCode == nil ? "Log in" : "Open the page", loginURL)]))
        }
        if let command {
            parts += [
                .text(loginURL == nil ? "In a terminal:" : "Or in a terminal:"), .command(command),
            ]
        }
        if let hint, command == nil { parts.append(.text(Self.sentence(hint))) }
        parts.append(
            .small(
                "\(status) \(code): answered by Credential Proxy on this machine, not by the API."))
        let needsPerson = command != nil || loginURL != nil
        let isTheirs = status >= 500 && !needsPerson
        return MessagePage(
            needsPerson ? .bad : isTheirs ? .warn : .calm,
            needsPerson ? .person : isTheirs ? .warning : .cross, title.description, parts
        ).page
    }

    /// Messages are lower case without a full stop.
    private static func sentence(_ text: String) -> String {
        text.prefix(1).uppercased() + text.dropFirst() + (text.hasSuffix(".") ? "" : ".")
    }
}
