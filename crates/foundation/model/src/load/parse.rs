//! Loads from text: `LOAD[,LOAD]…`, `LOAD` = `PART[+PART]…`, `PART` = `NAME[:PARAMETER]…`.

use std::str::FromStr;

use super::kind::FROM_OUTSIDE;
use super::quote::take_word;
use super::{Hackbench, Intensity, Load, LoadKind, LoadPart};
use crate::{CpuSet, nearest};

/// Why a text is not a load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// There is no such load.
    #[error(
        "`{found}` is not a load; {}choose from idle, {}, {}",
        nearest.as_ref().map_or_else(String::new, |name| format!("did you mean `{name}`? Or ")),
        LoadKind::BUILT_IN.join(", "),
        FROM_OUTSIDE.join(", ")
    )]
    Unknown {
        /// What was typed.
        found: String,
        /// The most similar load name, if any.
        nearest: Option<String>,
    },
    /// The load does not take this parameter.
    #[error("the load `{load}` does not take `{found}`; {expected}")]
    Parameter {
        /// The load's name.
        load: String,
        /// What was typed.
        found: String,
        /// Parameters that it takes.
        expected: String,
    },
    /// A quote is opened and not closed.
    #[error(
        "a quote is left open in `{found}`; write `cmd:'COMMAND'`, the whole in double quotes for the shell"
    )]
    OpenQuote {
        /// What was typed.
        found: String,
    },
}

/// A comma-separated list of loads. Commas in quotes do not separate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadList(pub Vec<Load>);

impl FromStr for LoadList {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let mut rest = text;
        let mut loads = vec![take_load(&mut rest, text)?];
        while let Some(more) = rest.strip_prefix(',') {
            rest = more;
            loads.push(take_load(&mut rest, text)?);
        }
        Ok(Self(loads))
    }
}

impl FromStr for Load {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        match LoadList::from_str(text)?.0.as_slice() {
            [load] => Ok(load.clone()),
            _ => Err(LoadError::Unknown { found: text.to_owned(), nearest: None }),
        }
    }
}

impl TryFrom<String> for Load {
    type Error = LoadError;

    fn try_from(text: String) -> Result<Self, LoadError> {
        text.parse()
    }
}

/// Parses one load from the front of `rest`, the unparsed end of `whole`.
fn take_load(rest: &mut &str, whole: &str) -> Result<Load, LoadError> {
    let mut parts = Vec::new();
    loop {
        let fields = take_fields(rest, whole)?;
        let (name, parameters) = (fields[0].as_str(), &fields[1..]);
        if name == "idle" {
            check_idle(parts.is_empty(), parameters, rest)?;
            return Ok(Load::IDLE);
        }
        parts.push(part(name, parameters)?);
        match rest.strip_prefix('+') {
            Some(more) => *rest = more,
            None => return Ok(Load::from_parts(parts)),
        }
    }
}

fn check_idle(alone: bool, parameters: &[String], rest: &str) -> Result<(), LoadError> {
    let found =
        parameters.first().cloned().or_else(|| (!alone || rest.starts_with('+')).then(|| "+".to_owned()));
    found.map_or(Ok(()), |found| Err(wrong("idle", &found, "it is the absence of a load and stands alone")))
}

/// Splits off one part: its name, then its parameters. Never empty.
fn take_fields(rest: &mut &str, whole: &str) -> Result<Vec<String>, LoadError> {
    let open = || LoadError::OpenQuote { found: whole.to_owned() };
    let mut fields = vec![take_word(rest).ok_or_else(open)?.trim().to_owned()];
    while let Some(more) = rest.strip_prefix(':') {
        *rest = more;
        let is_text = ["cmd", "hackbench-program"].contains(&fields[0].as_str());
        if is_text && fields.len() == 1 && !rest.starts_with('\'') {
            // The shell has removed the quotes: the rest is the command.
            fields.push(std::mem::take(rest).trim().to_owned());
        } else {
            fields.push(take_word(rest).ok_or_else(open)?);
        }
    }
    Ok(fields)
}

fn part(name: &str, parameters: &[String]) -> Result<LoadPart, LoadError> {
    let (kind, used) = kind(name, parameters)?;
    let mut part = LoadPart::new(kind);
    for parameter in &parameters[used..] {
        set(&mut part, parameter)?;
    }
    Ok(part)
}

/// The kind of load, and the number of parameters that belong to it.
fn kind(name: &str, parameters: &[String]) -> Result<(LoadKind, usize), LoadError> {
    let first = parameters.first().cloned();
    let needed = |expected: &str| {
        first.clone().filter(|text| !text.is_empty()).ok_or_else(|| wrong(name, "", expected))
    };
    Ok(match name {
        "cpu" => (LoadKind::Cpu, 0),
        "pipe" => (LoadKind::Pipe, 0),
        "interrupt" => (LoadKind::Interrupt, 0),
        "hackbench" => (LoadKind::Hackbench(Hackbench::default()), 0),
        "memory" => (LoadKind::Memory, 0),
        "disk" => (LoadKind::Disk { folder: None }, 0),
        "files" => (LoadKind::Files { folder: None }, 0),
        "network" => (LoadKind::Network, 0),
        "fork" => (LoadKind::Fork, 0),
        "timers" => (LoadKind::Timers, 0),
        "awake" => (LoadKind::Awake, 0),
        "stress-ng" => {
            (LoadKind::StressNg { name: needed("name a stressor or a class, as in `stress-ng:pipe`")? }, 1)
        }
        "hackbench-program" => {
            (LoadKind::HackbenchProgram { options: first.unwrap_or_default() }, parameters.len().min(1))
        }
        "cmd" => {
            (LoadKind::Command { command: needed("write the command, as in `cmd:'ping -f localhost'`")? }, 1)
        }
        _ => return Err(unknown(name)),
    })
}

/// Applies one parameter.
fn set(part: &mut LoadPart, parameter: &str) -> Result<(), LoadError> {
    let (name, help) = (part.kind.name(), parameter_help(&part.kind));
    let refused = || wrong(name, parameter, &help);
    let number =
        |text: &str, most: u32| text.parse().ok().filter(|n| (1..=most).contains(n)).ok_or_else(refused);
    let percent = parameter.strip_suffix('%').filter(|_| !is_path(parameter));
    if let (Some(percent), false) = (percent, part.kind.is_from_outside()) {
        part.intensity = percent.parse().ok().and_then(Intensity::new).ok_or_else(refused)?;
        return Ok(());
    }
    match (parameter.split_once('='), &mut part.kind) {
        (Some(("workers", count)), kind) if takes_workers(kind) => {
            part.workers = Some(number(count, MOST_WORKERS)?);
        }
        (Some(("cpus", list)), _) => {
            part.cpus = Some(list.parse().ok().filter(|cpus: &CpuSet| !cpus.is_empty()).ok_or_else(refused)?);
        }
        (Some(("groups", count)), LoadKind::Hackbench(_)) => {
            let groups = number(count, MOST_GROUPS)?;
            change_hackbench(part, |size| size.groups = groups);
        }
        (Some(("loops", count)), LoadKind::Hackbench(_)) => {
            let loops = u64::from(number(count, u32::MAX)?);
            change_hackbench(part, |size| size.loops = Some(loops));
        }
        (_, LoadKind::Disk { folder } | LoadKind::Files { folder }) if is_path(parameter) => {
            *folder = Some(parameter.to_owned());
        }
        _ => return Err(refused()),
    }
    Ok(())
}

fn is_path(parameter: &str) -> bool {
    parameter.starts_with(['/', '.'])
}

fn change_hackbench(part: &mut LoadPart, change: impl FnOnce(&mut Hackbench)) {
    if let LoadKind::Hackbench(size) = &mut part.kind {
        change(size);
    }
}

/// Maximum number of workers; each group of hackbench is 40 processes.
const MOST_WORKERS: u32 = 1_000;
const MOST_GROUPS: u32 = 100;

const fn takes_workers(kind: &LoadKind) -> bool {
    !matches!(kind, LoadKind::Hackbench(_) | LoadKind::HackbenchProgram { .. } | LoadKind::Command { .. })
}

/// Help on the parameters of a kind of load.
fn parameter_help(kind: &LoadKind) -> String {
    let workers = format!("`workers=N` (1 to {MOST_WORKERS}) or `cpus=LIST`");
    match kind {
        LoadKind::Hackbench(_) => {
            format!(
                "write an intensity such as `50%`, `groups=N` (1 to {MOST_GROUPS}), `loops=N` or `cpus=LIST`"
            )
        }
        LoadKind::Disk { .. } | LoadKind::Files { .. } => {
            format!("write an intensity such as `50%`, a folder that begins with `/` or `.`, {workers}")
        }
        LoadKind::StressNg { .. } => format!("after the name, write {workers}"),
        LoadKind::HackbenchProgram { .. } | LoadKind::Command { .. } => {
            "put the command in quotes; after them only `cpus=LIST` may follow".to_owned()
        }
        _ => format!("write an intensity such as `50%` (1 to 100), {workers}"),
    }
}

fn wrong(load: &str, found: &str, expected: &str) -> LoadError {
    LoadError::Parameter { load: load.to_owned(), found: found.to_owned(), expected: expected.to_owned() }
}

fn unknown(name: &str) -> LoadError {
    let names = ["idle"].into_iter().chain(LoadKind::BUILT_IN).chain(FROM_OUTSIDE);
    LoadError::Unknown { found: name.to_owned(), nearest: nearest(name, names).map(str::to_owned) }
}
