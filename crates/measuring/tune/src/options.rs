//! Options of tuning: which settings are tried, for what goal, and for how long.

use std::str::FromStr;

use howlate_analyse::compare::Statistic;
use howlate_model::{SettingScope, Span, nearest};
use howlate_system::settings::{Tunable, TunableState, all, find};

/// How settings are tried.
#[derive(Clone)]
pub struct TuneOptions {
    /// The settings to try.
    pub knobs: Vec<SettingSelection>,
    /// The statistic to minimise.
    pub goal: Statistic,
    /// Time limit of all turns together.
    pub budget: Span,
    /// Try settings of the machine although a tuning daemon is running.
    pub beside_tuners: bool,
}

/// How settings are tried on a user's program.
#[derive(Clone)]
pub struct ProgramOptions {
    /// Names of the threads to measure; empty: all.
    pub threads: Vec<String>,
    /// Include threads of child processes.
    pub follow: bool,
    /// Length of a turn; `None`: as long as the goal needs.
    pub turn: Option<Span>,
    pub options: TuneOptions,
}

/// Settings to try, by name or by scope.
#[derive(Clone, Copy)]
pub enum SettingSelection {
    All,
    Scope(SettingScope),
    Named(&'static Tunable),
}

impl SettingSelection {
    /// Whether it includes this setting. The one that changes nothing must be named.
    pub fn includes(self, setting: &Tunable, state: &TunableState) -> bool {
        match self {
            Self::Named(tunable) => setting.name == tunable.name,
            Self::All => !state.changes_nothing(),
            Self::Scope(scope) => setting.scope == scope && !state.changes_nothing(),
        }
    }

    /// Whether it can include settings of `scope`.
    pub fn may_include(self, scope: SettingScope) -> bool {
        match self {
            Self::Named(tunable) => tunable.scope == scope,
            Self::All => true,
            Self::Scope(selected) => selected == scope,
        }
    }
}

impl FromStr for SettingSelection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text.trim(), find(text.trim())) {
            (_, Some(tunable)) => Ok(Self::Named(tunable)),
            ("all", _) => Ok(Self::All),
            ("thread", _) => Ok(Self::Scope(SettingScope::Thread)),
            ("machine", _) => Ok(Self::Scope(SettingScope::Machine)),
            (unknown, None) => {
                let names = all().map(|tunable| tunable.name);
                let suggestion = nearest(unknown, names)
                    .map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
                Err(format!(
                    "there is no such setting{suggestion} `howlate tune --knobs all --dry-run` lists them"
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::TunedKnobs;
    use howlate_procfs::Root;

    use super::*;

    #[test]
    fn names_are_known_and_nothing_has_to_be_named() {
        let Ok(SettingSelection::Named(slack)) = "timer_slack".parse() else { panic!("it is one") };
        assert_eq!(slack.name, "timer_slack");
        let wrong = "timerslack".parse::<SettingSelection>().err().unwrap_or_default();
        assert!(wrong.contains("did you mean `timer_slack`?"), "{wrong}");
        let nothing = find(TunedKnobs::NOTHING).unwrap();
        let state = nothing.state(&Root::live());
        assert!(
            [SettingSelection::All, SettingSelection::Scope(SettingScope::Thread)]
                .iter()
                .all(|selection| !selection.includes(nothing, &state))
        );
        assert!(SettingSelection::Named(nothing).includes(nothing, &state));
    }
}
