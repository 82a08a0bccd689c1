//! The programs as files: compiled, or copied, into one folder.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::subjects::{Language, Subject};
use crate::bench::output;

/// What several programs of a language need.
const SHARED: [&str; 2] = ["witness.py", "witness.js"];

impl Subject {
    /// Its source's file.
    pub fn source(&self) -> String {
        let ending = match self.language {
            Language::C => "c",
            Language::Cpp => "cpp",
            Language::Python => "py",
            Language::Node => "js",
            Language::Go => "go",
            Language::Java => "java",
        };
        format!("{}.{ending}", self.file)
    }
}

/// Where they are, until it is dropped.
pub struct Programs(tempfile::TempDir);

impl Programs {
    /// An empty folder in which everybody may look, with the words that a person types.
    pub fn new(howlate: &Path) -> io::Result<Self> {
        // On a disk, where the project is: some wait for it.
        let folder = tempfile::Builder::new().prefix("advice-").tempdir()?;
        let programs = Self(folder);
        fs::set_permissions(programs.folder(), fs::Permissions::from_mode(0o777))?;
        for inside in ["bin", "my programs"] {
            fs::create_dir(programs.folder().join(inside))?;
        }
        symlink(howlate.canonicalize()?, programs.folder().join("bin/howlate"))?;
        if which("sudo").is_none() {
            let sudo = programs.folder().join("bin/sudo");
            fs::write(&sudo, "#!/bin/sh\nexec \"$@\"\n")?;
            fs::set_permissions(&sudo, fs::Permissions::from_mode(0o755))?;
        }
        for shared in SHARED {
            fs::copy(sources().join(shared), programs.folder().join(shared))?;
        }
        programs.compile(Language::C, "hog.c", Path::new("hog"))?;
        Ok(programs)
    }

    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Makes the program of a subject; says why where its language is missing.
    pub fn provide(&self, subject: &Subject) -> io::Result<()> {
        if let Some(missing) = subject.needs().filter(|needed| which(needed).is_none()) {
            return Err(io::Error::other(format!("there is no {missing}")));
        }
        if subject.needs() == Some("jackd") && !self.folder().join("synth").exists() {
            self.compile(Language::C, "synth.c", Path::new("synth"))?;
        }
        let command = subject.command();
        let made = match subject.language {
            Language::Python | Language::Node => subject.source(),
            Language::Java => format!("{}.class", subject.file),
            _ => command.first().cloned().unwrap_or_default(),
        };
        if self.folder().join(&made).exists() {
            return Ok(());
        }
        self.compile(subject.language, &subject.source(), Path::new(&made))
    }

    fn compile(&self, language: Language, source: &str, made: &Path) -> io::Result<()> {
        let (source, made) = (sources().join(source), self.folder().join(made));
        let compiler = match language {
            Language::C => "cc",
            Language::Cpp => "c++",
            Language::Python => "python3",
            Language::Node => "node",
            Language::Go => "go",
            Language::Java => "javac",
        };
        if which(compiler).is_none() {
            return Err(io::Error::other(format!("there is no {compiler}")));
        }
        let mut command = Command::new(compiler);
        match language {
            Language::C | Language::Cpp => {
                command.args(["-O2", "-pthread", "-o"]).arg(&made).arg(&source);
                command.args(source.ends_with("synth.c").then_some("-ljack"));
            }
            Language::Go => {
                command.args(["build", "-o"]).arg(&made).arg(&source);
            }
            Language::Java => {
                command.arg("-d").arg(self.folder()).arg(&source);
            }
            Language::Python | Language::Node => return fs::copy(&source, &made).map(drop),
        }
        output(&mut command).map(drop)
    }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/truth/advice/programs")
}

/// Where a program is.
fn which(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
