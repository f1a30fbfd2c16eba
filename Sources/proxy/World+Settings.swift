// From flags and surroundings to valid settings, or to every problem that the configuration has.

import Configuration

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension World {
    /// The configuration that the flags, the environment and the working directory lead to.
    func settings(for arguments: SettingsArguments) throws(CommandFailure) -> Settings {
        let surroundings = Configuration.Surroundings(
            environment: environment, directory: FileManager.default.currentDirectoryPath,
            coreCount: ProcessInfo.processInfo.activeProcessorCount)
        do throws(ConfigurationError) {
            return try Settings.load(arguments.request, in: surroundings)
        } catch {
            throw CommandFailure(
                .configuration,
                error.problems.map { .init(text: $0.description, hint: $0.hint) })
        }
    }
}
