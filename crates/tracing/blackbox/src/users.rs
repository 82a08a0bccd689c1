//! Users by name and number, as `/etc/passwd` has them; those of directories are known by their number.

use std::collections::BTreeMap;
use std::fs;

fn all() -> Vec<(String, u32)> {
    parsed(&fs::read_to_string("/etc/passwd").unwrap_or_default())
}

fn parsed(text: &str) -> Vec<(String, u32)> {
    let user = |line: &str| {
        let mut fields = line.split(':');
        Some((fields.next()?.to_owned(), fields.nth(1)?.parse().ok()?))
    };
    text.lines().filter_map(user).collect()
}

/// The number of a user, given as such or by name.
pub fn uid_of(text: &str) -> Option<u32> {
    let named = || all().into_iter().find(|(name, _)| name == text).map(|(_, uid)| uid);
    text.parse().ok().or_else(named)
}

/// The name of each user that has one.
pub fn user_names() -> BTreeMap<u32, String> {
    all().into_iter().rev().map(|(name, uid)| (uid, name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_none_are_left_out() {
        let text = "root:x:0:0:root:/root:/bin/sh\n\n# x\n+@staff\nwww-data:x:33:33::/var/www:/bin/false\n";
        assert_eq!(parsed(text), [("root".to_owned(), 0), ("www-data".to_owned(), 33)]);
        assert_eq!((uid_of("33"), uid_of("root"), uid_of("no such user")), (Some(33), Some(0), None));
    }
}
