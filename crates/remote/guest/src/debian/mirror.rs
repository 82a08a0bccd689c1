//! Which mirror has Debian's kernels, and the configuration with which apt reads them.

use std::path::Path;

use crate::architecture::Architecture;

/// Where Debian keeps its suites, and its security updates, on this machine's mirrors.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mirror {
    pub(crate) archive: String,
    security: Option<String>,
}

/// By codename: one mirror had an older kernel in `stable-backports` than in `trixie-backports`.
const SUITES: [&str; 8] = [
    "bookworm",
    "bookworm-backports",
    "trixie",
    "trixie-updates",
    "trixie-backports",
    "forky",
    "sid",
    "experimental",
];

/// The suites that have security updates.
const WITH_SECURITY: [&str; 2] = ["bookworm", "trixie"];

impl Mirror {
    /// From what `apt-get update --print-uris` prints: `'http://deb.debian.org/debian/dists/bookworm/InRelease' …`;
    /// otherwise what was found.
    pub(crate) fn from_uris(printed: &str) -> Result<Self, Vec<String>> {
        let quoted = |line: &str| Some(line.strip_prefix('\'')?.split_once('\'')?.0.to_owned());
        let base = |line: &str| quoted(line)?.split_once("/dists/").map(|(base, _)| base.to_owned());
        let mut bases: Vec<String> = printed.lines().filter_map(base).collect();
        bases.dedup();
        let archive = named(&bases, "debian");
        let security = named(&bases, "debian-security");
        archive.map(|archive| Self { archive, security }).ok_or(bases)
    }

    /// The sources for apt. What is not signed by `keyring` is refused.
    pub(crate) fn sources(&self, architecture: Architecture, keyring: &Path) -> String {
        let line = |base: &str, suite: &str| {
            let (architecture, keyring) = (architecture.debian(), keyring.display());
            format!("deb [arch={architecture} signed-by={keyring} target=Packages] {base} {suite} main\n")
        };
        let security = self
            .security
            .iter()
            .flat_map(|base| WITH_SECURITY.map(|suite| line(base, &format!("{suite}-security"))));
        SUITES.iter().map(|suite| line(&self.archive, suite)).chain(security).collect()
    }
}

/// A mirror of Debian has a folder of this name, directly below its host where other_mirrors, such as Docker's, have one too.
/// Machines of clouds name a list of mirrors, `mirror+file:/etc/apt/mirrors/debian.list`.
fn named(bases: &[String], folder: &str) -> Option<String> {
    let path = |base: &str| {
        base.split_once("://")
            .and_then(|(_, rest)| rest.split_once('/'))
            .map_or("", |(_, path)| path)
            .to_owned()
    };
    let has = |base: &&String| base.split('/').any(|part| part.trim_end_matches(".list") == folder);
    let found: Vec<&String> = bases.iter().filter(has).collect();
    found.iter().find(|base| path(base) == folder).or(found.first()).map(|base| (*base).clone())
}

/// apt's configuration that keeps its lists in `folder` and leaves the machine's alone, with its `sources`, or
/// else those of the machine.
pub(crate) fn configuration(folder: &Path, architecture: Architecture, sources: Option<&Path>) -> String {
    let (folder, architecture) = (folder.display(), architecture.debian());
    let of_its_own = sources.map_or_else(String::new, |sources| {
        format!("Dir::Etc::sourcelist \"{}\";\nDir::Etc::sourceparts \"/dev/null\";\n", sources.display())
    });
    // What the machine does after each update is for its own lists.
    format!(
        "#clear APT::Update::Pre-Invoke;\n\
         #clear APT::Update::Post-Invoke;\n\
         #clear APT::Update::Post-Invoke-Success;\n\
         APT::Architecture \"{architecture}\";\n\
         #clear APT::Architectures;\n\
         APT::Architectures {{ \"{architecture}\"; }};\n\
         APT::Update::Error-Mode \"any\";\n\
         Acquire::AllowReleaseInfoChange \"true\";\n\
         Acquire::Languages \"none\";\n\
         Dir::State::lists \"{folder}/lists\";\n\
         Dir::State::status \"/dev/null\";\n\
         Dir::Cache \"{folder}\";\n\
         {of_its_own}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirror(bases: &[&str]) -> Result<Mirror, Vec<String>> {
        let line = |base: &&str| format!("'{base}/dists/bookworm/InRelease' somewhere_InRelease 0 \n");
        Mirror::from_uris(&bases.iter().map(line).collect::<String>())
    }

    #[test]
    fn the_mirror_is_the_one_of_the_machine() {
        for (bases, archive, security) in [
            (
                &[
                    "http://deb.debian.org/debian",
                    "http://deb.debian.org/debian",
                    "http://security.debian.org/debian-security",
                ][..],
                "http://deb.debian.org/debian",
                Some("http://security.debian.org/debian-security"),
            ),
            (
                &["https://download.example.com/linux/debian", "http://ftp.example.org/debian"],
                "http://ftp.example.org/debian",
                None,
            ),
            (
                &["http://cache:3142/mirror.example.org/debian"],
                "http://cache:3142/mirror.example.org/debian",
                None,
            ),
            (
                &[
                    "mirror+file:/etc/apt/mirrors/debian.list",
                    "mirror+file:/etc/apt/mirrors/debian-security.list",
                ],
                "mirror+file:/etc/apt/mirrors/debian.list",
                Some("mirror+file:/etc/apt/mirrors/debian-security.list"),
            ),
        ] {
            let found = mirror(bases).unwrap();
            assert_eq!((&*found.archive, found.security.as_deref()), (archive, security));
        }
        let other_mirrors = ["http://archive.ubuntu.com/ubuntu"];
        assert_eq!(mirror(&other_mirrors), Err(other_mirrors.map(str::to_owned).to_vec()));
        assert_eq!(Mirror::from_uris("nothing\n'\n"), Err(Vec::new()));
    }

    #[test]
    fn every_source_names_the_key() {
        let mirror = mirror(&["http://m/debian", "http://m/debian-security"]).unwrap();
        let sources = mirror.sources(Architecture::Aarch64, Path::new("/k.gpg"));
        assert_eq!(sources.lines().count(), SUITES.len() + WITH_SECURITY.len());
        assert!(
            sources.lines().all(|line| line.starts_with("deb [arch=arm64 signed-by=/k.gpg ")),
            "{sources}"
        );
        assert!(sources.contains("http://m/debian-security trixie-security main\n"), "{sources}");
    }
}
