//! Which names say of a member, in arguments and in results alike, that it holds an id.

/// Whether a member of this name holds an id.
pub(crate) fn names_id(name: &str) -> bool {
    matches!(name, "id" | "uid" | "uuid" | "guid") || name.ends_with("_id") || name.ends_with("Id")
}
