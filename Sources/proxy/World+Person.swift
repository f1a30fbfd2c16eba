// Whether somebody sits here.

import AuthCore

extension World {
    /// For a proxy that runs: a page may be opened for them.
    var person: PersonPresence {
        PersonPresence.detect(
            environment: environment, browser: nil, hasTerminal: isConversation,
            isProgram: isProgram)
    }
}
