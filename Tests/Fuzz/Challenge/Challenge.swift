// Feeds the challenge reader. Whatever the bytes are, it returns challenges or throws; written down
// again as RFC 9110 section 11.6.1 has them, those are read as the same ones.

import HTTPWire

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    guard let challenges = read(bytes) else { return 0 }
    for challenge in challenges {
        precondition(!challenge.scheme.isEmpty, "a challenge has a scheme")
        precondition(challenge.scheme == challenge.scheme.lowercased(), "in lower case")
        precondition(
            challenge.token68 == nil || challenge.parameters.isEmpty, "a blob stands alone")
    }
    let text = Array(challenges.map(written).joined(separator: ", ").utf8)
    let again = text.withUnsafeBytes { read($0) }
    precondition(again == challenges, "what was written is read as what it was")
    return 0
}

private func read(_ bytes: UnsafeRawBufferPointer) -> [Challenge]? {
    var reader = ChallengeReader(bytes)
    var challenges: [Challenge] = []
    do throws(WireError) {
        while let challenge = try reader.next() { challenges.append(challenge) }
        return challenges
    } catch {
        switch error {
        case .invalidChallenge, .tooManyChallengeParts: return nil
        default: preconditionFailure("an error of other parsers: \(error)")
        }
    }
}

private func written(_ challenge: Challenge) -> String {
    if let blob = challenge.token68 { return "\(challenge.scheme) \(blob)" }
    let parameters = challenge.parameters.map { parameter in
        var text = parameter.name + "=\""
        for scalar in parameter.value.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { text += "\\" }
            text.unicodeScalars.append(scalar)
        }
        return text + "\""
    }
    return parameters.isEmpty
        ? challenge.scheme : challenge.scheme + " " + parameters.joined(separator: ", ")
}
