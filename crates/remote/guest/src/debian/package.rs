//! Packages of kernels in the lists that apt keeps.

use super::version::Version;
use crate::architecture::Architecture;
use crate::kernel_spec::Flavour;

/// A package that holds a kernel or part of one, or stands for the newest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: Version,
    /// SHA-256 of the file, as the signed list has it.
    pub(crate) sha256: String,
    /// Packages that it needs in exactly one version.
    needs: Vec<(String, Version)>,
}

/// The release in a package's name, as `uname -r` prints it, and its kind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Release<'a> {
    pub(crate) name: &'a str,
    pub(crate) flavour: Flavour,
}

/// The image, or one of the parts that it was split into since Linux 6.19: the kernel, and its modules.
const PARTS: [&str; 3] = ["linux-image-", "linux-binary-", "linux-modules-"];

/// The packages of kernels in a list as the mirror has it, or as `apt-cache show` prints it.
pub(crate) fn packages(list: &str) -> Vec<Package> {
    list.split("\n\n").filter_map(Package::parse).collect()
}

impl Package {
    /// `None` for what is no kernel's, and for what was only installed: that has no checksum.
    fn parse(stanza: &str) -> Option<Self> {
        let name = stanza.trim_start().strip_prefix("Package: ")?.lines().next()?.trim();
        if !PARTS.iter().any(|part| name.starts_with(part)) {
            return None;
        }
        let field = |field: &str| stanza.lines().find_map(|line| line.strip_prefix(field)).map(str::trim);
        let needs = field("Depends: ").unwrap_or_default().split(", ").filter_map(exactly).collect();
        let (version, sha256) = (field("Version: ")?, field("SHA256: ")?);
        Some(Self {
            name: name.to_owned(),
            version: Version(version.to_owned()),
            sha256: sha256.to_owned(),
            needs,
        })
    }

    /// The release of the kernel that it is; `None` for a part of one, and for what stands for the newest.
    pub(crate) fn release(&self, architecture: Architecture) -> Option<Release<'_>> {
        let name = self
            .name
            .strip_prefix(PARTS[0])
            .filter(|name| name.starts_with(|first: char| first.is_ascii_digit()))?;
        let version = name.strip_suffix(architecture.debian())?.strip_suffix('-')?;
        let is = |flavour: &Flavour| {
            version.ends_with(&format!("-{}", flavour.in_package().trim_end_matches('-')))
        };
        let flavour = [Flavour::Cloud, Flavour::Rt].into_iter().find(is).unwrap_or(Flavour::Standard);
        self.stands_for().is_none().then_some(Release { name, flavour })
    }

    /// The image that this one stands for: `Depends: linux-image-6.1.0-56-amd64 (= 6.1.192-2)`
    pub(crate) fn stands_for(&self) -> Option<&(String, Version)> {
        self.needs.iter().find(|(name, _)| name.starts_with(PARTS[0]))
    }

    /// The parts that it was split into; none if it holds all itself.
    pub(crate) fn parts(&self) -> Vec<&(String, Version)> {
        self.needs.iter().filter(|(name, _)| PARTS[1..].iter().any(|part| name.starts_with(part))).collect()
    }

    /// The argument of apt for exactly this version.
    pub(crate) fn asked_of_apt(&self, architecture: Architecture) -> String {
        format!("{}:{}={}", self.name, architecture.debian(), self.version.0)
    }
}

/// `linux-modules-7.3.4+deb13-amd64 (= 7.3.4-1~bpo13+1)`; of alternatives the first.
fn exactly(needed: &str) -> Option<(String, Version)> {
    let (name, rest) = needed.trim().split_once(" (= ")?;
    let (version, _) = rest.split_once(')')?;
    Some((name.to_owned(), Version(version.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stanza(name: &str, version: &str, needs: &str) -> String {
        format!("Package: {name}\nVersion: {version}\nDepends: {needs}\nSize: 9\nSHA256: 0a\n")
    }

    fn only(name: &str, version: &str, needs: &str) -> Package {
        let [package] = &packages(&stanza(name, version, needs))[..] else { panic!("{name}") };
        package.clone()
    }

    #[test]
    fn the_newest_is_what_the_other_depends_on() {
        let newest = only(
            "linux-image-rt-amd64",
            "7.3.4-1~bpo13+1",
            "linux-base-rt-amd64 (= 7.3.4-1~bpo13+1), linux-image-7.3.4+deb13-rt-amd64 (= 7.3.4-1~bpo13+1)",
        );
        let (name, version) = newest.stands_for().unwrap();
        assert_eq!((&**name, &*version.0), ("linux-image-7.3.4+deb13-rt-amd64", "7.3.4-1~bpo13+1"));
        assert_eq!(newest.release(Architecture::X86_64), None);
        // A series stands for its newest as well, with a name like a release.
        let series =
            only("linux-image-6.12-amd64", "6.12.9-1", "linux-image-6.12.9+deb12-amd64 (= 6.12.9-1)");
        assert_eq!(series.release(Architecture::X86_64), None);
    }

    #[test]
    fn an_image_holds_all_itself_or_names_its_parts() {
        let whole = only("linux-image-6.1.0-56-amd64", "6.1.192-2", "kmod, linux-base (>= 4.3~)");
        assert!(whole.parts().is_empty());
        let needs = "dracut | linux-initramfs-tool, linux-base-7.3.4+deb13-amd64 (= 7.3.4-1), \
                     linux-binary-7.3.4+deb13-amd64 (= 7.3.4-1) | linux-binary-unsigned-7.3.4+deb13-amd64 (= 7.3.4-1), \
                     linux-modules-7.3.4+deb13-amd64 (= 7.3.4-1)";
        let split = only("linux-image-7.3.4+deb13-amd64", "7.3.4-1", needs);
        let parts: Vec<&str> = split.parts().iter().map(|(name, _)| &**name).collect();
        assert_eq!(parts, ["linux-binary-7.3.4+deb13-amd64", "linux-modules-7.3.4+deb13-amd64"]);
    }

    #[test]
    fn release_and_kind_stand_in_the_name() {
        use Architecture::{Aarch64, X86_64};
        for (name, architecture, release) in [
            ("linux-image-6.1.0-56-amd64", X86_64, Some(("6.1.0-56-amd64", Flavour::Standard))),
            ("linux-image-7.3.4+deb13-rt-amd64", X86_64, Some(("7.3.4+deb13-rt-amd64", Flavour::Rt))),
            (
                "linux-image-7.3.4+deb13-cloud-arm64",
                Aarch64,
                Some(("7.3.4+deb13-cloud-arm64", Flavour::Cloud)),
            ),
            ("linux-image-6.1.0-56-amd64", Aarch64, None),
            ("linux-image-6.1.0-56-amd64-unsigned", X86_64, None),
            ("linux-image-6.1.0-56-amd64-dbg", X86_64, None),
            ("linux-image-7.3.4+deb13-arm64-16k", Aarch64, None),
            ("linux-image-amd64", X86_64, None),
            ("linux-binary-7.3.4+deb13-amd64", X86_64, None),
        ] {
            let package = only(name, "1", "kmod");
            let found = package.release(architecture).map(|release| (release.name, release.flavour));
            assert_eq!(found, release, "{name}");
        }
    }

    #[test]
    fn what_is_no_package_of_a_kernel_is_passed_over() {
        let list = [
            stanza("linux-perf", "6.1", "x"),
            stanza("linux-image-6.1.0-56-amd64", "6.1.192-2", "kmod"),
            "Package: linux-image-6.1.0-1-amd64\nStatus: install ok installed\nVersion: 6.1\n".to_owned(),
            "Package: linux-image-".to_owned(),
            "\u{fffd}".to_owned(),
            "Package:".to_owned(),
        ];
        let found = packages(&list.join("\n"));
        assert_eq!(
            found.iter().map(|package| &*package.name).collect::<Vec<_>>(),
            ["linux-image-6.1.0-56-amd64"]
        );
        assert_eq!(found[0].sha256, "0a");
    }
}
