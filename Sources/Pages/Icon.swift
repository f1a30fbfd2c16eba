// The few signs that pages show beside words, drawn in place so that no page asks for a file. None of
// them means anything without its word.

/// A sign in the colour of the text around it, hidden from screen readers.
package enum Icon: Sendable {
    case check, cycle, warning, person, cross, pause

    package var html: String {
        let lines =
            switch self {
            case .check: #"<path d="M5 12.5l4.5 4.5L19 7.5"/>"#
            case .cycle: #"<path d="M19 8.5A7.6 7.6 0 1 0 19.6 14M19.4 4v4.8h-4.8"/>"#
            case .warning: #"<path d="M12 4L21 19.5H3zM12 10v4.2M12 16.9v.2"/>"#
            case .person:
                #"<circle cx="12" cy="8" r="3.6"/><path d="M4.8 20c.7-4 3.6-6 7.2-6s6.5 2 7.2 6"/>"#
            case .cross: #"<path d="M6.5 6.5l11 11M17.5 6.5l-11 11"/>"#
            case .pause: #"<path d="M8.5 6v12M15.5 6v12"/>"#
            }
        return #"<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">"# + lines + "</svg>"
    }

    /// What goes through the proxy: a line into a ring.
    static let mark =
        #"<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="6.5"/>"#
        + #"<path d="M1.5 12h12M10.5 8.8l3.2 3.2-3.2 3.2"/></svg>"#

    /// The mark as a URL, so that no browser looks for one: at the proxy's own address that request would
    /// be the API's, with the credential.
    static let favicon =
        "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' "
        + "stroke='%235566e8' stroke-width='2.6' stroke-linecap='round' stroke-linejoin='round'%3E"
        + "%3Ccircle cx='12' cy='12' r='6.5'/%3E"
        + "%3Cpath d='M1.5 12h12M10.5 8.8l3.2 3.2-3.2 3.2'/%3E%3C/svg%3E"
}

/// The colour of what is said. The word says it as well.
package enum Tone: String, Sendable {
    /// Nothing to do.
    case good
    /// Goes on by itself.
    case calm
    /// Not well, and no person is needed yet.
    case warn
    /// Somebody has to do something.
    case bad
}
