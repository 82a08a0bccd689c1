//! The test programs: what is wrong with each, and what helps.

use super::counsel::ProgramFix;
use super::witnessed::JudgedFigure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectLanguage {
    C,
    Cpp,
    Python,
    Node,
    Go,
    Java,
}

/// Environment of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surroundings {
    Anywhere,
    /// Its folder and its name have spaces.
    Spaces,
    /// A control group with a quota of 4 ms per 100 ms.
    Quota,
    /// A control group without a real-time budget, which is the kernel's default.
    NoRealTime,
    /// As the unprivileged user `nobody`.
    Nobody,
    /// Under nohup, like a daemon started by hand.
    Nohup,
}

/// How howlate is pointed to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    Started,
    ByPid,
    ByName(&'static str),
    /// By the ID of the oldest process with this name, with `--follow`.
    Follow(&'static str),
}

/// A test program with its arguments and environment.
pub struct Subject {
    pub name: &'static str,
    pub language: SubjectLanguage,
    /// The file in `programs/`, without its extension.
    pub file: &'static str,
    pub arguments: &'static [&'static str],
    /// Arguments of `hog`, one string per competing process.
    pub beside: &'static [&'static str],
    pub place: Surroundings,
    pub watched: Watched,
    /// What helps; empty if nothing does, or no help is needed.
    pub cures: &'static [ProgramFix],
    /// Threads of the program that delay its other threads.
    pub culprits: &'static [&'static str],
    pub figure: JudgedFigure,
}

/// An ordinary hog of three threads, which sometimes sleep: otherwise the scheduler would soon treat them as batch work.
const HOG: &str = "3 1500 300";
const HOG_OF_50: &str = "1 20000 20000 50";
const HOG_OF_90: &str = "1 20000 20000 90";
const HOG_OF_20: &str = "1 20000 20000 20";
/// Takes a tenth of the CPU, in bursts of 20 ms.
const RARE_HOG: &str = "1 20000 180000";

const C: Subject = Subject {
    name: "",
    language: SubjectLanguage::C,
    file: "",
    arguments: &[],
    beside: &[],
    place: Surroundings::Anywhere,
    watched: Watched::Started,
    cures: &[],
    culprits: &[],
    figure: JudgedFigure::P99,
};
const CPP: Subject = Subject { language: SubjectLanguage::Cpp, ..C };
const PYTHON: Subject = Subject { language: SubjectLanguage::Python, ..C };
const NODE: Subject = Subject { language: SubjectLanguage::Node, ..C };
const GO: Subject = Subject { language: SubjectLanguage::Go, file: "ticker", ..C };
const JAVA: Subject =
    Subject { language: SubjectLanguage::Java, file: "Ticker", watched: Watched::ByPid, ..C };

/// A server of another project, and its client.
const SERVER: Subject = Subject { file: "server", beside: &[HOG], figure: JudgedFigure::Mean, ..PYTHON };

/// A single thread, delayed by the hog.
const LOOP: Subject = Subject {
    file: "loop",
    arguments: &["1000", "50"],
    beside: &[HOG],
    cures: &[ProgramFix::RealTime, ProgramFix::Nice],
    figure: JudgedFigure::Mean,
    ..C
};

use ProgramFix::{
    Inherit, LessWork, LockMemory, Nice, OtherProcess, OtherThread, OwnSwitch, Quota, RealTime, Runtime,
    Slack, SwitchInterval, UntilATime,
};

pub const SUBJECTS: [Subject; 63] = [
    Subject { name: "loop beside a hog", ..LOOP },
    Subject { name: "loop beside a hog, by pid", watched: Watched::ByPid, ..LOOP },
    Subject { name: "loop beside a hog, by name", watched: Watched::ByName("loop"), ..LOOP },
    Subject {
        name: "loop under nohup, by name",
        place: Surroundings::Nohup,
        watched: Watched::ByName("loop"),
        ..LOOP
    },
    Subject { name: "loop beside a rare hog", beside: &[RARE_HOG], figure: JudgedFigure::P99, ..LOOP },
    Subject { name: "loop beside fifo 50", beside: &[HOG_OF_50], cures: &[RealTime], ..LOOP },
    Subject { name: "loop beside fifo 90", beside: &[HOG_OF_90], cures: &[RealTime], ..LOOP },
    Subject {
        name: "loop beside fifo 90, by pid",
        beside: &[HOG_OF_90],
        cures: &[RealTime],
        watched: Watched::ByPid,
        ..LOOP
    },
    Subject {
        name: "loop of fifo 10 beside fifo 20",
        arguments: &["1000", "50", "fifo=10"],
        beside: &[HOG_OF_20],
        cures: &[RealTime],
        ..LOOP
    },
    Subject {
        name: "loop of fifo 10 beside fifo 20, by pid",
        arguments: &["1000", "50", "fifo=10"],
        beside: &[HOG_OF_20],
        cures: &[RealTime],
        watched: Watched::ByPid,
        ..LOOP
    },
    Subject { name: "loop alone", beside: &[], cures: &[Slack], ..LOOP },
    Subject {
        name: "real-time loop alone",
        arguments: &["1000", "50", "fifo=80"],
        beside: &[],
        cures: &[],
        ..LOOP
    },
    Subject {
        name: "loop with a large timer slack",
        arguments: &["5000", "50", "slack=20000000"],
        beside: &[],
        cures: &[Slack],
        ..LOOP
    },
    Subject {
        name: "loop with a large timer slack, by pid",
        arguments: &["5000", "50", "slack=20000000"],
        beside: &[],
        cures: &[Slack],
        watched: Watched::ByPid,
        ..LOOP
    },
    Subject { name: "loop in a path with spaces", place: Surroundings::Spaces, ..LOOP },
    Subject {
        name: "loop that renames itself, by pid",
        arguments: &["1000", "50", "rename"],
        watched: Watched::ByPid,
        ..LOOP
    },
    Subject {
        name: "loop with another name, by that name",
        arguments: &["1000", "50", "name=motion ctl"],
        watched: Watched::ByName("motion ctl"),
        ..LOOP
    },
    Subject {
        name: "loop with a quota, by name",
        arguments: &["10000", "700"],
        beside: &[],
        place: Surroundings::Quota,
        watched: Watched::ByName("loop"),
        cures: &[Quota, LessWork],
        figure: JudgedFigure::P99,
        ..LOOP
    },
    Subject {
        name: "loop with a quota, by pid",
        arguments: &["10000", "700"],
        beside: &[],
        place: Surroundings::Quota,
        watched: Watched::ByPid,
        cures: &[Quota, LessWork],
        figure: JudgedFigure::P99,
        ..LOOP
    },
    Subject {
        name: "loop without a real-time share, by pid",
        place: Surroundings::NoRealTime,
        watched: Watched::ByPid,
        ..LOOP
    },
    Subject { name: "loop of nobody", place: Surroundings::Nobody, cures: &[], ..LOOP },
    Subject { name: "loop of nobody, by pid", place: Surroundings::Nobody, watched: Watched::ByPid, ..LOOP },
    Subject {
        name: "siblings that compute",
        file: "sibling",
        cures: &[RealTime],
        culprits: &["cruncher"],
        ..C
    },
    Subject {
        name: "siblings that compute, by pid",
        file: "sibling",
        cures: &[RealTime],
        culprits: &["cruncher"],
        watched: Watched::ByPid,
        ..C
    },
    Subject { name: "siblings of one name", file: "sibling", arguments: &["same"], cures: &[RealTime], ..C },
    Subject {
        name: "siblings of one name, by pid",
        file: "sibling",
        arguments: &["same"],
        cures: &[RealTime],
        watched: Watched::ByPid,
        ..C
    },
    Subject {
        name: "lock that a sibling has",
        file: "lock",
        cures: &[Inherit, LessWork],
        culprits: &["planner", "backlog"],
        ..C
    },
    Subject {
        name: "priority inversion",
        file: "inversion",
        cures: &[Inherit, LessWork],
        culprits: &["low", "middle"],
        ..C
    },
    Subject {
        name: "priority inversion, by pid",
        file: "inversion",
        cures: &[Inherit, LessWork],
        culprits: &["low", "middle"],
        watched: Watched::ByPid,
        ..C
    },
    Subject {
        name: "turns that are caught up",
        file: "catchup",
        cures: &[RealTime],
        culprits: &["taker"],
        figure: JudgedFigure::Mean,
        ..C
    },
    Subject {
        name: "turns that are caught up, by pid",
        file: "catchup",
        cures: &[RealTime],
        culprits: &["taker"],
        figure: JudgedFigure::Mean,
        watched: Watched::ByPid,
        ..C
    },
    Subject {
        name: "writes to a slow pipe",
        file: "blocking",
        arguments: &["pipe"],
        cures: &[OtherThread],
        figure: JudgedFigure::Mean,
        ..C
    },
    Subject {
        name: "waits for the disk",
        file: "blocking",
        arguments: &["fsync"],
        cures: &[OtherThread],
        figure: JudgedFigure::Mean,
        ..C
    },
    Subject { name: "runtime of a deadline used up", file: "deadline", cures: &[Runtime], ..C },
    Subject {
        name: "sleeps for a length",
        file: "drift",
        cures: &[UntilATime],
        figure: JudgedFigure::Mean,
        ..C
    },
    Subject { name: "cold pages", file: "cold", cures: &[LockMemory], figure: JudgedFigure::Mean, ..C },
    Subject {
        name: "service of five threads",
        file: "service",
        cures: &[RealTime, Inherit, LessWork],
        culprits: &["housekeeper", "hog"],
        ..C
    },
    Subject {
        name: "service of five threads, by pid",
        file: "service",
        cures: &[RealTime, Inherit, LessWork],
        culprits: &["housekeeper", "hog"],
        watched: Watched::ByPid,
        ..C
    },
    Subject {
        name: "service with an inversion",
        file: "service",
        arguments: &["inversion"],
        cures: &[Inherit, LessWork],
        culprits: &["housekeeper", "hog"],
        ..C
    },
    Subject { name: "threads that spin", file: "spin", culprits: &["compute"], ..C },
    Subject {
        name: "threads of two policies",
        file: "policies",
        beside: &[HOG],
        cures: &[RealTime, Nice],
        figure: JudgedFigure::Mean,
        ..C
    },
    Subject {
        name: "twenty threads beside a hog",
        file: "twenty",
        beside: &[HOG],
        cures: &[RealTime, Nice],
        figure: JudgedFigure::Mean,
        ..C
    },
    Subject {
        name: "twenty threads and six that compute",
        file: "twenty",
        arguments: &["computing"],
        cures: &[RealTime],
        culprits: &["compute"],
        figure: JudgedFigure::Mean,
        ..C
    },
    Subject {
        name: "thread that has ended, by pid",
        file: "ended",
        beside: &[HOG],
        cures: &[RealTime, Nice],
        figure: JudgedFigure::Mean,
        watched: Watched::ByPid,
        ..C
    },
    Subject {
        name: "throttled by its own planner",
        file: "throttled",
        cures: &[RealTime, LessWork],
        culprits: &["planner"],
        ..C
    },
    Subject {
        name: "woken by another thread",
        file: "handed_on",
        beside: &[HOG],
        cures: &[RealTime, Nice],
        figure: JudgedFigure::Mean,
        ..C
    },
    Subject {
        name: "controller in C++",
        file: "control",
        cures: &[RealTime, Inherit, OtherThread, LessWork],
        culprits: &["planner"],
        ..CPP
    },
    Subject {
        name: "pool beside a user interface",
        file: "pool",
        cures: &[RealTime, Nice],
        culprits: &["pool"],
        figure: JudgedFigure::Mean,
        ..CPP
    },
    Subject {
        name: "std::this_thread::sleep_for",
        file: "sleeps_for",
        cures: &[UntilATime],
        figure: JudgedFigure::Mean,
        ..CPP
    },
    Subject {
        name: "Python loop beside a hog",
        file: "loop",
        beside: &[HOG],
        cures: &[RealTime, Nice],
        figure: JudgedFigure::Mean,
        ..PYTHON
    },
    Subject {
        name: "Python and its lock",
        file: "gil",
        cures: &[SwitchInterval, OtherProcess],
        figure: JudgedFigure::Mean,
        ..PYTHON
    },
    Subject {
        name: "controller in Python",
        file: "control",
        cures: &[SwitchInterval, OtherProcess],
        figure: JudgedFigure::Mean,
        ..PYTHON
    },
    Subject {
        name: "time.sleep for a length",
        file: "drift",
        cures: &[UntilATime],
        figure: JudgedFigure::Mean,
        ..PYTHON
    },
    Subject {
        name: "asyncio and a call that blocks",
        file: "service",
        arguments: &["blocking"],
        cures: &[OtherThread],
        figure: JudgedFigure::Mean,
        ..PYTHON
    },
    Subject {
        name: "asyncio and its own work",
        file: "service",
        arguments: &["computing"],
        cures: &[OtherProcess, OtherThread],
        figure: JudgedFigure::Mean,
        ..PYTHON
    },
    Subject {
        name: "processes that a loop started",
        file: "fork_pool",
        cures: &[RealTime, Nice],
        figure: JudgedFigure::Mean,
        ..PYTHON
    },
    Subject {
        name: "Node and its own work",
        file: "service",
        arguments: &["computing"],
        cures: &[OtherThread, LessWork],
        figure: JudgedFigure::Mean,
        ..NODE
    },
    Subject {
        name: "Node and files",
        file: "service",
        arguments: &["files"],
        cures: &[OtherThread],
        figure: JudgedFigure::Mean,
        ..NODE
    },
    Subject {
        name: "Go beside its own goroutines",
        arguments: &["spinning"],
        cures: &[LessWork],
        figure: JudgedFigure::Mean,
        ..GO
    },
    Subject {
        name: "Java under a lock, by pid",
        arguments: &["locking"],
        cures: &[LessWork],
        figure: JudgedFigure::Mean,
        ..JAVA
    },
    Subject {
        name: "Redis beside a hog, by name",
        arguments: &["redis"],
        watched: Watched::ByName("redis-server"),
        cures: &[RealTime, Nice],
        ..SERVER
    },
    Subject {
        name: "PostgreSQL beside a hog, by pid",
        arguments: &["postgres"],
        watched: Watched::Follow("postgres"),
        cures: &[RealTime, Nice],
        ..SERVER
    },
    Subject {
        name: "JACK beside a hog, by name",
        arguments: &["jack"],
        watched: Watched::ByName("jackd"),
        cures: &[OwnSwitch, RealTime],
        ..SERVER
    },
];

impl Watched {
    /// The name by which its processes are known.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::ByName(name) | Self::Follow(name) => Some(name),
            Self::Started | Self::ByPid => None,
        }
    }
}

impl Subject {
    /// A server program that has to be installed.
    pub fn needs(&self) -> Option<&'static str> {
        match (self.file, self.arguments) {
            ("server", ["redis"]) => Some("redis-server"),
            ("server", ["postgres"]) => Some("postgres"),
            ("server", ["jack"]) => Some("jackd"),
            _ => None,
        }
    }

    /// The command line, relative to the folder of all programs.
    pub fn command(&self) -> Vec<String> {
        let file = self.file;
        let first: Vec<String> = match (self.language, self.place) {
            (SubjectLanguage::Python, _) => vec!["python3".to_owned(), format!("{file}.py")],
            (SubjectLanguage::Node, _) => vec!["node".to_owned(), format!("{file}.js")],
            (SubjectLanguage::Java, _) => vec!["java".to_owned(), file.to_owned()],
            (_, Surroundings::Spaces) => vec![format!("./my programs/the {file}")],
            _ => vec![format!("./{file}{}", if self.language == SubjectLanguage::Cpp { "-cpp" } else { "" })],
        };
        first.into_iter().chain(self.arguments.iter().map(|argument| (*argument).to_owned())).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_program_is_there_once_and_takes_the_cures_that_are_claimed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/truth/advice/programs");
        let mut names: Vec<&str> = SUBJECTS.iter().map(|subject| subject.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SUBJECTS.len());
        assert!(SUBJECTS.len() >= 40);
        for subject in &SUBJECTS {
            let source = folder.join(subject.source());
            let text = std::fs::read_to_string(&source).unwrap_or_default();
            assert!(text.len() > 300, "{}: {}", subject.name, source.display());
            let is_outside = !subject.beside.is_empty() || subject.place == Surroundings::Quota;
            let takes_one = subject.cures.iter().any(|cure| subject.takes(*cure));
            assert!(is_outside || takes_one || subject.cures.is_empty(), "{} takes no cure", subject.name);
        }
    }
}
