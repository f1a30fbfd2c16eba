// Which known name somebody meant who typed another.

/// The known name that is fewest slips away: a letter more, less, other, or two swapped
/// (Damerau-Levenshtein, adjacent swaps only). Nil when none is within a third of the name's length,
/// and for words too long to be a slip.
package func nearestName(to typed: String, among names: [String]) -> String? {
    guard typed.utf8.count <= 64 else { return nil }
    let limit = max(1, typed.count / 3)
    let ranked = names.map { (name: $0, slips: slips(between: typed, and: $0)) }
    if let best = ranked.min(by: { $0.slips < $1.slips }), best.slips <= limit { return best.name }
    let completed = names.filter { typed.count > 3 && $0.hasPrefix(typed) }
    return completed.count == 1 ? completed[0] : nil
}

private func slips(between left: String, and right: String) -> Int {
    let left = Array(left.utf8)
    let right = Array(right.utf8)
    var older: [Int] = []
    var previous = Array(0...right.count)
    for row in left.indices {
        var current = [row + 1]
        for column in right.indices {
            let isSame = left[row] == right[column]
            var cost = min(
                previous[column] + (isSame ? 0 : 1), previous[column + 1] + 1, current[column] + 1)
            if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                cost = min(cost, older[column - 1] + 1)
            }
            current.append(cost)
        }
        older = previous
        previous = current
    }
    return previous[right.count]
}
