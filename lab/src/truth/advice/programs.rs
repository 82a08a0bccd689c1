//! Compiles or copies the test programs into one folder.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::subjects::{Subject, SubjectLanguage};
use crate::bench::output;

/// Modules of several programs.
const SHARED: [&str; 2] = ["witness.py", "witness.js"];

impl Subject {
    pub fn source(&self) -> String {
        let ending = match self.language {
            SubjectLanguage::C => "c",
            SubjectLanguage::Cpp => "cpp",
            SubjectLanguage::Python => "py",
            SubjectLanguage::Node => "js",
            SubjectLanguage::Go => "go",
            SubjectLanguage::Java => "java",
        };
        format!("{}.{ending}", self.file)
    }
}

/// The folder with the programs, removed on drop.
pub struct SubjectPrograms(tempfile::TempDir);

impl SubjectPrograms {
    /// A folder without programs that all users may read, with `howlate` and `sudo` in `bin`.
    pub fn new(howlate: &Path) -> io::Result<Self> {
        // On the project's disk: some programs wait for disk I/O.
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
        programs.compile(SubjectLanguage::C, "hog.c", Path::new("hog"))?;
        Ok(programs)
    }

    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Builds the program of a subject; fails if its compiler is missing.
    pub fn provide(&self, subject: &Subject) -> io::Result<()> {
        if let Some(missing) = subject.needs().filter(|needed| which(needed).is_none()) {
            return Err(io::Error::other(format!("there is no {missing}")));
        }
        if subject.needs() == Some("jackd") && !self.folder().join("synth").exists() {
            self.compile(SubjectLanguage::C, "synth.c", Path::new("synth"))?;
        }
        let command = subject.command();
        let output_file = match subject.language {
            SubjectLanguage::Python | SubjectLanguage::Node => subject.source(),
            SubjectLanguage::Java => format!("{}.class", subject.file),
            _ => command.first().cloned().unwrap_or_default(),
        };
        if self.folder().join(&output_file).exists() {
            return Ok(());
        }
        self.compile(subject.language, &subject.source(), Path::new(&output_file))
    }

    fn compile(&self, language: SubjectLanguage, source: &str, output_file: &Path) -> io::Result<()> {
        let (source, output_file) = (sources().join(source), self.folder().join(output_file));
        let compiler = match language {
            SubjectLanguage::C => "cc",
            SubjectLanguage::Cpp => "c++",
            SubjectLanguage::Python => "python3",
            SubjectLanguage::Node => "node",
            SubjectLanguage::Go => "go",
            SubjectLanguage::Java => "javac",
        };
        if which(compiler).is_none() {
            return Err(io::Error::other(format!("there is no {compiler}")));
        }
        let mut command = Command::new(compiler);
        match language {
            SubjectLanguage::C | SubjectLanguage::Cpp => {
                command.args(["-O2", "-pthread", "-o"]).arg(&output_file).arg(&source);
                command.args(source.ends_with("synth.c").then_some("-ljack"));
            }
            SubjectLanguage::Go => {
                command.args(["build", "-o"]).arg(&output_file).arg(&source);
            }
            SubjectLanguage::Java => {
                command.arg("-d").arg(self.folder()).arg(&source);
            }
            SubjectLanguage::Python | SubjectLanguage::Node => {
                return fs::copy(&source, &output_file).map(drop);
            }
        }
        output(&mut command).map(drop)
    }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/truth/advice/programs")
}

fn which(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
