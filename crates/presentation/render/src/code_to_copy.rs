//! Lines of code that change a setting of the thread that runs them, to be copied into a program.

use howlate_analyse::{Analysis, Insight};
use howlate_model::{FIFO_CODE, Language, Mechanism, Runtime, Snippets, TIMER_SLACK_CODE};

use crate::prose::capitalised;
use crate::style::{COMMAND, DIM, HEADING, paint};

/// What a program changes of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    TimerSlack,
    Priority,
}

impl Setting {
    const fn snippets(self) -> Snippets {
        match self {
            Self::TimerSlack => TIMER_SLACK_CODE,
            Self::Priority => FIFO_CODE,
        }
    }

    /// What it does, and what it takes.
    const fn about(self) -> &'static str {
        match self {
            Self::TimerSlack => "no timer slack, in each thread; needs no privileges",
            Self::Priority => "real-time priority in each thread (root or a raised limit)",
        }
    }
}

/// The languages to show to those who measured `mechanism`: its own, or those in which people call the kernel.
const fn languages_for(mechanism: Mechanism) -> &'static [Language] {
    match mechanism {
        Mechanism::Runtime(Runtime::Python) => &[Language::Python],
        Mechanism::Runtime(Runtime::C) => &[Language::C],
        Mechanism::Runtime(Runtime::Cpp) => &[Language::Cpp],
        Mechanism::Runtime(Runtime::Rust | Runtime::Tokio) => &[Language::Rust],
        Mechanism::Runtime(_) => &[Language::Shell],
        _ => &[Language::C, Language::Cpp, Language::Rust, Language::Python],
    }
}

/// A setting that the numbers say helps, as lines to copy into a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    setting: Setting,
    /// The lines for each language; languages that say the same stand together (`C, C++`).
    pub each: Vec<(String, Vec<String>)>,
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
    for language in conditions.flat_map(|one| languages_for(one.work.mechanism())) {
        if !languages.contains(language) {
            languages.push(*language);
        }
    }
    languages
}

fn each(setting: Setting, languages: &[Language]) -> Vec<(String, Vec<String>)> {
    let mut each: Vec<(String, Vec<String>)> = Vec::new();
    for language in languages {
        let lines = setting.snippets().for_language(*language).lines();
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
    let mut text = format!("{}\n", paint(HEADING, "Code"));
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
