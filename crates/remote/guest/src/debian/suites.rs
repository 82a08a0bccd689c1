//! Which of the kernels on a mirror is meant.

use howlate_model::nearest;

use super::package::{Package, packages};
use super::version::Version;
use crate::architecture::Architecture;
use crate::error::GuestError;
use crate::kernel_spec::Flavour;

/// A suite with its updates, and the packages of kernels in it.
#[derive(Debug)]
pub(crate) struct Suite {
    /// As Debian calls the release, such as `trixie`, and what it is at present, such as `stable`.
    names: [String; 2],
    packages: Vec<Package>,
}

/// A kernel that can be fetched: the package that is its image, and those to fetch.
#[derive(Clone, Debug)]
pub(crate) struct Fetchable {
    pub(crate) image: Package,
    /// The image itself, or the parts that it was split into.
    pub(crate) files: Vec<Package>,
}

/// Updates of a suite are lists of their own.
const UPDATES: [&str; 2] = ["-security", "-updates"];

/// Names that do not belong to a suite.
const BACKPORTS: [&str; 2] = ["backports", "stable-backports"];

impl Suite {
    /// Adds a list of the mirror to its suite.
    pub(crate) fn add(suites: &mut Vec<Self>, codename: &str, present: &str, list: &str) {
        let without =
            |name: &str| UPDATES.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name).to_owned();
        let (names, found) = ([without(codename), without(present)], packages(list));
        match suites.iter_mut().find(|suite| suite.names == names) {
            Some(suite) => suite.packages.extend(found),
            None => suites.push(Self { names, packages: found }),
        }
    }

    /// As it is best known: the codename of experimental is not in use.
    pub(crate) fn name(&self) -> &str {
        let [codename, present] = &self.names;
        if present == "experimental" { present } else { codename }
    }

    /// All kernels in it, the newest first.
    pub(crate) fn kernels(&self, architecture: Architecture) -> Vec<Fetchable> {
        let images = self.packages.iter().filter(|package| package.release(architecture).is_some());
        let mut images: Vec<&Package> = images.collect();
        images.sort_by(|a, b| b.version.cmp(&a.version).then_with(|| a.name.cmp(&b.name)));
        images.dedup_by(|a, b| (&a.name, &a.version) == (&b.name, &b.version));
        images.into_iter().filter_map(|image| self.fetchable(image)).collect()
    }

    /// The default kernel of this suite.
    fn newest(&self, flavour: Flavour, architecture: Architecture) -> Result<Fetchable, GuestError> {
        let stands_for = newest_package(flavour, architecture);
        let named = self.packages.iter().filter(|package| package.name == stands_for);
        let newest = named.max_by(|a, b| a.version.cmp(&b.version));
        let image =
            newest.and_then(Package::stands_for).and_then(|(name, version)| self.package(name, version));
        image.and_then(|image| self.fetchable(image)).ok_or(GuestError::NoSuchPackage { package: stands_for })
    }

    fn package(&self, name: &str, version: &Version) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name && package.version == *version)
    }

    fn fetchable(&self, image: &Package) -> Option<Fetchable> {
        Fetchable::from_image(image, |name, version| self.package(name, version).cloned())
    }
}

impl Fetchable {
    /// `None` if a part is not there.
    pub(crate) fn from_image(
        image: &Package,
        find: impl Fn(&str, &Version) -> Option<Package>,
    ) -> Option<Self> {
        let parts = image.parts();
        if parts.is_empty() {
            return Some(Self { image: image.clone(), files: vec![image.clone()] });
        }
        let files = parts.into_iter().map(|(name, version)| find(name, version)).collect::<Option<_>>()?;
        Some(Self { image: image.clone(), files })
    }
}

/// The package that stands for the newest kernel of a kind.
pub(crate) fn newest_package(flavour: Flavour, architecture: Architecture) -> String {
    format!("linux-image-{}{}", flavour.in_package(), architecture.debian())
}

/// The newest kernel of a suite.
pub(crate) fn of_suite(
    suites: &[Suite],
    requested: &str,
    flavour: Flavour,
    architecture: Architecture,
) -> Result<Fetchable, GuestError> {
    let suite_name = if requested == BACKPORTS[0] { BACKPORTS[1] } else { requested };
    let found = suites.iter().find(|suite| suite.names.iter().any(|name| name == suite_name));
    let Some(suite) = found else {
        let names = suites.iter().flat_map(|suite| &suite.names).map(|name| &**name);
        let nearest = nearest(requested, names.chain(BACKPORTS).chain(Flavour::ALL.map(Flavour::name)));
        let there = suites.iter().map(|suite| suite.name().to_owned()).collect();
        return Err(GuestError::NoSuchSuite {
            requested: requested.to_owned(),
            nearest: nearest.map(str::to_owned),
            there,
        });
    };
    suite.newest(flavour, architecture)
}

/// The newest kernel of a version: `7.3` is 7.3.4 as well, `6.1.0-56` a release.
pub(crate) fn of_version(
    suites: &[Suite],
    requested: &str,
    flavour: Flavour,
    architecture: Architecture,
) -> Result<Fetchable, GuestError> {
    let of_kind =
        |kernel: &Fetchable| kernel.image.release(architecture).is_some_and(|found| found.flavour == flavour);
    let all = suites.iter().flat_map(|suite| suite.kernels(architecture)).filter(of_kind);
    let mut all: Vec<Fetchable> = all.collect();
    all.sort_by(|a, b| a.image.version.cmp(&b.image.version));
    let is_match = |kernel: &&Fetchable| is_version(&kernel.image, requested, architecture);
    all.iter().rev().find(is_match).cloned().ok_or_else(|| {
        let mut there: Vec<String> =
            all.iter().map(|kernel| kernel.image.version.upstream().to_owned()).collect();
        there.dedup();
        GuestError::NoSuchVersion { requested: requested.to_owned(), kind: flavour.name(), there }
    })
}

fn is_version(image: &Package, requested: &str, architecture: Architecture) -> bool {
    let begins = |text: &str, ends: &[char]| {
        text.strip_prefix(requested).is_some_and(|rest| rest.is_empty() || rest.starts_with(ends))
    };
    let release = image.release(architecture).is_some_and(|release| begins(release.name, &['-', '+']));
    release || image.version.0 == requested || begins(image.version.upstream(), &['.', '~'])
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Architecture = Architecture::X86_64;

    /// A line per package: its suite and what that is at present, its name after `linux-`, its version, and what it needs in
    /// just that version. The last one of bookworm is another kernel for the same suite, which its users do not get.
    const PACKAGES: &str = "\
bookworm           oldstable           image-amd64                  6.1.176-1        image-6.1.0-50-amd64
bookworm           oldstable           image-6.1.0-50-amd64         6.1.176-1
bookworm-security  oldstable-security  image-amd64                  6.1.192-2        image-6.1.0-56-amd64
bookworm-security  oldstable-security  image-6.1.0-56-amd64         6.1.192-2
bookworm-security  oldstable-security  image-6.12.9+deb12-amd64     6.12.9-1~deb12u1
trixie-backports   stable-backports    image-rt-amd64               7.3.4-1~bpo13+1  image-7.3.4+deb13-rt-amd64
trixie-backports   stable-backports    image-7.3.4+deb13-rt-amd64   7.3.4-1~bpo13+1  binary-7.3.4+deb13-rt-amd64 modules-7.3.4+deb13-rt-amd64
trixie-backports   stable-backports    binary-7.3.4+deb13-rt-amd64  7.3.4-1~bpo13+1
trixie-backports   stable-backports    modules-7.3.4+deb13-rt-amd64 7.3.4-1~bpo13+1
trixie-backports   stable-backports    image-7.3.2+deb13-amd64      7.3.2-1~bpo13+1  binary-gone
rc-buggy           experimental        image-7.3-amd64              7.3~rc7-1~exp1
";

    /// Adds the list of a suite that has one package.
    fn add(suites: &mut Vec<Suite>, row: &str) {
        let fields: Vec<&str> = row.split_whitespace().collect();
        let [codename, present, name, version, needs @ ..] = &fields[..] else { panic!("{row}") };
        let needs: Vec<String> = needs.iter().map(|name| format!("linux-{name} (= {version})")).collect();
        let needs = needs.join(", ");
        let list =
            format!("Package: linux-{name}\nVersion: {version}\nDepends: kmod, {needs}\nSHA256: {name}\n");
        Suite::add(suites, codename, present, &list);
    }

    fn suites() -> Vec<Suite> {
        let mut suites = Vec::new();
        PACKAGES.lines().for_each(|row| add(&mut suites, row));
        suites
    }

    #[test]
    fn a_suite_stands_for_the_newest_of_it_and_its_updates() {
        for name in ["bookworm", "oldstable"] {
            let found = of_suite(&suites(), name, Flavour::Standard, HERE).unwrap();
            assert_eq!(found.image.name, "linux-image-6.1.0-56-amd64");
            assert_eq!(found.files, [found.image]);
        }
        for name in ["backports", "stable-backports", "trixie-backports"] {
            let found = of_suite(&suites(), name, Flavour::Rt, HERE).unwrap();
            let files: Vec<&str> = found.files.iter().map(|file| &*file.sha256).collect();
            assert_eq!(files, ["binary-7.3.4+deb13-rt-amd64", "modules-7.3.4+deb13-rt-amd64"]);
        }
        assert_eq!(
            suites().iter().map(Suite::name).collect::<Vec<_>>(),
            ["bookworm", "trixie-backports", "experimental"]
        );
    }

    #[test]
    fn what_is_not_there_is_answered_with_what_is() {
        let error_of = |requested, flavour| of_suite(&suites(), requested, flavour, HERE).unwrap_err();
        let error = error_of("trixy-backports", Flavour::Standard);
        assert!(error.to_string().contains("no suite `trixy-backports`"), "{error}");
        let hint = error.hint().unwrap();
        assert!(hint.contains("`debian:trixie-backports`"), "{hint}");
        assert!(error_of("realtime", Flavour::Standard).to_string().contains("bookworm, trixie-backports"));
        let error = error_of("bookworm", Flavour::Cloud).to_string();
        assert!(error.contains("linux-image-cloud-amd64"), "{error}");
        let error = of_version(&suites(), "7.9", Flavour::Standard, HERE).unwrap_err();
        assert!(error.to_string().contains("6.1.176, 6.1.192, 6.12.9, 7.3~rc7"), "{error}");
        assert!(error.hint().unwrap().contains("--list"));
        let rt = of_version(&suites(), "6.1", Flavour::Rt, HERE).unwrap_err().to_string();
        assert!(rt.contains("(rt)") && rt.ends_with("7.3.4"), "{rt}");
    }

    #[test]
    fn a_version_is_looked_up_over_all_suites() {
        for (requested, package) in [
            ("6.1", "linux-image-6.1.0-56-amd64"),
            ("6.1.176", "linux-image-6.1.0-50-amd64"),
            ("6.1.0-50", "linux-image-6.1.0-50-amd64"),
            ("6.1.0-56-amd64", "linux-image-6.1.0-56-amd64"),
            ("6.1.192-2", "linux-image-6.1.0-56-amd64"),
            ("6", "linux-image-6.12.9+deb12-amd64"),
            ("6.12.9", "linux-image-6.12.9+deb12-amd64"),
            ("7.3", "linux-image-7.3-amd64"),
        ] {
            let found = of_version(&suites(), requested, Flavour::Standard, HERE).unwrap();
            assert_eq!(found.image.name, package, "{requested}");
        }
        // Not the beginning of a number, nor a kernel of which a part is gone.
        for requested in ["6.1.17", "6.1.0-5", "7.3.2", "7.3.4"] {
            assert!(of_version(&suites(), requested, Flavour::Standard, HERE).is_err(), "{requested}");
        }
    }

    #[test]
    fn a_kernel_is_listed_once_and_the_newest_first() {
        let mut suites = suites();
        add(&mut suites, "bookworm-updates oldstable-updates image-6.1.0-56-amd64 6.1.192-2");
        let names: Vec<String> =
            suites[0].kernels(HERE).into_iter().map(|kernel| kernel.image.name).collect();
        assert_eq!(
            names,
            ["linux-image-6.12.9+deb12-amd64", "linux-image-6.1.0-56-amd64", "linux-image-6.1.0-50-amd64"]
        );
    }
}
