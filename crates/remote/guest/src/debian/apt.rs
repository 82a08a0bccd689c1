//! Runs apt with its own lists, so that those of the machine stay unchanged.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use super::mirror::{Mirror, configuration};
use super::suites::Suite;
use crate::architecture::Architecture;
use crate::error::GuestError;

/// apt, with lists of packages of its own or the machine's.
pub(crate) struct Apt {
    /// Configuration; `None` with the machine's own lists.
    configuration: Option<PathBuf>,
}

/// Lists are fetched anew after a day.
const LISTS_LAST: Duration = Duration::from_secs(24 * 3_600);

/// The keys that Debian signs with, from the package `debian-archive-keyring`; its newer versions have the other ending.
const KEYRINGS: [&str; 2] =
    ["/usr/share/keyrings/debian-archive-keyring.gpg", "/usr/share/keyrings/debian-archive-keyring.pgp"];

/// Programs of the package `apt` that are not on the path.
const HELPER: &str = "/usr/lib/apt/apt-helper";

/// A line per list: two names of its suite, and its file.
const LISTED: [&str; 4] =
    ["indextargets", "--format", "$(CODENAME)\t$(SUITE)\t$(FILENAME)", "Created-By: Packages"];

impl Apt {
    /// This machine's own lists, or lists of `architecture` from the same sources, kept in the cache: no right is
    /// needed for them, and nothing of the machine is changed.
    pub(crate) fn with_lists_of(
        architecture: Architecture,
        cache: &Path,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, GuestError> {
        if architecture == Architecture::HERE {
            return Ok(Self { configuration: None });
        }
        let folder = cache.join(format!("apt-{}", architecture.debian()));
        let text = configuration(&folder, architecture, None);
        Self::own(&folder, &text, "this machine's sources", say)
    }

    /// Lists of all suites that the machine's mirror of Debian has.
    pub(crate) fn of_all_suites(
        architecture: Architecture,
        cache: &Path,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, GuestError> {
        let printed = output("apt-get", &["update", "--print-uris"], None)?;
        let mirror = Mirror::from_uris(&printed).map_err(|found| GuestError::NoMirror { found })?;
        let keyring = KEYRINGS.map(Path::new).into_iter().find(|file| file.exists());
        let keyring = keyring.ok_or(GuestError::NoKeyring { expected: KEYRINGS[0] })?;
        let folder = cache.join(format!("apt-{}-suites", architecture.debian()));
        let sources = folder.join("sources.list");
        write(&sources, &mirror.sources(architecture, keyring))?;
        Self::own(&folder, &configuration(&folder, architecture, Some(&sources)), &mirror.archive, say)
    }

    fn own(
        folder: &Path,
        configuration_text: &str,
        mirror: &str,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, GuestError> {
        let lists = folder.join("lists");
        for folder in [lists.join("partial"), folder.join("archives/partial")] {
            std::fs::create_dir_all(&folder).map_err(|source| GuestError::Write { path: folder, source })?;
        }
        let configuration = folder.join("apt.conf");
        write(&configuration, configuration_text)?;
        let apt = Self { configuration: Some(configuration) };
        if age(&lists).is_none_or(|age| age > LISTS_LAST) {
            say(&format!("Fetching Debian's lists of packages from {mirror} with apt …\n"));
            apt.update(&lists, mirror, say)?;
        }
        Ok(apt)
    }

    /// Where some cannot be had, those of earlier will do.
    fn update(&self, lists: &Path, mirror: &str, say: &mut dyn FnMut(&str)) -> Result<(), GuestError> {
        let stderr = match self.run("apt-get", &["update", "-qq"], None) {
            Err(GuestError::Apt { stderr, .. }) => stderr,
            other => return other.map(drop),
        };
        if age(lists).is_none() {
            return Err(GuestError::MirrorAway { mirror: mirror.to_owned(), stderr });
        }
        say(&format!("Some lists could not be fetched ({stderr}); those fetched earlier are used.\n"));
        Ok(())
    }

    /// What its lists have of kernels, suite by suite.
    pub(crate) fn suites(&self) -> Result<Vec<Suite>, GuestError> {
        let listed = self.run("apt-get", &LISTED, None)?;
        let mut suites = Vec::new();
        for line in listed.lines() {
            let mut fields = line.split('\t');
            if let (Some(codename), Some(present), Some(file)) = (fields.next(), fields.next(), fields.next())
            {
                let list = self.run(HELPER, &["cat-file", file], None)?;
                Suite::add(&mut suites, codename, present, &list);
            }
        }
        Ok(suites)
    }

    /// What `apt-cache show` prints of packages.
    pub(crate) fn show(&self, arguments: &[&str]) -> Result<String, GuestError> {
        self.run("apt-cache", &[&["show"], arguments].concat(), None)
    }

    /// Downloads a package into an empty folder; apt compares its checksum with the signed one.
    pub(crate) fn download(&self, package: &str, folder: &Path) -> Result<(), GuestError> {
        self.run("apt-get", &["download", "--quiet", package], Some(folder)).map(drop)
    }

    fn run(&self, program: &str, arguments: &[&str], folder: Option<&Path>) -> Result<String, GuestError> {
        let configuration = self.configuration.as_ref().map(|file| file.display().to_string());
        let options = configuration.iter().flat_map(|file| ["-c", file]);
        output(program, &options.chain(arguments.iter().copied()).collect::<Vec<_>>(), folder)
    }
}

fn write(file: &Path, text: &str) -> Result<(), GuestError> {
    let failed = |source| GuestError::Write { path: file.to_owned(), source };
    file.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
    std::fs::write(file, text).map_err(failed)
}

/// Since when there have been lists; `None` if there are none.
fn age(lists: &Path) -> Option<Duration> {
    let is_list = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().contains("_Packages");
    let has_some = std::fs::read_dir(lists).ok()?.filter_map(Result::ok).any(is_list);
    let changed = std::fs::metadata(lists).and_then(|metadata| metadata.modified()).ok()?;
    // A clock that was set back: as good as new.
    has_some.then(|| SystemTime::now().duration_since(changed).unwrap_or_default())
}

/// Runs a program of Debian's; returns what it printed.
fn output(program: &str, arguments: &[&str], folder: Option<&Path>) -> Result<String, GuestError> {
    let mut command = Command::new(program);
    // What it says is shown, and read.
    command.args(arguments).env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let output = command.output().map_err(|source| GuestError::Start { program: program.into(), source })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let reason = stderr.lines().find(|line| line.starts_with("E:")).unwrap_or("no reason given");
    let command = format!("{program} {}", arguments.join(" "));
    Err(GuestError::Apt { command, stderr: reason.trim_start_matches("E: ").to_owned() })
}
