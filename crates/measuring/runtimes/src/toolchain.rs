//! Finds interpreters and compilers, and names the package of missing ones.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use howlate_model::Runtime;
use rustix::fs::{Access, access};

use crate::error::MissingRuntime;
use crate::recipe::{Interpreter, Recipe, RequiredTool};

/// Why `runtime` cannot be measured on this machine; `None` if it can.
pub fn missing(runtime: Runtime) -> Option<MissingRuntime> {
    match (runtime, Recipe::for_runtime(runtime)) {
        (Runtime::Own(program), _) => not_a_program(Path::new(program.path())),
        (_, Some(recipe)) => recipe.tools().find(|tool| find(*tool).is_none()).map(not_installed),
        (_, None) => None,
    }
}

const fn not_installed(tool: RequiredTool) -> MissingRuntime {
    MissingRuntime::NotInstalled { names: tool.names, package: tool.package }
}

fn not_a_program(path: &Path) -> Option<MissingRuntime> {
    if !path.exists() {
        return Some(MissingRuntime::NoSuchProgram);
    }
    if path.is_dir() {
        return Some(MissingRuntime::Folder);
    }
    access(path, Access::EXEC_OK).err().map(|_| MissingRuntime::NotExecutable { path: path.to_owned() })
}

/// Path of `tool`.
pub(crate) fn find(tool: RequiredTool) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> =
        path.as_bytes().split(|byte| *byte == b':').map(|folder| OsStr::from_bytes(folder).into()).collect();
    let places = tool.names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|place| place.is_file() && access(place, Access::EXEC_OK).is_ok())
}

/// Real path of `interpreter`, behind the wrapper of a version manager.
pub(crate) fn find_itself(interpreter: Interpreter) -> Option<PathBuf> {
    let found = find(interpreter.tool)?;
    let real_path = |arguments| PathBuf::from(first_line(&found, arguments));
    Some(interpreter.place.map(real_path).filter(|place| place.is_file()).unwrap_or(found))
}

/// The first line of the output of a program; may be empty.
pub(crate) fn first_line(program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let text = output.map(|output| [output.stdout, output.stderr].concat()).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::OwnProgram;

    fn own(path: &str) -> Option<String> {
        missing(Runtime::Own(OwnProgram::new(path))).map(|reason| reason.to_string())
    }

    #[test]
    fn a_tool_is_found_where_the_path_says_or_named_with_its_package() {
        assert!(
            find(RequiredTool { names: &["no-such-shell", "sh"], package: "dash" }).unwrap().ends_with("sh")
        );
        let absent = RequiredTool { names: &["no-such-compiler"], package: "none" };
        assert_eq!(find(absent), None);
        assert_eq!(
            not_installed(absent).to_string(),
            "no-such-compiler is not installed; on Debian: `apt-get install none`"
        );
    }

    #[test]
    fn a_program_of_the_users_own_must_be_one() {
        assert_eq!(own("/bin/sh"), None);
        assert!(own("/no/such/program").unwrap().contains("no such program"));
        assert!(own("/").unwrap().contains("a folder"));
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        assert!(own(path).unwrap().contains(&format!("chmod +x {path}")));
    }
}
