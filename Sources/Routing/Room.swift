// Placeholder until the room has its first file.
package struct RouteTable: Sendable {}
