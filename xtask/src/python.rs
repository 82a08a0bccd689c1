//! Environments of Python below `target/python`, and what maturin makes there of `python/`.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What makes wheels, and what adds a system to those that one is for.
pub(crate) const TOOLS: [&str; 2] = ["maturin==1.16.0", "wheel==0.48.0"];

/// A virtual environment.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// The one of this name, with these words of pip installed once; made by `python`. The error is a sentence.
    pub(crate) fn provide(target: &Path, name: &str, python: &str, packages: &[&str]) -> io::Result<Self> {
        let environment = Self { folder: target.join("python").join(name) };
        let (done, wanted) = (environment.folder.join("installed"), packages.join("\n"));
        if fs::read_to_string(&done).is_ok_and(|installed| installed == wanted) {
            return Ok(environment);
        }
        let mut venv = Command::new(python);
        output(venv.args(["-m", "venv", "--clear"]).arg(&environment.folder))?;
        environment.install(packages)?;
        fs::write(done, wanted)?;
        Ok(environment)
    }

    /// A program of the environment, which finds the others there.
    pub(crate) fn command(&self, program: &str) -> Command {
        let programs = self.folder.join("bin");
        let mut command = Command::new(programs.join(program));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path)));
        command.env("PATH", path.unwrap_or_default()).env("VIRTUAL_ENV", &self.folder);
        command.env_remove("PYTHONPATH").env_remove("PYTHONHOME").stdin(Stdio::null());
        command
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Installs by pip.
    pub(crate) fn install(&self, words: &[impl AsRef<OsStr>]) -> io::Result<()> {
        let mut pip = self.command("python");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(words);
        output(&mut pip).map(drop)
    }
}

/// Runs it, and gives its standard output; the error is the last thing that it said.
pub(crate) fn output(command: &mut Command) -> io::Result<String> {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().display().to_string();
    let output = command.output().map_err(|error| io::Error::other(format!("{program}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Err(io::Error::other(format!("{program}: {last}")))
}

/// Makes a wheel or the source archive of the repository at `root` in `folder`, which holds nothing else.
pub(crate) fn maturin(
    tools: &Environment,
    root: &Path,
    folder: &Path,
    words: &[&str],
    settings: &[(String, OsString)],
) -> io::Result<PathBuf> {
    drop(fs::remove_dir_all(folder));
    fs::create_dir_all(folder)?;
    let mut maturin = tools.command("maturin");
    maturin.args(words).arg("--out").arg(folder).current_dir(root.join("python"));
    output(maturin.envs(settings.iter().map(|(name, value)| (name, value))))?;
    let made = fs::read_dir(folder)?.next().ok_or_else(|| io::Error::other("maturin made nothing"))?;
    Ok(made?.path())
}
