//! The programs: each with what is wrong with it, and what cures it.

use super::counsel::Cure;
use super::witnessed::Figure;

/// How a program is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    C,
    Cpp,
    Python,
    Node,
    Go,
    Java,
}

/// What surrounds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Anywhere,
    /// Its folder and its name have spaces.
    Spaces,
    /// A control group with 4 ms in each 100 ms.
    Quota,
    /// A control group to which the kernel gives no real-time running time until somebody does.
    NoRealTime,
    /// As nobody, who may set little.
    Nobody,
    /// Under nohup, as daemons are started by hand.
    Nohup,
}

/// How howlate is told which program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    Started,
    ByPid,
    /// By that name.
    ByName(&'static str),
    /// By the process id of the oldest of that name, with those that it starts.
    Follow(&'static str),
}

/// One program, as it is started once.
pub struct Subject {
    pub name: &'static str,
    pub language: Language,
    /// The file below `programs`, without its ending.
    pub file: &'static str,
    pub words: &'static [&'static str],
    /// What contends with it: the words of `hog`, one each.
    pub beside: &'static [&'static str],
    pub place: Place,
    pub watched: Watched,
    /// What helps; none where nothing does, or nothing has to.
    pub cures: &'static [Cure],
    /// Its own threads that make others of its threads late.
    pub culprits: &'static [&'static str],
    pub figure: Figure,
}

/// An ordinary hog of three threads, which sleep from time to time, as those that never do count as batch work soon.
const HOG: &str = "3 1500 300";
const HOG_OF_50: &str = "1 20000 20000 50";
const HOG_OF_90: &str = "1 20000 20000 90";
const HOG_OF_20: &str = "1 20000 20000 20";
/// It takes a tenth of the CPU, in stretches of 20 ms.
const RARE_HOG: &str = "1 20000 180000";

const C: Subject = Subject {
    name: "",
    language: Language::C,
    file: "",
    words: &[],
    beside: &[],
    place: Place::Anywhere,
    watched: Watched::Started,
    cures: &[],
    culprits: &[],
    figure: Figure::P99,
};
const CPP: Subject = Subject { language: Language::Cpp, ..C };
const PYTHON: Subject = Subject { language: Language::Python, ..C };
const NODE: Subject = Subject { language: Language::Node, ..C };
const GO: Subject = Subject { language: Language::Go, file: "ticker", ..C };
const JAVA: Subject = Subject { language: Language::Java, file: "Ticker", watched: Watched::ByPid, ..C };

/// A server of others, and who asks it.
const SERVER: Subject = Subject { file: "server", beside: &[HOG], figure: Figure::Mean, ..PYTHON };

/// One thread, late because of others.
const LOOP: Subject = Subject {
    file: "loop",
    words: &["1000", "50"],
    beside: &[HOG],
    cures: &[Cure::RealTime, Cure::Nice],
    figure: Figure::Mean,
    ..C
};

use Cure::{
    Inherit, LessWork, LockMemory, Nice, OtherProcess, OtherThread, OwnSwitch, Quota, RealTime, Runtime,
    Slack, SwitchInterval, UntilATime,
};

/// All of them.
pub const SUBJECTS: [Subject; 63] = [
    Subject { name: "loop beside a hog", ..LOOP },
    Subject { name: "loop beside a hog, by pid", watched: Watched::ByPid, ..LOOP },
    Subject { name: "loop beside a hog, by name", watched: Watched::ByName("loop"), ..LOOP },
    Subject {
        name: "loop under nohup, by name",
        place: Place::Nohup,
        watched: Watched::ByName("loop"),
        ..LOOP
    },
    Subject { name: "loop beside a rare hog", beside: &[RARE_HOG], figure: Figure::P99, ..LOOP },
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
        words: &["1000", "50", "fifo=10"],
        beside: &[HOG_OF_20],
        cures: &[RealTime],
        ..LOOP
    },
    Subject {
        name: "loop of fifo 10 beside fifo 20, by pid",
        words: &["1000", "50", "fifo=10"],
        beside: &[HOG_OF_20],
        cures: &[RealTime],
        watched: Watched::ByPid,
        ..LOOP
    },
    Subject { name: "loop alone", beside: &[], cures: &[Slack], ..LOOP },
    Subject {
        name: "real-time loop alone",
        words: &["1000", "50", "fifo=80"],
        beside: &[],
        cures: &[],
        ..LOOP
    },
    Subject {
        name: "loop with a large timer slack",
        words: &["5000", "50", "slack=20000000"],
        beside: &[],
        cures: &[Slack],
        ..LOOP
    },
    Subject {
        name: "loop with a large timer slack, by pid",
        words: &["5000", "50", "slack=20000000"],
        beside: &[],
        cures: &[Slack],
        watched: Watched::ByPid,
        ..LOOP
    },
    Subject { name: "loop in a path with spaces", place: Place::Spaces, ..LOOP },
    Subject {
        name: "loop that renames itself, by pid",
        words: &["1000", "50", "rename"],
        watched: Watched::ByPid,
        ..LOOP
    },
    Subject {
        name: "loop with another name, by that name",
        words: &["1000", "50", "name=motion ctl"],
        watched: Watched::ByName("motion ctl"),
        ..LOOP
    },
    Subject {
        name: "loop with a quota, by name",
        words: &["10000", "700"],
        beside: &[],
        place: Place::Quota,
        watched: Watched::ByName("loop"),
        cures: &[Quota, LessWork],
        figure: Figure::P99,
        ..LOOP
    },
    Subject {
        name: "loop with a quota, by pid",
        words: &["10000", "700"],
        beside: &[],
        place: Place::Quota,
        watched: Watched::ByPid,
        cures: &[Quota, LessWork],
        figure: Figure::P99,
        ..LOOP
    },
    Subject {
        name: "loop without a real-time share, by pid",
        place: Place::NoRealTime,
        watched: Watched::ByPid,
        ..LOOP
    },
    Subject { name: "loop of nobody", place: Place::Nobody, cures: &[], ..LOOP },
    Subject { name: "loop of nobody, by pid", place: Place::Nobody, watched: Watched::ByPid, ..LOOP },
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
    Subject { name: "siblings of one name", file: "sibling", words: &["same"], cures: &[RealTime], ..C },
    Subject {
        name: "siblings of one name, by pid",
        file: "sibling",
        words: &["same"],
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
        figure: Figure::Mean,
        ..C
    },
    Subject {
        name: "turns that are caught up, by pid",
        file: "catchup",
        cures: &[RealTime],
        culprits: &["taker"],
        figure: Figure::Mean,
        watched: Watched::ByPid,
        ..C
    },
    Subject {
        name: "writes to a slow pipe",
        file: "blocking",
        words: &["pipe"],
        cures: &[OtherThread],
        figure: Figure::Mean,
        ..C
    },
    Subject {
        name: "waits for the disk",
        file: "blocking",
        words: &["fsync"],
        cures: &[OtherThread],
        figure: Figure::Mean,
        ..C
    },
    Subject { name: "runtime of a deadline used up", file: "deadline", cures: &[Runtime], ..C },
    Subject { name: "sleeps for a length", file: "drift", cures: &[UntilATime], figure: Figure::Mean, ..C },
    Subject { name: "cold pages", file: "cold", cures: &[LockMemory], figure: Figure::Mean, ..C },
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
        words: &["inversion"],
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
        figure: Figure::Mean,
        ..C
    },
    Subject {
        name: "twenty threads beside a hog",
        file: "twenty",
        beside: &[HOG],
        cures: &[RealTime, Nice],
        figure: Figure::Mean,
        ..C
    },
    Subject {
        name: "twenty threads and six that compute",
        file: "twenty",
        words: &["computing"],
        cures: &[RealTime],
        culprits: &["compute"],
        figure: Figure::Mean,
        ..C
    },
    Subject {
        name: "thread that has ended, by pid",
        file: "ended",
        beside: &[HOG],
        cures: &[RealTime, Nice],
        figure: Figure::Mean,
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
        figure: Figure::Mean,
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
        figure: Figure::Mean,
        ..CPP
    },
    Subject {
        name: "std::this_thread::sleep_for",
        file: "sleeps_for",
        cures: &[UntilATime],
        figure: Figure::Mean,
        ..CPP
    },
    Subject {
        name: "Python loop beside a hog",
        file: "loop",
        beside: &[HOG],
        cures: &[RealTime, Nice],
        figure: Figure::Mean,
        ..PYTHON
    },
    Subject {
        name: "Python and its lock",
        file: "gil",
        cures: &[SwitchInterval, OtherProcess],
        figure: Figure::Mean,
        ..PYTHON
    },
    Subject {
        name: "controller in Python",
        file: "control",
        cures: &[SwitchInterval, OtherProcess],
        figure: Figure::Mean,
        ..PYTHON
    },
    Subject {
        name: "time.sleep for a length",
        file: "drift",
        cures: &[UntilATime],
        figure: Figure::Mean,
        ..PYTHON
    },
    Subject {
        name: "asyncio and a call that blocks",
        file: "service",
        words: &["blocking"],
        cures: &[OtherThread],
        figure: Figure::Mean,
        ..PYTHON
    },
    Subject {
        name: "asyncio and its own work",
        file: "service",
        words: &["computing"],
        cures: &[OtherProcess, OtherThread],
        figure: Figure::Mean,
        ..PYTHON
    },
    Subject {
        name: "processes that a loop started",
        file: "fork_pool",
        cures: &[RealTime, Nice],
        figure: Figure::Mean,
        ..PYTHON
    },
    Subject {
        name: "Node and its own work",
        file: "service",
        words: &["computing"],
        cures: &[OtherThread, LessWork],
        figure: Figure::Mean,
        ..NODE
    },
    Subject {
        name: "Node and files",
        file: "service",
        words: &["files"],
        cures: &[OtherThread],
        figure: Figure::Mean,
        ..NODE
    },
    Subject {
        name: "Go beside its own goroutines",
        words: &["spinning"],
        cures: &[LessWork],
        figure: Figure::Mean,
        ..GO
    },
    Subject {
        name: "Java under a lock, by pid",
        words: &["locking"],
        cures: &[LessWork],
        figure: Figure::Mean,
        ..JAVA
    },
    Subject {
        name: "Redis beside a hog, by name",
        words: &["redis"],
        watched: Watched::ByName("redis-server"),
        cures: &[RealTime, Nice],
        ..SERVER
    },
    Subject {
        name: "PostgreSQL beside a hog, by pid",
        words: &["postgres"],
        watched: Watched::Follow("postgres"),
        cures: &[RealTime, Nice],
        ..SERVER
    },
    Subject {
        name: "JACK beside a hog, by name",
        words: &["jack"],
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
    /// A program of others that it needs.
    pub fn needs(&self) -> Option<&'static str> {
        match (self.file, self.words) {
            ("server", ["redis"]) => Some("redis-server"),
            ("server", ["postgres"]) => Some("postgres"),
            ("server", ["jack"]) => Some("jackd"),
            _ => None,
        }
    }

    /// The words by which it is started in the folder of all programs.
    pub fn command(&self) -> Vec<String> {
        let file = self.file;
        let first: Vec<String> = match (self.language, self.place) {
            (Language::Python, _) => vec!["python3".to_owned(), format!("{file}.py")],
            (Language::Node, _) => vec!["node".to_owned(), format!("{file}.js")],
            (Language::Java, _) => vec!["java".to_owned(), file.to_owned()],
            (_, Place::Spaces) => vec![format!("./my programs/the {file}")],
            _ => vec![format!("./{file}{}", if self.language == Language::Cpp { "-cpp" } else { "" })],
        };
        first.into_iter().chain(self.words.iter().map(|word| (*word).to_owned())).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_program_is_there_once_and_takes_the_cures_that_are_claimed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/truth/advice/programs");
        let mut names: Vec<&str> = SUBJECTS.iter().map(|one| one.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SUBJECTS.len());
        assert!(SUBJECTS.len() >= 40);
        for subject in &SUBJECTS {
            let source = folder.join(subject.source());
            let text = std::fs::read_to_string(&source).unwrap_or_default();
            assert!(text.len() > 300, "{}: {}", subject.name, source.display());
            let is_outside = !subject.beside.is_empty() || subject.place == Place::Quota;
            let takes_one = subject.cures.iter().any(|cure| subject.takes(*cure));
            assert!(is_outside || takes_one || subject.cures.is_empty(), "{} takes no cure", subject.name);
        }
    }
}
