// From flags and surroundings to valid settings, or to every problem that the configuration has.

import Configuration
import CProcess
import Glibc

extension World {
    /// Empty when it has been removed; relative paths then fail with their own error.
    private static var workingDirectory: String {
        guard let path = getcwd(nil, 0) else { return "" }
        defer { free(path) }
        return String(cString: path)
    }

    private static var coreCount: Int { max(1, Int(cprocess_core_count())) }

    private var settingsSurroundings: Configuration.Surroundings {
        Configuration.Surroundings(
            environment: environment, directory: Self.workingDirectory,
            coreCount: Self.coreCount)
    }

    /// What these settings would be if they were read now; nil where they came from no file.
    func settings(
        _ settings: Settings, again request: SettingsRequest
    ) throws(CommandFailure) -> Settings? {
        do throws(ConfigurationError) {
            return try settings.again(request, in: settingsSurroundings)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// The configuration that the flags, the environment and the working directory lead to.
    func settings(for arguments: SettingsArguments) throws(CommandFailure) -> Settings {
        do throws(ConfigurationError) {
            return try Settings.load(arguments.request, in: settingsSurroundings)
        } catch {
            throw CommandFailure(error)
        }
    }
}

extension CommandFailure {
    fileprivate init(_ error: ConfigurationError) {
        self.init(
            .configuration, error.problems.map { .init(text: $0.description, hint: $0.hint) })
    }
}
