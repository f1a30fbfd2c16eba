// Looking into lists without ending the whole run when something is missing.

import Support

extension Array {
    /// An element that a test counts on; a missing one fails the test instead of ending the run.
    func item(_ index: Int) throws -> Element {
        guard indices.contains(index) else {
            throw Failure.malformed("there are \(count) and not \(index + 1)")
        }
        return self[index]
    }

    /// `allSatisfy`, which `#expect` cannot take apart.
    func allSatisfyNow(_ predicate: (Element) -> Bool) -> Bool { allSatisfy(predicate) }
}
