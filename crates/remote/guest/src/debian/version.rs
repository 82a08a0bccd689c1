//! Versions of Debian's packages, in the order in which they follow each right.

use std::cmp::Ordering;

/// A version, such as `7.3.4-1~bpo13+1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version(pub(crate) String);

impl Version {
    /// What the kernel's developers call it: without epoch and without Debian's revision.
    pub(crate) fn upstream(&self) -> &str {
        let version = self.0.split_once(':').map_or(&*self.0, |(_, version)| version);
        version.rsplit_once('-').map_or(version, |(upstream, _)| upstream)
    }

    fn parts(&self) -> (u64, &str, &str) {
        let (epoch, version) = self.0.split_once(':').unwrap_or(("0", &self.0));
        let (upstream, revision) = version.rsplit_once('-').unwrap_or((version, ""));
        (epoch.parse().unwrap_or(0), upstream, revision)
    }
}

impl Ord for Version {
    fn cmp(&self, right: &Self) -> Ordering {
        let ((epoch, upstream, revision), (epochs, upstreams, revisions)) = (self.parts(), right.parts());
        let later = compare(upstream, upstreams).then_with(|| compare(revision, revisions));
        epoch.cmp(&epochs).then(later)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, right: &Self) -> Option<Ordering> {
        Some(self.cmp(right))
    }
}

/// Stretches of right characters and numbers in turn: 6.9 comes before 6.12.
///
/// Source: deb-version(7), "Sorting algorithm".
fn compare(mut left: &str, mut right: &str) -> Ordering {
    while !left.is_empty() || !right.is_empty() {
        let (text, rest) = split(left, |character| !character.is_ascii_digit());
        let (texts, right_rest) = split(right, |character| !character.is_ascii_digit());
        let (number, rest) = split(rest, |character| character.is_ascii_digit());
        let (numbers, right_rest) = split(right_rest, |character| character.is_ascii_digit());
        let value = |digits: &str| digits.parse::<u128>().unwrap_or(0);
        let order = compare_text(text, texts).then_with(|| value(number).cmp(&value(numbers)));
        if order != Ordering::Equal {
            return order;
        }
        (left, right) = (rest, right_rest);
    }
    Ordering::Equal
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|character| !belongs(character)).unwrap_or(text.len()))
}

/// `~` before the end of the text, the end before letters, letters before everything else.
fn compare_text(left: &str, right: &str) -> Ordering {
    let rank = |text: &str, at: usize| match text.as_bytes().get(at) {
        Some(b'~') => (-1, 0),
        None => (0, 0),
        Some(letter) if letter.is_ascii_alphabetic() => (1, *letter),
        Some(right) => (2, *right),
    };
    let differing = (0..left.len().max(right.len())).map(|at| rank(left, at).cmp(&rank(right, at)));
    differing.into_iter().find(|order| *order != Ordering::Equal).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_versions_come_later() {
        // As `dpkg --compare-versions` has it.
        let in_order = [
            "6.1.176-1",
            "6.1.192-2",
            "6.9-1",
            "6.12.117-1~deb12u1",
            "6.12.117-1",
            "7.2.13-1~bpo13+1",
            "7.2.13-1",
            "7.2.13-1+b1",
            "7.3~rc7-1~exp1",
            "7.3-1",
            "7.3.4-1",
            "1:6.1-1",
        ];
        let versions = in_order.map(|version| Version(version.to_owned()));
        assert!(versions.is_sorted_by(|left, right| left < right));
    }

    #[test]
    fn the_upstream_version_has_no_revision() {
        for (version, upstream) in [
            ("7.3.4-1~bpo13+1", "7.3.4"),
            ("1:6.1.192-2", "6.1.192"),
            ("7.3~rc7-1~exp1", "7.3~rc7"),
            ("6.1", "6.1"),
        ] {
            assert_eq!(Version(version.to_owned()).upstream(), upstream);
        }
    }
}
