//! Which settings are meant.

use std::str::FromStr;

use howlate_knobs::{Knob, State, all, named};
use howlate_model::{SettingScope, nearest};

/// Settings, by one of their names or by what they hold for.
#[derive(Clone, Copy)]
pub enum KnobSelection {
    /// Every setting that can be tried here.
    All,
    /// Those that hold for this.
    Of(SettingScope),
    /// One of them.
    One(&'static Knob),
}

impl KnobSelection {
    /// Whether it means this one. What turns nothing has to be named.
    pub fn means(self, knob: &Knob, state: &State) -> bool {
        match self {
            Self::One(one) => knob.name == one.name,
            Self::All => !state.turns_nothing(),
            Self::Of(scope) => knob.scope == scope && !state.turns_nothing(),
        }
    }

    /// Whether any that holds for `scope` may be meant.
    pub fn reaches(self, scope: SettingScope) -> bool {
        match self {
            Self::One(one) => one.scope == scope,
            Self::All => true,
            Self::Of(chosen) => chosen == scope,
        }
    }
}

impl FromStr for KnobSelection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text.trim(), named(text.trim())) {
            (_, Some(knob)) => Ok(Self::One(knob)),
            ("all", _) => Ok(Self::All),
            ("thread", _) => Ok(Self::Of(SettingScope::Thread)),
            ("machine", _) => Ok(Self::Of(SettingScope::Machine)),
            (unknown, None) => {
                let names = all().map(|knob| knob.name);
                let meant = nearest(unknown, names)
                    .map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
                Err(format!(
                    "there is no such setting{meant} `howlate tune --knobs all --dry-run` lists them"
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
        let Ok(KnobSelection::One(slack)) = "timer_slack".parse() else { panic!("it is one") };
        assert_eq!(slack.name, "timer_slack");
        let wrong = "timerslack".parse::<KnobSelection>().err().unwrap_or_default();
        assert!(wrong.contains("did you mean `timer_slack`?"), "{wrong}");
        let nothing = named(TunedKnobs::NOTHING).unwrap();
        let state = nothing.state(&Root::live());
        assert!(
            [KnobSelection::All, KnobSelection::Of(SettingScope::Thread)]
                .iter()
                .all(|one| !one.means(nothing, &state))
        );
        assert!(KnobSelection::One(nothing).means(nothing, &state));
    }
}
