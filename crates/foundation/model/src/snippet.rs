//! Lines of code that change a setting of the thread that runs them, to be copied into a program: the one table of them.
//!
//! `crates/program/howlate/tests/results/snippets.rs` compiles or runs each.

use crate::Priority;

/// What programs are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C11.
    C,
    /// C++17.
    Cpp,
    /// Rust with the crate `libc`.
    Rust,
    /// Python 3.
    Python,
    /// Whatever is started from it has the setting.
    Shell,
}

impl Language {
    /// Its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::Cpp => "C++",
            Self::Rust => "Rust",
            Self::Python => "Python",
            Self::Shell => "shell",
        }
    }

    /// What stands between statements on one line.
    const fn separator(self) -> &'static str {
        match self {
            Self::C | Self::Cpp | Self::Rust => " ",
            Self::Python => "; ",
            Self::Shell => " && ",
        }
    }

    fn comment(self, text: &str) -> String {
        match self {
            Self::C | Self::Cpp => format!("/* {text} */"),
            Self::Rust => format!("// {text}"),
            Self::Python | Self::Shell => format!("# {text}"),
        }
    }
}

/// How a setting is changed in one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// Language of the lines.
    pub language: Language,
    /// What makes the names known that the statements use: `#include`, `use` or `import`; empty where nothing has to.
    header: &'static str,
    /// What the statements take besides, after the header.
    needs: &'static str,
    /// Each short enough for a terminal of 60 columns.
    statements: &'static [&'static str],
    /// What the setting holds for, where a heading does not say it.
    reach: &'static str,
}

impl Snippet {
    /// One statement on each line, below what they need.
    pub fn lines(&self) -> Vec<String> {
        let needs = match self.needs {
            "" => String::new(),
            needs => format!("   {}:", self.language.comment(needs)),
        };
        let header = Some(format!("{}{needs}", self.header)).filter(|line| !line.is_empty());
        header.into_iter().chain(self.statements.iter().map(|line| (*line).to_owned())).collect()
    }

    /// The statements, with this priority instead of [`Priority::USUAL`], and what they take as a comment behind them.
    pub fn with_priority(&self, priority: Priority) -> Vec<String> {
        let [usual, wanted] = [Priority::USUAL, priority].map(|one| one.get().to_string());
        let mut lines: Vec<String> =
            self.statements.iter().map(|line| line.replace(&usual, &wanted)).collect();
        if let Some(last) = lines.last_mut().filter(|_| !self.needs.is_empty()) {
            last.push_str(&format!("   {}", self.language.comment(self.needs)));
        }
        lines
    }

    /// All in one line, what it takes and what it holds for as a comment. Headers of C, which take a line of their own,
    /// are not named.
    pub fn one_line(&self) -> String {
        let header = if self.header.starts_with('#') { "" } else { self.header };
        let parts =
            std::iter::once(header).chain(self.statements.iter().copied()).filter(|part| !part.is_empty());
        let code = parts.collect::<Vec<_>>().join(self.language.separator());
        let remarks: Vec<&str> = [self.needs, self.reach].into_iter().filter(|one| !one.is_empty()).collect();
        match remarks.join("; ").as_str() {
            "" => code,
            remarks => format!("{code}   {}", self.language.comment(remarks)),
        }
    }
}

/// How a setting is changed in each language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snippets {
    pub c: Snippet,
    pub cpp: Snippet,
    pub rust: Snippet,
    pub python: Snippet,
    pub shell: Snippet,
}

impl Snippets {
    /// That of one language.
    pub const fn written_in(&self, language: Language) -> &Snippet {
        match language {
            Language::C => &self.c,
            Language::Cpp => &self.cpp,
            Language::Rust => &self.rust,
            Language::Python => &self.python,
            Language::Shell => &self.shell,
        }
    }
}

const EACH_THREAD: &str = "in each thread";

/// What names of the crate `libc` need.
const UNSAFE: &str = "crate libc; in an unsafe block";

/// The least timer slack.
///
/// Source: `PR_SET_TIMERSLACK(2const)`; of `prctl(2)`, whose arguments are variadic, that a constant has its suffix.
pub const TIMER_SLACK_CODE: Snippets = Snippets {
    c: Snippet {
        language: Language::C,
        header: "#include <sys/prctl.h>",
        needs: "",
        statements: &["prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);"],
        reach: EACH_THREAD,
    },
    cpp: Snippet {
        language: Language::Cpp,
        header: "#include <sys/prctl.h>",
        needs: "",
        statements: &["prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);"],
        reach: EACH_THREAD,
    },
    rust: Snippet {
        language: Language::Rust,
        header: "use libc::*;",
        needs: UNSAFE,
        statements: &["prctl(PR_SET_TIMERSLACK, 1 as c_ulong);"],
        reach: EACH_THREAD,
    },
    // 29: PR_SET_TIMERSLACK of linux/prctl.h, for which Python has no name.
    python: Snippet {
        language: Language::Python,
        header: "import ctypes",
        needs: "",
        statements: &["PR_SET_TIMERSLACK = 29", "ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1)"],
        reach: EACH_THREAD,
    },
    // Source: `proc_pid_timerslack_ns(5)`; what is started has the slack of the thread that starts it.
    shell: Snippet {
        language: Language::Shell,
        header: "",
        needs: "",
        statements: &["echo 1 > /proc/$$/timerslack_ns", "./my-program"],
        reach: "this shell and what it starts",
    },
};

/// Real-time priority 80.
///
/// Source: `sched_setscheduler(2)`, `pthread_setschedparam(3)`. In C it is the call of POSIX for a thread: musl has the
/// other, which is for a process, answer `ENOSYS` (src/sched/sched_setscheduler.c).
pub const FIFO_CODE: Snippets = Snippets {
    c: Snippet {
        language: Language::C,
        header: "#include <pthread.h>",
        needs: "",
        statements: &[
            "struct sched_param p = { .sched_priority = 80 };",
            "pthread_t me = pthread_self();",
            "pthread_setschedparam(me, SCHED_FIFO, &p);",
        ],
        reach: EACH_THREAD,
    },
    cpp: Snippet {
        language: Language::Cpp,
        header: "#include <pthread.h>",
        needs: "",
        statements: &[
            "sched_param p{}; p.sched_priority = 80;",
            "pthread_t me = pthread_self();",
            "pthread_setschedparam(me, SCHED_FIFO, &p);",
        ],
        reach: EACH_THREAD,
    },
    rust: Snippet {
        language: Language::Rust,
        header: "use libc::*;",
        needs: UNSAFE,
        statements: &[
            "let p = sched_param { sched_priority: 80 };",
            "sched_setscheduler(0, SCHED_FIFO, &p);",
        ],
        reach: EACH_THREAD,
    },
    python: Snippet {
        language: Language::Python,
        header: "import os",
        needs: "",
        statements: &["p = os.sched_param(80)", "os.sched_setscheduler(0, os.SCHED_FIFO, p)"],
        reach: EACH_THREAD,
    },
    shell: Snippet {
        language: Language::Shell,
        header: "",
        needs: "",
        statements: &["chrt --fifo 80 ./my-program"],
        reach: "",
    },
};

const IN_THAT_THREAD: &str = "in that thread";

/// What a shell types for the same of one thread, from outside; `TID` stands for its id.
pub const FIFO_OF_THREAD: &str = "chrt --reset-on-fork --fifo -p 80 TID";

/// Real-time priority 80 for one thread of a program: what it starts stays ordinary.
///
/// Source: `SCHED_RESET_ON_FORK` of `sched(7)`, which glibc's header has for `_GNU_SOURCE` only, as C++ has by itself. What is in C
/// compiles as C++ as well: of a program that runs it is not known which of them it was.
pub const FIFO_OF_THREAD_CODE: Snippets = Snippets {
    c: Snippet {
        language: Language::C,
        header: "#include <pthread.h>",
        needs: "-D_GNU_SOURCE",
        statements: &[
            "struct sched_param p = { .sched_priority = 80 };",
            "pthread_setschedparam(pthread_self(), SCHED_FIFO | SCHED_RESET_ON_FORK, &p);",
        ],
        reach: IN_THAT_THREAD,
    },
    cpp: Snippet {
        language: Language::Cpp,
        header: "#include <pthread.h>",
        needs: "",
        statements: &[
            "sched_param p{}; p.sched_priority = 80;",
            "pthread_setschedparam(pthread_self(), SCHED_FIFO | SCHED_RESET_ON_FORK, &p);",
        ],
        reach: IN_THAT_THREAD,
    },
    rust: Snippet {
        language: Language::Rust,
        header: "",
        needs: UNSAFE,
        statements: &[
            "let p = sched_param { sched_priority: 80 };",
            "sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p);",
        ],
        reach: IN_THAT_THREAD,
    },
    python: Snippet {
        language: Language::Python,
        header: "",
        needs: "",
        statements: &["os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(80))"],
        reach: IN_THAT_THREAD,
    },
    shell: Snippet {
        language: Language::Shell,
        header: "",
        needs: "",
        statements: &[FIFO_OF_THREAD],
        reach: "",
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_says_what_the_lines_say() {
        let Snippets { c, rust, shell, .. } = TIMER_SLACK_CODE;
        assert_eq!(c.lines(), ["#include <sys/prctl.h>", "prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);"]);
        assert_eq!(c.one_line(), "prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);   /* in each thread */");
        assert_eq!(rust.lines()[0], "use libc::*;   // crate libc; in an unsafe block:");
        assert_eq!(
            shell.one_line(),
            "echo 1 > /proc/$$/timerslack_ns && ./my-program   # this shell and what it starts"
        );
    }

    #[test]
    fn a_thread_has_the_priority_that_is_asked_for_and_no_other() {
        let priority = Priority::USUAL.raised(11);
        let Snippets { c, cpp, rust, python, shell } = FIFO_OF_THREAD_CODE;
        for snippet in [c, cpp, rust, python, shell] {
            let all = snippet.with_priority(priority).join("\n");
            assert!(all.matches("91").count() == 1 && !all.contains("80"), "{all}");
        }
        assert!(c.with_priority(priority)[1].ends_with(", &p);   /* -D_GNU_SOURCE */"));
    }
}
