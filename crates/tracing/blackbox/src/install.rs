//! The recorder as a service of systemd: a unit that may do what recording takes, and nothing else.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The unit, but for what is recorded and where.
const TEMPLATE: &str = include_str!("record.service");
/// Where systemd keeps what services keep.
const STATE: &str = "/var/lib/";
/// Where the unit and its user are written.
const UNIT: &str = "etc/systemd/system/howlate-recording.service";
const USER: &str = "etc/sysusers.d/howlate-recording.conf";
/// Folders that the unit does not see.
const HOMES: [&str; 5] = ["/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"];

/// A service that records as the words say.
#[derive(Clone, Debug)]
pub struct Unit {
    /// This program.
    pub program: PathBuf,
    /// What follows `howlate record`.
    pub words: Vec<String>,
    /// Where it records to.
    pub out: PathBuf,
}

/// The files that were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The unit.
    pub unit: PathBuf,
    /// What `systemd-sysusers` makes its user of.
    pub user: PathBuf,
}

/// Why nothing was installed.
#[derive(Debug, thiserror::Error)]
pub enum NotInstalled {
    /// The unit could not start it.
    #[error("a service cannot start {}: its folder is hidden from it", path.display())]
    OutOfReach {
        /// This program.
        path: PathBuf,
    },
    /// Somebody else could put another program in its place.
    #[error("others than root can change {}: what they put there would run with the service's rights", path.display())]
    NotRoots {
        /// The program, or a folder above it.
        path: PathBuf,
    },
    /// It would not be a folder of its own.
    #[error("{} is not an absolute path below a folder", path.display())]
    NoFolder {
        /// What was named.
        path: PathBuf,
    },
    /// Somebody has another one there.
    #[error("{} already exists and differs; refusing to overwrite it", path.display())]
    Exists {
        /// The file that is there.
        path: PathBuf,
    },
    /// They cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The file that could not be written.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
}

impl NotInstalled {
    /// What to do.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::OutOfReach { .. } | Self::NotRoots { .. } => {
                "as root, copy it to /usr/local/bin, and run that one"
            }
            Self::NoFolder { .. } => "write an absolute path, such as `--out /var/lib/howlate`",
            Self::Exists { .. } => "compare it with what `--install` prints, and remove it",
            Self::Io { .. } => "without --yes the unit is printed; to write it, run this as root",
        }
    }
}

impl Unit {
    /// The unit's text.
    ///
    /// # Errors
    ///
    /// When systemd could not start it.
    pub fn text(&self) -> Result<String, NotInstalled> {
        // What was typed comes first: a program can be copied, and is the same then.
        let state = self.state()?;
        if HOMES.iter().any(|home| self.program.starts_with(home)) {
            return Err(NotInstalled::OutOfReach { path: self.program.clone() });
        }
        let program = self.program.display().to_string();
        let words = [program, "record".to_owned(), "--quiet".to_owned()];
        let exec: Vec<String> = words.iter().chain(&self.words).map(|word| quoted(word)).collect();
        Ok(TEMPLATE.replace("@EXEC@", &exec.join(" ")).replace("@STATE@", &state))
    }

    /// What makes its folder, or lets it write there.
    fn state(&self) -> Result<String, NotInstalled> {
        let out = self.out.to_str().filter(|out| out.starts_with('/') && out.trim_matches('/').contains('/'));
        let out = out.ok_or_else(|| NotInstalled::NoFolder { path: self.out.clone() })?;
        Ok(match out.strip_prefix(STATE) {
            Some(name) => format!("StateDirectory={}\nStateDirectoryMode=0750", quoted(name)),
            None => format!("ReadWritePaths={}", quoted(out)),
        })
    }

    /// The user that it runs as, for `systemd-sysusers`.
    pub fn user(&self) -> String {
        format!("u howlate - \"Records waits for a CPU\" {}\n", quoted(&self.out.display().to_string()))
    }

    /// Writes both below `root`. What is there already and is the same stays.
    ///
    /// # Errors
    ///
    /// When they cannot be written, others are there, or others than root can change the program.
    pub fn install(&self, root: &Path) -> Result<Installed, NotInstalled> {
        if let Some(path) = first_of_others(&self.program) {
            return Err(NotInstalled::NotRoots { path: path.to_owned() });
        }
        let (unit, user) = (root.join(UNIT), root.join(USER));
        write(&unit, &self.text()?)?;
        write(&user, &self.user())?;
        Ok(Installed { unit, user })
    }
}

/// Of a program and the folders above it the first that others than root can change; what is not there is nobody's.
fn first_of_others(program: &Path) -> Option<&Path> {
    const WRITTEN_BY_OTHERS: u32 = 0o022;
    program.ancestors().find(|path| {
        let found = std::fs::symlink_metadata(path);
        found.is_ok_and(|found| {
            found.uid() != 0 || !found.is_symlink() && found.mode() & WRITTEN_BY_OTHERS != 0
        })
    })
}

/// A word as systemd reads it: no variable, no specifier.
fn quoted(word: &str) -> String {
    let word = word.replace('%', "%%").replace('$', "$$");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./,:=@%$*".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word;
    }
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

fn write(path: &Path, text: &str) -> Result<(), NotInstalled> {
    let failed = |source| NotInstalled::Io { path: path.to_owned(), source };
    match std::fs::read_to_string(path) {
        Ok(known) if known == text => return Ok(()),
        Ok(_) => return Err(NotInstalled::Exists { path: path.to_owned() }),
        Err(_) => {}
    }
    path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
    File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn unit(program: &str, words: &[&str], out: &str) -> Unit {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Unit { program: program.into(), words, out: out.into() }
    }

    #[test]
    fn a_unit_records_as_was_typed() {
        let on_late = ["--late-above", "2ms", "--on-late", "logger \"$0\" 5%"];
        let text = unit("/usr/bin/howlate", &on_late, "/var/lib/howlate").text().unwrap();
        let exec =
            r#"ExecStart=/usr/bin/howlate record --quiet --late-above 2ms --on-late "logger \"$$0\" 5%%""#;
        assert!(text.lines().any(|line| line == exec), "{text}");
        assert!(
            text.contains("\nStateDirectory=howlate\n")
                && !text.contains("@EXEC")
                && !text.contains("@STATE")
        );
        let elsewhere = unit("/usr/bin/howlate", &[], "/data/howlate").text().unwrap();
        assert!(elsewhere.contains("\nReadWritePaths=/data/howlate\n"), "{elsewhere}");
        let capabilities = text.lines().filter(|line| line.contains("CAP_"));
        assert!(
            capabilities
                .eq(["AmbientCapabilities=CAP_BPF CAP_PERFMON", "CapabilityBoundingSet=CAP_BPF CAP_PERFMON"])
        );
    }

    #[test]
    fn what_others_than_root_can_change_becomes_no_service() {
        assert_eq!(first_of_others(Path::new("/proc/version")), None);
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("howlate");
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o777)).unwrap();
        assert_eq!(first_of_others(&program), Some(program.as_path()));
        let refused = unit(program.to_str().unwrap(), &[], "/var/lib/howlate").install(folder.path());
        assert!(matches!(refused, Err(NotInstalled::NotRoots { .. })), "{refused:?}");
        assert!(!folder.path().join(UNIT).exists());
    }

    #[test]
    fn packages_have_the_unit_that_records_as_is_usual() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packaging/systemd/howlate-recording");
        let packaged = |ending: &str| std::fs::read_to_string(format!("{folder}.{ending}")).unwrap();
        let usual = unit("/usr/bin/howlate", &[], "/var/lib/howlate");
        assert_eq!(packaged("service"), usual.text().unwrap());
        assert_eq!(packaged("conf"), usual.user());
    }

    #[test]
    fn what_a_unit_could_not_start_is_refused() {
        let at_home = unit("/home/me/howlate", &[], "/var/lib/howlate").text();
        assert!(matches!(at_home, Err(NotInstalled::OutOfReach { .. })), "{at_home:?}");
        for out in ["howlate", "/", "/var"] {
            let nowhere = unit("/usr/bin/howlate", &[], out).text();
            assert!(matches!(nowhere, Err(NotInstalled::NoFolder { .. })), "{out}: {nowhere:?}");
        }
    }

    #[test]
    fn what_somebody_else_has_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let one = unit("/usr/bin/howlate", &[], "/var/lib/howlate");
        let written = one.install(folder.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&written.unit).unwrap(), one.text().unwrap());
        assert!(std::fs::read_to_string(&written.user).unwrap().starts_with("u howlate - "));
        assert_eq!(one.install(folder.path()).unwrap(), written, "the same again");
        let other = unit("/usr/bin/howlate", &["--late-above", "1ms"], "/var/lib/howlate");
        assert!(matches!(other.install(folder.path()), Err(NotInstalled::Exists { .. })));
    }
}
