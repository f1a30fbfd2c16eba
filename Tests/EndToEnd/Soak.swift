// Long versions of the tests of endurance. The suite runs short ones, so that it stays quick;
// `make soak` sets SOAK=1 and takes its time.

import Glibc

enum Soak {
    static let isOn = getenv("SOAK") != nil

    static func times(_ short: Int, soaking long: Int) -> Int { isOn ? long : short }
}
