//! Why a program cannot be watched, and what to do about it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use howlate_model::{shell_path, shell_word};
use rustix::io::Errno;

/// The failure of a program that was started to be watched.
#[derive(Debug, thiserror::Error)]
#[error("{program} {how}")]
pub struct ProgramFailed {
    /// First word of its command line.
    pub program: String,
    /// How it ended, as in "ended with status 3".
    pub how: String,
    /// What to do about it, if known.
    pub hint: Option<String>,
}

/// Why a program cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// `/proc` is not mounted.
    #[error("processes cannot be seen here: there is no /proc")]
    NoProc,
    /// No process has that id.
    #[error("there is no process {pid}")]
    NoProcess { pid: u32 },
    /// No process has that name.
    #[error("no process is called `{name}`")]
    NoName { name: String },
    /// More than one process has that name.
    #[error("{} processes are called `{name}`: {}", pids.len(), list(pids))]
    Several {
        name: String,
        pids: Vec<u32>,
        /// The ancestor of all others among them, if there is one.
        first: Option<u32>,
    },
    /// The process belongs to another user, whose events an unprivileged user cannot see.
    #[error("process {pid} belongs to user {owner}")]
    OfAnother {
        pid: u32,
        /// User id.
        owner: u32,
    },
    /// A kernel thread.
    #[error("{pid} ({name}) is a thread of the kernel, which has no program to be late")]
    Kernel { pid: u32, name: String },
    /// The process has ended, and its parent has not waited for it.
    #[error("process {pid} ({name}) has ended already; its parent, {parent}, has not asked how")]
    Zombie { pid: u32, name: String, parent: u32 },
    /// The process is howlate itself.
    #[error("process {pid} is this howlate itself")]
    Myself { pid: u32 },
    /// The program cannot be started.
    #[error("cannot start `{program}`: {source}")]
    Start { program: String, source: io::Error },
}

impl WatchError {
    /// No process with the id or name `query`.
    pub fn not_there(query: &str) -> Self {
        match query.parse() {
            Ok(pid) => Self::NoProcess { pid },
            Err(_) => Self::NoName { name: query.to_owned() },
        }
    }

    /// What to type instead of these arguments, those of the command line.
    pub fn hint(&self, arguments: &[String]) -> Option<String> {
        Some(match self {
            Self::NoProc => "as root, `mount -t proc proc /proc`".to_owned(),
            Self::NoName { name } if Path::new(name).is_file() => {
                format!("to start that file: `howlate watch {}`", start_command(Path::new(name)))
            }
            Self::NoName { name } => format!(
                "`pgrep -af {}` finds one by its command line; `howlate watch -- PROGRAM` starts one",
                shell_word(name)
            ),
            Self::NoProcess { .. } => {
                "`ps -e` lists processes and their names; `howlate watch -- PROGRAM` starts one".to_owned()
            }
            Self::Several { name, first: Some(first), pids } => {
                let other = pids.iter().find(|pid| *pid != first)?;
                format!(
                    "`{}` watches all of them: {first} has started the others, and itself usually only waits for them; one alone: `{}`",
                    command_line(&following(with_id(arguments, name, *first))),
                    command_line(&with_id(arguments, name, *other))
                )
            }
            Self::Several { name, pids, first: None } => {
                format!("give one of them, such as `{}`", command_line(&with_id(arguments, name, *pids.first()?)))
            }
            Self::OfAnother { .. } => format!(
                "see what wakes its threads as root: `sudo {}`; your own programs need no root",
                command_line(arguments)
            ),
            Self::Zombie { parent, .. } => format!("its parent can be watched: `howlate watch {parent}`"),
            Self::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "give the path of a program, or the name of one on the PATH".to_owned()
            }
            // The file's permissions are EACCES (execve(2)).
            Self::Start { source, .. } if source.raw_os_error() == Some(Errno::PERM.raw_os_error()) => {
                "a seccomp filter may forbid a call that starts programs, such as clone3(2), socketpair(2) or memfd_create(2); in a \
                 container, try `--security-opt seccomp=unconfined`"
                    .to_owned()
            }
            Self::Start { program, source } if source.kind() == io::ErrorKind::PermissionDenied => {
                match start_command(Path::new(program)) {
                    command if command.contains(' ') => {
                        format!("start it with its interpreter: `howlate watch {command}`")
                    }
                    command if is_program(Path::new(program)) => {
                        format!("it must be a file that may be executed: `chmod +x {command}`")
                    }
                    _ => "that file is no program: give the path of one, or its name on the PATH".to_owned(),
                }
            }
            Self::Kernel { .. } | Self::Myself { .. } | Self::Start { .. } => return None,
        })
    }
}

/// Whether a file is a script or an ELF file: no other file should be made executable.
fn is_program(file: &Path) -> bool {
    let mut magic = Vec::new();
    let read = File::open(file).and_then(|file| file.take(4).read_to_end(&mut magic));
    read.is_ok() && (magic.starts_with(b"#!") || magic == b"\x7fELF")
}

/// The command that starts a file: with the usual interpreter for its extension, or alone.
pub fn start_command(file: &Path) -> String {
    let interpreter = match file.extension().and_then(OsStr::to_str) {
        Some("py") => "python3 ",
        Some("js" | "mjs") => "node ",
        Some("sh") => "sh ",
        Some("rb") => "ruby ",
        _ => "",
    };
    let here = if interpreter.is_empty() && file.components().count() == 1 { "./" } else { "" };
    format!("{interpreter}{here}{}", shell_path(file))
}

/// The arguments with a process's id instead of its name, which may be one of several with commas between them. A file or thread of
/// that name, in another option, keeps it.
fn with_id(arguments: &[String], name: &str, id: u32) -> Vec<String> {
    const OPTION: &str = "--requests";
    let list = |argument: &str| argument.split('=').next_back().unwrap_or_default().to_owned();
    let is_named = |place: &usize| list(&arguments[*place]).split(',').any(|part| part == name);
    let likelihood = |place: &usize| {
        let before = place.checked_sub(1).map_or("", |before| arguments[before].as_str());
        let is_of_requests = before == OPTION || arguments[*place].starts_with(OPTION);
        (is_of_requests, !before.starts_with('-') && !arguments[*place].starts_with('-'))
    };
    let mut with_id = arguments.to_vec();
    if let Some(place) = (0..arguments.len()).filter(is_named).max_by_key(likelihood) {
        let names = list(&arguments[place]);
        let replace = |part: &str| if part == name { id.to_string() } else { part.to_owned() };
        let ids = names.split(',').map(replace).collect::<Vec<_>>().join(",");
        let option = arguments[place].strip_suffix(&names).unwrap_or_default();
        with_id[place] = format!("{option}{ids}");
    }
    with_id
}

/// The arguments of a `watch` that watches descendants, too; those of another command as they are.
fn following(mut arguments: Vec<String>) -> Vec<String> {
    const OPTION: &str = "--follow";
    if arguments.get(1).is_some_and(|command| command == "watch")
        && !arguments.iter().any(|word| word == OPTION)
    {
        arguments.insert(2, OPTION.to_owned());
    }
    arguments
}

fn command_line(arguments: &[String]) -> String {
    arguments.iter().map(shell_word).collect::<Vec<_>>().join(" ")
}

fn list(pids: &[u32]) -> String {
    /// Number of ids that are listed.
    const MOST: usize = 8;
    let mut ids: Vec<String> = pids.iter().take(MOST).map(u32::to_string).collect();
    if pids.len() > MOST {
        ids.push("…".to_owned());
    }
    ids.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_started_by_what_it_is_usually_for() {
        let command = |file: &str| start_command(Path::new(file));
        assert_eq!(command("loop.py"), "python3 loop.py");
        assert_eq!(command("/srv/my service.js"), "node '/srv/my service.js'");
        assert_eq!(command("cyclic"), "./cyclic");
        assert_eq!(command("/usr/bin/cyclic"), "/usr/bin/cyclic");
    }

    #[test]
    fn what_was_typed_is_kept_but_for_the_name() {
        let several = |first| WatchError::Several { name: "nginx".into(), pids: vec![8, 9], first };
        let hint = |line: &str, first| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            several(first).hint(&arguments).unwrap()
        };
        let watch = "howlate watch --requests nginx --duration 5s";
        assert_eq!(hint(watch, None), "give one of them, such as `howlate watch --requests 8 --duration 5s`");
        let all = hint(watch, Some(8));
        assert!(all.starts_with("`howlate watch --follow --requests 8 --duration 5s` watches all"), "{all}");
        assert!(all.ends_with("one alone: `howlate watch --requests 9 --duration 5s`"), "{all}");
        for option in ["--requests ", "--requests="] {
            let record = hint(&format!("howlate record {option}redis,nginx --out nginx.d"), None);
            let expected =
                format!("give one of them, such as `howlate record {option}redis,8 --out nginx.d`");
            assert_eq!(record, expected);
        }
        for (arguments, expected) in [
            ("howlate watch nginx --out nginx", "howlate watch 8 --out nginx"),
            ("howlate watch --thread nginx nginx", "howlate watch --thread nginx 8"),
            ("howlate watch --out=nginx --requests nginx", "howlate watch --out=nginx --requests 8"),
            (
                "howlate record --requests nginx --process nginx",
                "howlate record --requests 8 --process nginx",
            ),
        ] {
            assert_eq!(hint(arguments, None), format!("give one of them, such as `{expected}`"));
        }
        let of_another = WatchError::OfAnother { pid: 1, owner: 0 };
        let hint = of_another.hint(&["howlate", "watch", "1", "--json"].map(str::to_owned)).unwrap();
        assert!(hint.contains("`sudo howlate watch 1 --json`"), "{hint}");
    }

    #[test]
    fn a_file_name_gets_a_hint_how_to_start_it() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let hint = WatchError::not_there(file).hint(&[]).unwrap();
        assert!(hint.starts_with(&format!("to start that file: `howlate watch {file}`")), "{hint}");
        let hint = WatchError::not_there("my service").hint(&[]).unwrap();
        assert!(hint.contains("`pgrep -af 'my service'`"), "{hint}");
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        let refused = WatchError::Start { program: "./loop.py".into(), source };
        assert!(refused.hint(&[]).unwrap().contains("`howlate watch python3 ./loop.py`"));
        let hint_of = |program: &str| {
            let source = io::Error::from(io::ErrorKind::PermissionDenied);
            WatchError::Start { program: program.into(), source }.hint(&[]).unwrap()
        };
        assert!(hint_of(file).starts_with("that file is no program"), "nothing else is made one that runs");
        let script = howlate_testing::tree(&[("run", "#!/bin/sh\n")]);
        assert!(hint_of(script.path().join("run").to_str().unwrap()).contains("`chmod +x "));
        // EPERM comes from a system call filter, not from the file.
        let source = Errno::PERM.into();
        let refused = WatchError::Start { program: "./loop.py".into(), source };
        assert!(refused.hint(&[]).unwrap().contains("seccomp=unconfined"));
    }
}
