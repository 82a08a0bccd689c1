//! A plan file as JSON schema, for editors: made of the options that the parser knows, and published as `docs/plan.schema.json`.

use clap::{Arg, ArgAction, CommandFactory};
use serde_json::{Map, Value, json};

use super::{COMMANDS, not_in_tables, options_of};
use howlate_cli::{Cli, TracingArgs, WholeRunArgs, option_names};

/// All of it.
fn schema() -> Value {
    let mut properties = Map::from_iter([
        (
            "about".to_owned(),
            json!({ "type": "string", "description": "What the experiment is about, in a sentence" }),
        ),
        (
            "include".to_owned(),
            json!({ "$ref": "#/$defs/texts", "description": "Other plans, which are measured as well" }),
        ),
        (
            "system".to_owned(),
            json!({ "$ref": "#/$defs/settings", "description": "Settings of the machine during the run" }),
        ),
    ]);
    properties
        .extend(of_options("run", &[option_names::<WholeRunArgs>(), option_names::<TracingArgs>()].concat()));
    let mut tables = Map::new();
    for command in COMMANDS {
        // `[[tune]]` is `[[tune.cyclic]]`.
        let of = if command == "tune" { "tune cyclic" } else { command };
        tables.insert(command.to_owned(), table(of));
        let reference = json!({ "$ref": format!("#/$defs/{command}") });
        if !command.contains(' ') && command != "tune" {
            properties.insert(command.to_owned(), one_or_more(&reference));
        }
    }
    properties.insert("tune".to_owned(), tune());
    let mut definitions = definitions();
    definitions.extend(tables);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A plan of howlate",
        "description": "Each table is a measuring command, and its keys are the command's options without `--`.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "$defs": definitions,
    })
}

fn definitions() -> Map<String, Value> {
    let scalar = json!({ "type": ["string", "integer"] });
    Map::from_iter([
        ("value".to_owned(), scalar.clone()),
        (
            "values".to_owned(),
            json!({ "anyOf": [scalar, { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/value" } }] }),
        ),
        (
            "texts".to_owned(),
            json!({ "anyOf": [{ "type": "string" }, { "type": "array", "minItems": 1, "items": { "type": "string" } }] }),
        ),
        (
            "settings".to_owned(),
            json!({
                "type": "object",
                "additionalProperties": {
                    "anyOf": [{ "type": ["string", "integer", "boolean"] }, { "$ref": "#/$defs/settings" }]
                },
            }),
        ),
    ])
}

/// `[sleep]` or `[[sleep]]`.
fn one_or_more(table: &Value) -> Value {
    json!({ "anyOf": [table, { "type": "array", "minItems": 1, "items": table }] })
}

/// `[[tune]]`, or tables within it.
fn tune() -> Value {
    let kinds = COMMANDS.iter().filter_map(|command| command.strip_prefix("tune "));
    let within: Map<String, Value> = kinds
        .map(|kind| (kind.to_owned(), one_or_more(&json!({ "$ref": format!("#/$defs/tune {kind}") }))))
        .collect();
    json!({
        "anyOf": [
            one_or_more(&json!({ "$ref": "#/$defs/tune" })),
            { "type": "object", "minProperties": 1, "properties": within, "additionalProperties": false },
        ]
    })
}

fn table(command: &str) -> Value {
    json!({
        "type": "object",
        "properties": of_options(command, &options_of(command)),
        "additionalProperties": false,
    })
}

/// Options of a command by name.
fn of_options(command: &str, names: &[String]) -> Map<String, Value> {
    let cli = Cli::command();
    let found = command.split(' ').try_fold(&cli, |within, word| within.find_subcommand(word));
    let arguments = found.into_iter().flat_map(clap::Command::get_arguments);
    let of = |argument: &Arg| {
        let name = argument.get_long()?.to_owned();
        names.contains(&name).then(|| (name, option(argument)))
    };
    arguments.filter_map(of).collect()
}

fn option(argument: &Arg) -> Value {
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let takes_none = argument.get_num_args().is_some_and(|number| number.min_values() == 0);
    let value = match argument.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse => json!({ "type": "boolean" }),
        ArgAction::Append => json!({ "$ref": "#/$defs/values" }),
        _ => json!({ "$ref": "#/$defs/value" }),
    };
    let is_flag = value["type"] == "boolean";
    match takes_none && !is_flag {
        true => json!({ "anyOf": [value, { "type": "boolean" }], "description": help }),
        false => {
            let mut value = value;
            value["description"] = json!(help);
            value
        }
    }
}

#[test]
fn the_published_schema_is_that_of_the_parser() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/plan.schema.json");
    let now = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("HOWLATE_UPDATE").is_some() {
        std::fs::write(path, &now).unwrap();
    }
    let published = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        now == published,
        "run HOWLATE_UPDATE=1 cargo test -p howlate --bin howlate schema, then read the difference"
    );
}

/// What the schema has of options is what the parser takes, of every command.
#[test]
fn no_option_of_a_plan_is_missing() {
    let schema = schema();
    for command in COMMANDS {
        let of = if command == "tune" { "tune cyclic" } else { command };
        let known = schema["$defs"][command]["properties"].as_object().unwrap();
        assert!(!known.is_empty(), "{command}");
        assert_eq!(known.len(), options_of(of).len(), "{command}");
        assert!(not_in_tables().iter().all(|name| !known.contains_key(name)), "{command}");
    }
}
