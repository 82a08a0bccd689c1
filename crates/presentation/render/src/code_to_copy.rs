//! Code that changes a setting of the calling thread, to be copied into a program.

use howlate_analyse::{Analysis, Insight};
use howlate_model::{FIFO_CODE, Language, Mechanism, Runtime, Snippets, TIMER_SLACK_CODE};

use crate::prose::capitalised;
use crate::style::{COMMAND, DIM, HEADING, paint};

/// A setting that a program can change for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OwnSetting {
    TimerSlack,
    Priority,
}

impl OwnSetting {
    const fn snippets(self) -> Snippets {
        match self {
            Self::TimerSlack => TIMER_SLACK_CODE,
            Self::Priority => FIFO_CODE,
        }
    }

    /// Effect and requirements.
    const fn about(self) -> &'static str {
        match self {
            Self::TimerSlack => "no timer slack, in each thread; needs no privileges",
            Self::Priority => "real-time priority in each thread (root or a raised limit)",
        }
    }
}

/// Languages of the code for a measured mechanism: its own, or those that call the kernel directly.
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

/// Code for a setting that helped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    setting: OwnSetting,
    /// Lines per language; languages with the same lines share an entry (`C, C++`).
    pub each: Vec<(String, Vec<String>)>,
}

impl Code {
    /// Effect and requirements, as the beginning of a sentence.
    pub fn about(&self) -> String {
        capitalised(self.setting.about())
    }
}

/// Code for the settings that helped, in the languages of what was measured.
pub fn code(analysis: &Analysis) -> Vec<Code> {
    let mut all: Vec<Code> = Vec::new();
    for insight in howlate_analyse::insights(analysis) {
        let (setting, conditions) = match &insight {
            Insight::TimerSlack(slack) => (OwnSetting::TimerSlack, &slack.conditions),
            Insight::Priority(priority) => (OwnSetting::Priority, &priority.conditions),
            _ => continue,
        };
        let languages = languages(analysis, conditions);
        if !all.iter().any(|code| code.setting == setting) {
            all.push(Code { setting, each: entries(setting, &languages) });
        }
    }
    all
}

fn languages(analysis: &Analysis, conditions: &[u32]) -> Vec<Language> {
    let mut languages: Vec<Language> = Vec::new();
    let conditions = conditions.iter().filter_map(|index| analysis.header.conditions.get(*index as usize));
    for language in conditions.flat_map(|condition| languages_for(condition.work.mechanism())) {
        if !languages.contains(language) {
            languages.push(*language);
        }
    }
    languages
}

fn entries(setting: OwnSetting, languages: &[Language]) -> Vec<(String, Vec<String>)> {
    let mut entries: Vec<(String, Vec<String>)> = Vec::new();
    for language in languages {
        let lines = setting.snippets().for_language(*language).lines();
        match entries.iter_mut().find(|(_, existing)| *existing == lines) {
            Some((names, _)) => *names = format!("{names}, {}", language.name()),
            None => entries.push((language.name().to_owned(), lines)),
        }
    }
    entries
}

/// Width of the language column.
const LABEL: usize = 7;

/// The code for a terminal; empty if no setting helped.
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
