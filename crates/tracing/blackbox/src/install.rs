//! The recorder as a systemd service with minimal rights.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The unit without command and folder.
const TEMPLATE: &str = include_str!("record.service");
/// systemd creates `StateDirectory` below it.
const STATE: &str = "/var/lib/";
/// Paths of the unit and of its user.
const UNIT: &str = "etc/systemd/system/howlate-recording.service";
const USER: &str = "etc/sysusers.d/howlate-recording.conf";
/// Folders hidden from the unit.
const HOMES: [&str; 5] = ["/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"];

#[derive(Clone, Debug)]
pub struct SystemdUnit {
    pub program: PathBuf,
    /// Arguments of `howlate record`.
    pub arguments: Vec<String>,
    /// Folder of the recording.
    pub out: PathBuf,
}

/// Paths of the written files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledFiles {
    pub unit: PathBuf,
    /// File for `systemd-sysusers`, which creates the user.
    pub user: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The program is in a folder hidden from the unit.
    #[error("a service cannot start {}: its folder is hidden from it", path.display())]
    OutOfReach { path: PathBuf },
    /// Users other than root could replace the program.
    #[error("others than root can change {}: what they put there would run with the service's rights", path.display())]
    NotOwnedByRoot {
        /// The program or a parent folder.
        path: PathBuf,
    },
    /// Not an absolute path below a folder.
    #[error("{} is not an absolute path below a folder", path.display())]
    NoFolder { path: PathBuf },
    /// A different file is there.
    #[error("{} already exists and differs; refusing to overwrite it", path.display())]
    Exists { path: PathBuf },
    #[error("cannot write {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl InstallError {
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::OutOfReach { .. } | Self::NotOwnedByRoot { .. } => {
                "as root, copy it to /usr/local/bin, and run that one"
            }
            Self::NoFolder { .. } => "write an absolute path, such as `--out /var/lib/howlate`",
            Self::Exists { .. } => "compare it with what `--install` prints, and remove it",
            Self::Io { .. } => "without --yes the unit is printed; to write it, run this as root",
        }
    }
}

impl SystemdUnit {
    /// Text of the unit.
    ///
    /// # Errors
    ///
    /// When systemd could not start the program.
    pub fn text(&self) -> Result<String, InstallError> {
        // Errors of arguments come first: unlike them, the program's place can change.
        let state = self.state()?;
        if HOMES.iter().any(|home| self.program.starts_with(home)) {
            return Err(InstallError::OutOfReach { path: self.program.clone() });
        }
        let program = self.program.display().to_string();
        let arguments = [program, "record".to_owned(), "--quiet".to_owned()];
        let exec: Vec<String> = arguments.iter().chain(&self.arguments).map(|word| quote(word)).collect();
        Ok(TEMPLATE.replace("@EXEC@", &exec.join(" ")).replace("@STATE@", &state))
    }

    /// Directive that creates the folder, or makes it writable.
    fn state(&self) -> Result<String, InstallError> {
        let out = self.out.to_str().filter(|out| out.starts_with('/') && out.trim_matches('/').contains('/'));
        let out = out.ok_or_else(|| InstallError::NoFolder { path: self.out.clone() })?;
        Ok(match out.strip_prefix(STATE) {
            Some(name) => format!("StateDirectory={}\nStateDirectoryMode=0750", quote(name)),
            None => format!("ReadWritePaths={}", quote(out)),
        })
    }

    /// The user, as a line for `systemd-sysusers`.
    pub fn user(&self) -> String {
        format!("u howlate - \"Records waits for a CPU\" {}\n", quote(&self.out.display().to_string()))
    }

    /// Writes unit and user below `root`. Equal existing files remain.
    ///
    /// # Errors
    ///
    /// When they cannot be written, different ones exist, or users other than root can change the program.
    pub fn install(&self, root: &Path) -> Result<InstalledFiles, InstallError> {
        if let Some(path) = first_writable_by_others(&self.program) {
            return Err(InstallError::NotOwnedByRoot { path: path.to_owned() });
        }
        let (unit, user) = (root.join(UNIT), root.join(USER));
        write(&unit, &self.text()?)?;
        write(&user, &self.user())?;
        Ok(InstalledFiles { unit, user })
    }
}

/// The program or the first parent folder that users other than root can change.
fn first_writable_by_others(program: &Path) -> Option<&Path> {
    const WRITTEN_BY_OTHERS: u32 = 0o022;
    program.ancestors().find(|path| {
        let found = std::fs::symlink_metadata(path);
        found.is_ok_and(|found| {
            found.uid() != 0 || !found.is_symlink() && found.mode() & WRITTEN_BY_OTHERS != 0
        })
    })
}

/// A word in systemd's syntax, without variables and specifiers.
fn quote(word: &str) -> String {
    let word = word.replace('%', "%%").replace('$', "$$");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./,:=@%$*".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word;
    }
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

fn write(path: &Path, text: &str) -> Result<(), InstallError> {
    let failed = |source| InstallError::Io { path: path.to_owned(), source };
    match std::fs::read_to_string(path) {
        Ok(existing) if existing == text => return Ok(()),
        Ok(_) => return Err(InstallError::Exists { path: path.to_owned() }),
        Err(_) => {}
    }
    path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
    File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn unit(program: &str, arguments: &[&str], out: &str) -> SystemdUnit {
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        SystemdUnit { program: program.into(), arguments, out: out.into() }
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
        assert_eq!(first_writable_by_others(Path::new("/proc/version")), None);
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("howlate");
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o777)).unwrap();
        assert_eq!(first_writable_by_others(&program), Some(program.as_path()));
        let refused = unit(program.to_str().unwrap(), &[], "/var/lib/howlate").install(folder.path());
        assert!(matches!(refused, Err(InstallError::NotOwnedByRoot { .. })), "{refused:?}");
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
        assert!(matches!(at_home, Err(InstallError::OutOfReach { .. })), "{at_home:?}");
        for out in ["howlate", "/", "/var"] {
            let nowhere = unit("/usr/bin/howlate", &[], out).text();
            assert!(matches!(nowhere, Err(InstallError::NoFolder { .. })), "{out}: {nowhere:?}");
        }
    }

    #[test]
    fn what_somebody_else_has_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let first = unit("/usr/bin/howlate", &[], "/var/lib/howlate");
        let written = first.install(folder.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&written.unit).unwrap(), first.text().unwrap());
        assert!(std::fs::read_to_string(&written.user).unwrap().starts_with("u howlate - "));
        assert_eq!(first.install(folder.path()).unwrap(), written, "the same again");
        let other = unit("/usr/bin/howlate", &["--late-above", "1ms"], "/var/lib/howlate");
        assert!(matches!(other.install(folder.path()), Err(InstallError::Exists { .. })));
    }
}
