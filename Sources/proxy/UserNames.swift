// Users and groups by name or number (getpwnam(3), getgrnam(3)).

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

enum UserNames {
    /// Nil for a name that this machine does not know.
    static func user(_ text: String) -> UInt32? {
        if let number = UInt32(text) { return number }
        // One thread reads names, while listeners are bound.
        return getpwnam(text)?.pointee.pw_uid
    }

    static func group(_ text: String) -> UInt32? {
        if let number = UInt32(text) { return number }
        return getgrnam(text)?.pointee.gr_gid
    }
}
