//! Lines of code that change a setting of the thread that runs them, to be copied into a program.

use howlate_analyse::{Analysis, Insight};
use howlate_model::{Mechanism, Runtime};

use crate::prose::capitalised;
use crate::style::{COMMAND, DIM, HEADING, paint};

/// What a program changes of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    TimerSlack,
    Priority,
}

impl Setting {
    /// What it does, and what it takes.
    const fn about(self) -> &'static str {
        match self {
            Self::TimerSlack => "no timer slack, in each thread; needs no privileges",
            Self::Priority => "real-time priority in each thread (root or a raised limit)",
        }
    }
}

/// What programs are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    C,
    Cpp,
    Rust,
    Python,
    /// Whatever is started from it has the setting.
    Shell,
}

impl Language {
    const fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::Cpp => "C++",
            Self::Rust => "Rust",
            Self::Python => "Python",
            Self::Shell => "shell",
        }
    }

    /// The languages to show to those who measured `mechanism`: its own, or those in which people call the kernel.
    const fn of(mechanism: Mechanism) -> &'static [Self] {
        match mechanism {
            Mechanism::Runtime(Runtime::Python) => &[Self::Python],
            Mechanism::Runtime(Runtime::C) => &[Self::C],
            Mechanism::Runtime(Runtime::Cpp) => &[Self::Cpp],
            Mechanism::Runtime(Runtime::Rust | Runtime::Tokio) => &[Self::Rust],
            Mechanism::Runtime(_) => &[Self::Shell],
            _ => &[Self::C, Self::Cpp, Self::Rust, Self::Python],
        }
    }

    /// The lines, each short enough for a narrow terminal.
    const fn lines(self, setting: Setting) -> &'static [&'static str] {
        match (setting, self) {
            (Setting::TimerSlack, Self::C | Self::Cpp) => {
                &["#include <sys/prctl.h>", "prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);"]
            }
            (Setting::TimerSlack, Self::Rust) => &[
                "use libc::*;   // crate libc; in an unsafe block:",
                "prctl(PR_SET_TIMERSLACK, 1 as c_ulong);",
            ],
            // 29: PR_SET_TIMERSLACK of linux/prctl.h, for which Python has no name.
            (Setting::TimerSlack, Self::Python) => {
                &["import ctypes", "PR_SET_TIMERSLACK = 29", "ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1)"]
            }
            (Setting::TimerSlack, Self::Shell) => &["echo 1 > /proc/$$/timerslack_ns", "./my-program"],
            (Setting::Priority, Self::C) => &[
                "#include <sched.h>",
                "struct sched_param p = { .sched_priority = 80 };",
                "sched_setscheduler(0, SCHED_FIFO, &p);",
            ],
            (Setting::Priority, Self::Cpp) => &[
                "#include <sched.h>",
                "sched_param p{}; p.sched_priority = 80;",
                "sched_setscheduler(0, SCHED_FIFO, &p);",
            ],
            (Setting::Priority, Self::Rust) => &[
                "use libc::*;   // crate libc; in an unsafe block:",
                "let p = sched_param { sched_priority: 80 };",
                "sched_setscheduler(0, SCHED_FIFO, &p);",
            ],
            (Setting::Priority, Self::Python) => {
                &["import os", "p = os.sched_param(80)", "os.sched_setscheduler(0, os.SCHED_FIFO, p)"]
            }
            (Setting::Priority, Self::Shell) => &["chrt --fifo 80 ./my-program"],
        }
    }
}

/// A setting that the numbers say helps, as lines to copy into a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    setting: Setting,
    /// The lines for each language; languages that say the same stand together (`C, C++`).
    pub each: Vec<(String, &'static [&'static str])>,
}

impl Code {
    /// What the lines do, and what it takes, as the beginning of a sentence.
    pub fn about(&self) -> String {
        capitalised(self.setting.about())
    }
}

/// What helps by what the numbers say, in the languages of what was measured.
pub fn code(analysis: &Analysis) -> Vec<Code> {
    let mut all: Vec<Code> = Vec::new();
    for one in howlate_analyse::insights(analysis) {
        let (setting, conditions) = match &one {
            Insight::TimerSlack(slack) => (Setting::TimerSlack, &slack.conditions),
            Insight::Priority(priority) => (Setting::Priority, &priority.conditions),
            _ => continue,
        };
        let languages = languages(analysis, conditions);
        if !all.iter().any(|code| code.setting == setting) {
            all.push(Code { setting, each: each(setting, &languages) });
        }
    }
    all
}

fn languages(analysis: &Analysis, conditions: &[u32]) -> Vec<Language> {
    let mut languages: Vec<Language> = Vec::new();
    let conditions = conditions.iter().filter_map(|one| analysis.header.conditions.get(*one as usize));
    for language in conditions.flat_map(|one| Language::of(one.work.mechanism())) {
        if !languages.contains(language) {
            languages.push(*language);
        }
    }
    languages
}

fn each(setting: Setting, languages: &[Language]) -> Vec<(String, &'static [&'static str])> {
    let mut each: Vec<(String, &[&str])> = Vec::new();
    for language in languages {
        let lines = language.lines(setting);
        match each.iter_mut().find(|(_, known)| *known == lines) {
            Some((names, _)) => *names = format!("{names}, {}", language.name()),
            None => each.push((language.name().to_owned(), lines)),
        }
    }
    each
}

/// Columns before a line of code, its language among them.
const LABEL: usize = 7;

/// All of it for a terminal; empty where nothing helps by what the numbers say.
pub(crate) fn to_copy(analysis: &Analysis) -> String {
    let all = code(analysis);
    if all.is_empty() {
        return String::new();
    }
    let mut text = format!("{}\n", paint(HEADING, "To copy"));
    for code in all {
        text.push_str(&format!("  {}\n", paint(DIM, code.setting.about())));
        for (language, lines) in code.each {
            for (number, line) in lines.iter().enumerate() {
                let label = if number == 0 { language.as_str() } else { "" };
                text.push_str(&format!(
                    "  {}{}\n",
                    paint(DIM, format!("{label:<LABEL$}")),
                    paint(COMMAND, line)
                ));
            }
        }
    }
    text + "\n"
}
