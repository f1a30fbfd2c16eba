// The request target passes byte for byte (RFC 3986 sections 2.2, 3.4, 6.2.3; RFC 9112 section 3.2).

import Support
import Testing

@Suite(.ownThread) struct `Cases: URI` {
    @Test(arguments: [
        "/api/vhosts/%2F/perm%2fissions?next=%2Fa%2Fb",  // C013
        "/a//b/?redirect_uri=//x.example//y&empty", "/a?", "/a??",  // C035
        "/year=2020/$meta/a+b/(c);v=1,2/~u/%7Eu/caf%C3%A9?x=a:b;c|d",  // C036
        "/", "/?", "/a/", "//a", "/a%00b", "/%", "/%zz", "/a\"b<c>d\\e^f`g{h}i",
        "/a;b?c=d?e/f&g=h+i%20j", "/@127.0.0.1:1/", "/.hidden", "/a...b/..c",
    ])
    func `targets reach the upstream byte for byte (C013, C035, C036)`(target: String) throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let setup = try DirectSetup(to: upstream)
        let response = try setup.proxy.exchange("GET", target)
        #expect(response.status == 200, "\(response)")
        #expect(upstream.received.last?.hasPrefix(Octets("GET \(target) HTTP/1.1\r\n")) == true)
    }

    @Test func `a path of the upstream stands in front`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let setup = try DirectSetup(to: upstream, path: "/base/v1")
        for target in ["/", "/x%2Fy?z", "/?q"] {
            #expect(try setup.proxy.exchange("GET", target).status == 200)
        }
        #expect(
            upstream.requests.map(\.target) == ["/base/v1", "/base/v1/x%2Fy?z", "/base/v1?q"])
    }
}
