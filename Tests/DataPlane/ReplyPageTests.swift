import Crossing
import Pages
import Testing
import Vocabulary

@testable import DataPlane

@Suite struct `A page in place of a problem document` {
    private func text(_ reply: LocalReply) -> String { reply.text.page.written().text }

    @Test func `says what happened, what to do, and who says it`() {
        let page = text(
            .credential(
                .loginRequired(
                    url: "https://login.example/a?b=1&c=\"", command: "proxy login github",
                    retryAfterSeconds: 10)))
        for words in [
            "href=\"https://login.example/a?b=1&amp;c=&quot;\"", "proxy login github",
            "503 login_required: answered by Credential Proxy", "Log in</a>",
        ] {
            #expect(page.contains(words), "\(words)")
        }
        #expect(!page.contains("<script"))
        #expect(text(.routeNotFound).contains("404 route_not_found"))
        #expect(text(.dial(.refused)).contains("class=\"warn\""))
    }

    @Test func `shows a code that is typed elsewhere`() {
        let page = text(
            .credential(
                .loginRequired(
                    url: "https://login.example/device", userCode: "WDJB-MJHT",
                    command: "proxy login tv", retryAfterSeconds: 10)))
        #expect(page.contains("WDJB-MJHT"))
        #expect(page.contains("Open the page</a>"))
    }
}
