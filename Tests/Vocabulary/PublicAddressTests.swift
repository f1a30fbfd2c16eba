import Testing
import Vocabulary

@Suite struct `Public address` {
    @Test(arguments: [
        "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "127.0.0.1", "127.9.9.9",
        "169.254.169.254", "168.63.129.16", "100.64.0.1", "0.0.0.0", "192.0.0.8", "198.18.0.1",
        "198.19.255.255",
        "224.0.0.1", "255.255.255.255", "240.0.0.1", "::", "::1", "fe80::1", "fc00::1", "fd12::1",
        "ff02::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "2002:a00:1::",
        "2002:7f00:1::1", "2001::1", "fec0::1", "4000::1",
        // Other spellings of 127.0.0.1 that resolvers understand.
        "2130706433", "127.1", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "1.2.3.4.5",
        "::ffff:7f00:1",
        "localhost", "x.localhost", "printer", "printer.local", "a.internal", "nas.home.arpa",
        "host.localdomain", "", "a.", "127.0.0.1.",
    ])
    func `is none of somebody's own network`(host: String) {
        #expect(!PublicAddress.mayBePublic(host))
    }

    @Test(arguments: [
        "8.8.8.8", "172.15.0.1", "172.32.0.1", "192.167.255.255", "100.63.255.255", "100.128.0.1",
        "126.255.255.255", "128.0.0.1", "169.253.255.255", "169.255.0.1", "223.255.255.255",
        "2001:4860:4860::8888", "2606:4700::1", "::ffff:8.8.8.8", "64:ff9b::808:808",
        "2002:808:808::1", "id.example.com", "a.b", "localhost.example.com", "10.example.com",
        "xn--bcher-kva.example",
    ])
    func `is one of the Internet, or a name that may lead there`(host: String) {
        #expect(PublicAddress.mayBePublic(host))
    }
}
