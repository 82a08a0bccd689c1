//! Values that shells complete, for options whose parsers accept other values too.

use std::str::FromStr;

use clap::builder::{PathBufValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};
use howlate_model::{LoadKind, Notifier, Property, Runtime, Wait};
use howlate_report::{Chart, ChartTheme};
use howlate_system::settings::all;

use crate::built_in_plans;

/// A parser with example values for completion.
#[derive(Clone)]
pub(crate) struct Completable<P> {
    parser: P,
    values: fn() -> Vec<&'static str>,
}

impl<P: TypedValueParser> TypedValueParser for Completable<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Self::Value, Error> {
        self.parser.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.values)().into_iter().map(PossibleValue::new)))
    }
}

type Parser<T> = fn(&str) -> Result<T, <T as FromStr>::Err>;

/// The parser of `T`, with values for completion.
pub(crate) fn completable<T: FromStr>(values: fn() -> Vec<&'static str>) -> Completable<Parser<T>> {
    Completable { parser: T::from_str, values }
}

/// Parser of plan names and paths.
pub(crate) fn plan() -> Completable<PathBufValueParser> {
    Completable {
        parser: PathBufValueParser::new(),
        values: || built_in_plans::ALL.iter().map(|plan| plan.name).collect(),
    }
}

pub(crate) fn policies() -> Vec<&'static str> {
    vec!["other", "batch", "idle", "ext", "nice:-20", "fifo:80", "rr:80", "deadline:200us/1ms"]
}

pub(crate) fn loads() -> Vec<&'static str> {
    std::iter::once("idle").chain(LoadKind::BUILT_IN).collect()
}

pub(crate) fn waits() -> Vec<&'static str> {
    Wait::ALL.map(Wait::name).to_vec()
}

pub(crate) fn sleepers() -> Vec<&'static str> {
    waits().into_iter().chain(Runtime::ALL.map(Runtime::name)).collect()
}

pub(crate) fn notifiers() -> Vec<&'static str> {
    std::iter::once("all").chain(Notifier::ALL.map(Notifier::name)).collect()
}

pub(crate) fn properties() -> Vec<&'static str> {
    Property::choices().map(Property::name).collect()
}

pub(crate) fn charts() -> Vec<&'static str> {
    Chart::ALL.map(Chart::name).to_vec()
}

pub(crate) fn themes() -> Vec<&'static str> {
    ChartTheme::ALL.map(ChartTheme::name).to_vec()
}

pub(crate) fn tracers() -> Vec<&'static str> {
    vec!["auto", "bpf", "tracefs", "switches", "none"]
}

pub(crate) fn knobs() -> Vec<&'static str> {
    ["thread", "machine", "all"].into_iter().chain(all().map(|knob| knob.name)).collect()
}

pub(crate) fn kernels() -> Vec<&'static str> {
    vec![
        "host",
        "debian:standard",
        "debian:cloud",
        "debian:rt",
        "debian:stable",
        "debian:stable:rt",
        "debian:backports",
        "debian:backports:rt",
        "debian:testing",
        "debian:testing:rt",
        "debian:unstable",
        "debian:unstable:rt",
    ]
}

#[cfg(test)]
mod tests {
    use howlate_guest::KernelSpec;
    use howlate_model::{LoadList, Policy, Sleeper};
    use howlate_trace::Choice;

    use super::super::notify::NotifierChoice;
    use super::*;
    use howlate_tune::SettingSelection;

    #[track_caller]
    fn assert_parse<T: FromStr>(values: fn() -> Vec<&'static str>) {
        let refused: Vec<&str> = values().into_iter().filter(|value| value.parse::<T>().is_err()).collect();
        assert!(!values().is_empty() && refused.is_empty(), "{refused:?}");
    }

    #[test]
    fn what_a_shell_completes_is_taken() {
        assert_parse::<Policy>(policies);
        assert_parse::<LoadList>(loads);
        assert_parse::<Wait>(waits);
        assert_parse::<Sleeper>(sleepers);
        assert_parse::<NotifierChoice>(notifiers);
        assert_parse::<Property>(properties);
        assert_parse::<Chart>(charts);
        assert_parse::<ChartTheme>(themes);
        assert_parse::<Choice>(tracers);
        assert_parse::<SettingSelection>(knobs);
        assert_parse::<KernelSpec>(kernels);
    }
}
