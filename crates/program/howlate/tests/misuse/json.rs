//! Every command that prints a result also prints it as JSON.

use crate::common::{commands, json, run, stdout};

/// Commands without JSON, and what they print instead.
const OTHERS: [(&str, &str); 6] = [
    ("completions", "a script for a shell"),
    ("man", "a manual page"),
    ("record", "a unit of systemd; what it records is read by show, why, top and report"),
    ("report", "a page, a picture or Markdown; the numbers are those of show"),
    ("fleet cancel", "nothing"),
    ("hwlatdetect", "what the original prints"),
];

/// A command or its subcommands: `fleet run`.
fn all_of(command: &str) -> Vec<String> {
    let help = stdout(&run(&[command, "--help"]));
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<_> =
        names.filter(|name| !matches!(*name, "" | "help")).map(|name| format!("{command} {name}")).collect();
    if names.is_empty() { vec![command.to_owned()] } else { names }
}

#[test]
fn every_command_that_prints_has_json() {
    let all: Vec<String> = commands().iter().flat_map(|command| all_of(command)).collect();
    assert!(all.len() > 30 && all.iter().any(|command| command == "fleet status"), "{all:?}");
    for command in &all {
        let arguments: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let help = stdout(&run(&arguments));
        let has = help.lines().any(|line| line.trim_start().starts_with("--json"));
        let other = OTHERS.iter().find(|(name, _)| name == command);
        assert_eq!(
            has,
            other.is_none(),
            "{command}: {}",
            other.map_or("--json is missing", |(_, what)| *what)
        );
    }
    for (name, _) in OTHERS {
        assert!(all.iter().any(|command| command == name), "{name} is no command");
    }
}

#[test]
fn the_length_of_a_plan_is_told_to_programs() {
    let document = json(&["plan-length", "max<100us: 1 per hour", "--json"], 0);
    assert_eq!(document["command"], "plan-length");
    assert_eq!((&document["period_ns"], &document["holds"][0]["exceeded"]), (&1_000_000.into(), &0.into()));
    assert_eq!(document["holds"][0]["time_ns"], document["least_ns"]);
    assert_eq!(document["to_type"], "howlate cyclic --until 'max<100us: 1 per hour'");
    let pairs = json(&["plan-length", "compare decided", "--json"], 0);
    assert!(pairs["pairs"].as_u64().is_some_and(|pairs| pairs > 0), "{pairs}");
}
