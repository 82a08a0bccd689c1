//! Code snippets that change a setting of the calling thread, for copying into a program.
//!
//! `crates/program/howlate/tests/results/snippets.rs` compiles or runs each.

use crate::Priority;

/// Programming language of a snippet.
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
    /// Programs started from it inherit the setting.
    Shell,
}

impl Language {
    /// Display name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::Cpp => "C++",
            Self::Rust => "Rust",
            Self::Python => "Python",
            Self::Shell => "shell",
        }
    }

    /// Separator between statements on one line.
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

/// Code for a setting in one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snippet {
    pub language: Language,
    /// `#include`, `use` or `import`; empty if none is needed.
    header: &'static str,
    /// Further requirements, shown as a comment after the header.
    needs: &'static str,
    /// Each short enough for a terminal of 60 columns.
    statements: &'static [&'static str],
    /// What the setting applies to, if the heading does not say it.
    reach: &'static str,
}

impl Snippet {
    /// The header, then one statement per line.
    pub fn lines(&self) -> Vec<String> {
        let needs = match self.needs {
            "" => String::new(),
            needs => format!("   {}:", self.language.comment(needs)),
        };
        let header = Some(format!("{}{needs}", self.header)).filter(|line| !line.is_empty());
        header.into_iter().chain(self.statements.iter().map(|line| (*line).to_owned())).collect()
    }

    /// The statements with this priority instead of [`Priority::USUAL`], and the requirements as a trailing comment.
    pub fn with_priority(&self, priority: Priority) -> Vec<String> {
        let [usual, requested] = [Priority::USUAL, priority].map(|value| value.get().to_string());
        let mut lines: Vec<String> =
            self.statements.iter().map(|line| line.replace(&usual, &requested)).collect();
        if let Some(last) = lines.last_mut().filter(|_| !self.needs.is_empty()) {
            last.push_str(&format!("   {}", self.language.comment(self.needs)));
        }
        lines
    }

    /// Everything on one line, with requirements and reach as a comment. `#include` lines are left out, as they need their own line.
    pub fn one_line(&self) -> String {
        let header = if self.header.starts_with('#') { "" } else { self.header };
        let parts =
            std::iter::once(header).chain(self.statements.iter().copied()).filter(|part| !part.is_empty());
        let code = parts.collect::<Vec<_>>().join(self.language.separator());
        let remarks: Vec<&str> =
            [self.needs, self.reach].into_iter().filter(|remark| !remark.is_empty()).collect();
        match remarks.join("; ").as_str() {
            "" => code,
            remarks => format!("{code}   {}", self.language.comment(remarks)),
        }
    }
}

/// Code for a setting in each language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snippets {
    pub c: Snippet,
    pub cpp: Snippet,
    pub rust: Snippet,
    pub python: Snippet,
    pub shell: Snippet,
}

impl Snippets {
    pub const fn for_language(&self, language: Language) -> &Snippet {
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

/// Requirements of Rust snippets.
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

/// Shell command for one thread, from outside; `TID` is its id.
pub const FIFO_OF_THREAD: &str = "chrt --reset-on-fork --fifo -p 80 TID";

/// Real-time priority 80 for one thread of a program; threads and programs that it starts stay ordinary.
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
