//! Why a load could not be started.

use std::io;

use howlate_model::CpuSet;

/// Why a load could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A program is not there.
    #[error("the load `{load}` needs the program {program}, which is not installed")]
    Missing {
        /// The load, as typed.
        load: String,
        /// The program, as looked for on the path.
        program: &'static str,
        /// The Debian package that brings it.
        package: &'static str,
    },
    /// stress-ng knows neither such a class nor such a stressor.
    #[error(
        "stress-ng has neither a class nor a stressor `{found}`{}",
        nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
    )]
    NoStressor {
        /// What was typed.
        found: String,
        /// The class or stressor whose name is most like it, if any is.
        nearest: Option<String>,
        /// All classes that this stress-ng knows.
        classes: Vec<String>,
    },
    /// There is no such folder, or it cannot be used.
    #[error("the load `{load}` cannot use the folder {folder}: {source}")]
    Folder {
        /// The load, as typed.
        load: String,
        /// The folder, as typed.
        folder: String,
        /// The kernel's reason.
        source: io::Error,
    },
    /// Too little space is left on a disk.
    #[error("the load `{load}` wants {} MiB free in {folder}, and there are {}", wanted >> 20, found >> 20)]
    NoSpace {
        /// The load, as typed.
        load: String,
        /// The folder whose disk is meant.
        folder: String,
        /// Bytes wanted: twice of what it writes.
        wanted: u64,
        /// Bytes that are free there.
        found: u64,
    },
    /// A CPU that it is to run on is not there or not allowed.
    #[error("the load cannot run on CPU {asked}; the kernel lets this process use CPU {bindable}")]
    Cpus {
        /// Where it was to run.
        asked: CpuSet,
        /// Where it can run.
        bindable: CpuSet,
    },
    /// Its helper process could not be started.
    #[error("cannot start the load `{load}`: {source}")]
    Helper {
        /// The load, as typed.
        load: String,
        /// The kernel's reason.
        source: io::Error,
    },
    /// It ended before it began to work.
    #[error("the load `{load}` ended before it began: {words}")]
    Ended {
        /// The load, as typed.
        load: String,
        /// What it said last, or how it ended.
        words: String,
    },
}

impl StartError {
    /// What to do.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Missing { package, .. } => format!("install it: `sudo apt-get install {package}`"),
            Self::NoStressor { classes, .. } => {
                format!(
                    "choose a class ({}), or a stressor that `stress-ng --stressors` lists",
                    classes.join(", ")
                )
            }
            Self::Folder { .. } => {
                "name a folder that exists and that you may use, as in `disk:/var/tmp`".to_owned()
            }
            Self::NoSpace { .. } => {
                "name a folder on another disk, as in `disk:/mnt`, or free space".to_owned()
            }
            Self::Cpus { bindable, .. } => format!("choose from these, with `--load-cpus {bindable}`"),
            Self::Helper { .. } => {
                "the limit on processes may be reached: see `ulimit -u` and the cgroup's pids.max".to_owned()
            }
            Self::Ended { .. } => return None,
        })
    }
}
