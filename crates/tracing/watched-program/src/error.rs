//! Why a program cannot be watched, and what to do about it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use howlate_model::{shell_path, shell_word};
use rustix::io::Errno;

/// A program that was started to be watched, and failed.
#[derive(Debug, thiserror::Error)]
#[error("{program} {how}")]
pub struct ProgramFailed {
    /// What was typed to start it.
    pub program: String,
    /// How it ended.
    pub how: String,
    /// What to do about it, where that is known.
    pub hint: Option<String>,
}

/// Why a program cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The kernel's files on processes are not mounted.
    #[error("processes cannot be seen here: there is no /proc")]
    NoProc,
    /// Nothing runs with that id.
    #[error("there is no process {pid}")]
    NoProcess {
        /// The id that was asked for.
        pid: u32,
    },
    /// Nothing runs under that name.
    #[error("no process is called `{name}`")]
    NoName {
        /// The name that was asked for.
        name: String,
    },
    /// More than one runs under that name.
    #[error("{} processes are called `{name}`: {}", pids.len(), list(pids))]
    Several {
        /// The name that was asked for.
        name: String,
        /// The ids of all of them.
        pids: Vec<u32>,
        /// The one of them that has started the others, or has started who has.
        first: Option<u32>,
    },
    /// It is another user's, and the kernel tells its accounts to nobody else.
    #[error("process {pid} belongs to user {owner}")]
    OfAnother {
        /// The process's id.
        pid: u32,
        /// The id of that user.
        owner: u32,
    },
    /// It is part of the kernel.
    #[error("{pid} ({name}) is a thread of the kernel, which has no program to be late")]
    Kernel {
        /// The process's id.
        pid: u32,
        /// What it is called.
        name: String,
    },
    /// It has ended, and nobody has asked how.
    #[error("process {pid} ({name}) has ended already; its parent, {parent}, has not asked how")]
    Zombie {
        /// The process's id.
        pid: u32,
        /// What it is called.
        name: String,
        /// Who has to ask.
        parent: u32,
    },
    /// It is howlate.
    #[error("process {pid} is this howlate itself")]
    Myself {
        /// The id of this process.
        pid: u32,
    },
    /// The program cannot be started.
    #[error("cannot start `{program}`: {source}")]
    Start {
        /// As it was typed.
        program: String,
        /// The kernel's reason.
        source: io::Error,
    },
}

impl WatchError {
    /// Nothing runs with the id or the name `asked` for.
    pub fn not_there(asked: &str) -> Self {
        match asked.parse() {
            Ok(pid) => Self::NoProcess { pid },
            Err(_) => Self::NoName { name: asked.to_owned() },
        }
    }

    /// What to type instead.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoProc => "as root, `mount -t proc proc /proc`".to_owned(),
            Self::NoName { name } if Path::new(name).is_file() => {
                format!("to start that file: `howlate watch {}`", started_as(Path::new(name)))
            }
            Self::NoName { name } => format!(
                "`pgrep -af {}` finds one by its command line; `howlate watch -- PROGRAM` starts one",
                shell_word(name)
            ),
            Self::NoProcess { .. } => {
                "`ps -e` lists processes and their names; `howlate watch -- PROGRAM` starts one".to_owned()
            }
            Self::Several { first: Some(first), pids, .. } => {
                let other = pids.iter().find(|pid| *pid != first)?;
                format!(
                    "`howlate watch --follow {first}` watches all of them: {first} has started the others, and itself usually only waits for \
                     them; one alone: `howlate watch {other}`"
                )
            }
            Self::Several { pids, first: None, .. } => {
                format!("give one of them, such as `howlate watch {}`", pids.first()?)
            }
            Self::OfAnother { pid, .. } => format!(
                "see what wakes its threads as root: `sudo howlate watch {pid}`; your own programs need no root"
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
                match started_as(Path::new(program)) {
                    words if words.contains(' ') => {
                        format!("start it with its interpreter: `howlate watch {words}`")
                    }
                    words if is_program(Path::new(program)) => {
                        format!("it must be a file that may be executed: `chmod +x {words}`")
                    }
                    _ => "that file is no program: give the path of one, or its name on the PATH".to_owned(),
                }
            }
            Self::Kernel { .. } | Self::Myself { .. } | Self::Start { .. } => return None,
        })
    }
}

/// Whether it begins as programs do: nothing else is to become one that may be executed.
fn is_program(file: &Path) -> bool {
    let mut begins = Vec::new();
    let read = File::open(file).and_then(|file| file.take(4).read_to_end(&mut begins));
    read.is_ok() && (begins.starts_with(b"#!") || begins == b"\x7fELF")
}

/// How a file is started: by the interpreter that it is usually for, or by itself.
pub fn started_as(file: &Path) -> String {
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

fn list(pids: &[u32]) -> String {
    /// More are not told one by one.
    const MOST: usize = 8;
    let mut words: Vec<String> = pids.iter().take(MOST).map(u32::to_string).collect();
    if pids.len() > MOST {
        words.push("…".to_owned());
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_started_by_what_it_is_usually_for() {
        let words = |file: &str| started_as(Path::new(file));
        assert_eq!(words("loop.py"), "python3 loop.py");
        assert_eq!(words("/srv/my service.js"), "node '/srv/my service.js'");
        assert_eq!(words("cyclic"), "./cyclic");
        assert_eq!(words("/usr/bin/cyclic"), "/usr/bin/cyclic");
    }

    #[test]
    fn who_names_a_file_is_told_how_to_start_it() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let hint = WatchError::not_there(file).hint().unwrap();
        assert!(hint.starts_with(&format!("to start that file: `howlate watch {file}`")), "{hint}");
        let hint = WatchError::not_there("my service").hint().unwrap();
        assert!(hint.contains("`pgrep -af 'my service'`"), "{hint}");
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        let refused = WatchError::Start { program: "./loop.py".into(), source };
        assert!(refused.hint().unwrap().contains("`howlate watch python3 ./loop.py`"));
        let of = |program: &str| {
            let source = io::Error::from(io::ErrorKind::PermissionDenied);
            WatchError::Start { program: program.into(), source }.hint().unwrap()
        };
        assert!(of(file).starts_with("that file is no program"), "nothing else is made one that runs");
        let script = howlate_testing::tree(&[("run", "#!/bin/sh\n")]);
        assert!(of(script.path().join("run").to_str().unwrap()).contains("`chmod +x "));
        // What only a filter of system calls says is not about the file.
        let source = Errno::PERM.into();
        let refused = WatchError::Start { program: "./loop.py".into(), source };
        assert!(refused.hint().unwrap().contains("seccomp=unconfined"));
    }
}
