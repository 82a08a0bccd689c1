//! Why a load could not be started.

use std::io;

use howlate_model::CpuSet;

/// Why a load could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A program is not installed.
    #[error("the load `{load}` needs the program {program}, which is not installed")]
    Missing {
        /// The load, as typed.
        load: String,
        /// Name of the program on the path.
        program: &'static str,
        /// The Debian package that contains it.
        package: &'static str,
    },
    /// stress-ng has neither such a class nor such a stressor.
    #[error(
        "stress-ng has neither a class nor a stressor `{name}`{}",
        nearest.as_ref().map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"))
    )]
    NoStressor {
        /// As typed.
        name: String,
        /// The class or stressor with the most similar name, if any is similar.
        nearest: Option<String>,
        /// All classes of this stress-ng.
        classes: Vec<String>,
    },
    /// The folder does not exist or cannot be used.
    #[error("the load `{load}` cannot use the folder {folder}: {source}")]
    Folder {
        /// The load, as typed.
        load: String,
        /// The folder, as typed.
        folder: String,
        source: io::Error,
    },
    /// Too little free space on a disk.
    #[error("the load `{load}` wants {} MiB free in {folder}, and there are {}", needed >> 20, free >> 20)]
    NoSpace {
        /// The load, as typed.
        load: String,
        /// A folder on that disk.
        folder: String,
        /// Bytes needed: twice the size of the files.
        needed: u64,
        /// Free bytes on the disk.
        free: u64,
    },
    /// A requested CPU is missing or not allowed.
    #[error("the load cannot run on CPU {requested}; the kernel lets this process use CPU {bindable}")]
    Cpus {
        requested: CpuSet,
        /// CPUs to which it can be bound.
        bindable: CpuSet,
    },
    /// The helper process could not be started.
    #[error("cannot start the load `{load}`: {source}")]
    Helper {
        /// The load, as typed.
        load: String,
        source: io::Error,
    },
    /// The load ended before it started to work.
    #[error("the load `{load}` ended before it began: {reason}")]
    Ended {
        /// The load, as typed.
        load: String,
        /// Its last line on standard error, or its exit status.
        reason: String,
    },
}

impl StartError {
    /// Advice to the user.
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
