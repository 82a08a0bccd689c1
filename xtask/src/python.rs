//! Virtual environments below `target/python`, and building `python/` there with maturin.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Packages that build wheels; `wheel` adds platform tags.
pub(crate) const TOOLS: [&str; 2] = ["maturin==1.16.0", "wheel==0.48.0"];

/// A virtual environment of Python.
#[derive(Clone, Debug)]
pub(crate) struct VirtualEnvironment {
    folder: PathBuf,
}

impl VirtualEnvironment {
    /// The environment with this name; created by `python` if it is missing or has other packages. The error is a sentence.
    pub(crate) fn provide(target: &Path, name: &str, python: &str, packages: &[&str]) -> io::Result<Self> {
        let environment = Self { folder: target.join("python").join(name) };
        let (stamp, required) = (environment.folder.join("installed"), packages.join("\n"));
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == required) {
            return Ok(environment);
        }
        let mut venv = Command::new(python);
        output(venv.args(["-m", "venv", "--clear"]).arg(&environment.folder))?;
        environment.install(packages)?;
        fs::write(stamp, required)?;
        Ok(environment)
    }

    /// Runs a program of the environment, with the environment's programs first on its path.
    pub(crate) fn command(&self, program: &str) -> Command {
        let programs = self.folder.join("bin");
        let mut command = Command::new(programs.join(program));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path)));
        command.env("PATH", path.unwrap_or_default()).env("VIRTUAL_ENV", &self.folder);
        command.env_remove("PYTHONPATH").env_remove("PYTHONHOME").stdin(Stdio::null());
        command
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs `pip install` with these arguments.
    pub(crate) fn install(&self, arguments: &[impl AsRef<OsStr>]) -> io::Result<()> {
        let mut pip = self.command("python");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(arguments);
        output(&mut pip).map(drop)
    }
}

/// Runs a command; returns its standard output, or the last line of its output as the error.
pub(crate) fn output(command: &mut Command) -> io::Result<String> {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().display().to_string();
    let output = command.output().map_err(|error| io::Error::other(format!("{program}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let bytes = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Err(io::Error::other(format!("{program}: {last}")))
}

/// Builds a wheel or the source archive of the repository at `root` into `folder`, which is emptied first; returns its path.
pub(crate) fn maturin(
    tools: &VirtualEnvironment,
    root: &Path,
    folder: &Path,
    arguments: &[&str],
    environment: &[(String, OsString)],
) -> io::Result<PathBuf> {
    drop(fs::remove_dir_all(folder));
    fs::create_dir_all(folder)?;
    let mut maturin = tools.command("maturin");
    maturin.args(arguments).arg("--out").arg(folder).current_dir(root.join("python"));
    output(maturin.envs(environment.iter().map(|(name, value)| (name, value))))?;
    let archive = fs::read_dir(folder)?.next().ok_or_else(|| io::Error::other("maturin made nothing"))?;
    Ok(archive?.path())
}
