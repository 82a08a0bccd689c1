//! JSON schema of plan files, for editors, made from the parser's options; published as `docs/plan.schema.json`.

use clap::{Arg, ArgAction, CommandFactory};
use serde_json::{Map, Value, json};

use super::{COMMANDS, arguments_of, not_in_tables, options_of, run_options};
use howlate_cli::Cli;

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
    properties.extend(option_schemas("run", &run_options()));
    let mut tables = Map::new();
    for command in COMMANDS {
        // `[[tune]]` is `[[tune.cyclic]]`.
        let parsed_command = if command == "tune" { "tune cyclic" } else { command };
        tables.insert(command.to_owned(), table(parsed_command));
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

/// A table written `[sleep]` or `[[sleep]]`.
fn one_or_more(table: &Value) -> Value {
    json!({ "anyOf": [table, { "type": "array", "minItems": 1, "items": table }] })
}

/// `[[tune]]`, or `[[tune.cyclic]]` and the like.
fn tune() -> Value {
    let kinds = COMMANDS.iter().filter_map(|command| command.strip_prefix("tune "));
    let tables: Map<String, Value> = kinds
        .map(|kind| (kind.to_owned(), one_or_more(&json!({ "$ref": format!("#/$defs/tune {kind}") }))))
        .collect();
    json!({
        "anyOf": [
            one_or_more(&json!({ "$ref": "#/$defs/tune" })),
            { "type": "object", "minProperties": 1, "properties": tables, "additionalProperties": false },
        ]
    })
}

fn table(command: &str) -> Value {
    json!({
        "type": "object",
        "properties": option_schemas(command, &options_of(command)),
        "additionalProperties": false,
    })
}

/// Schemas of the options of a command, by name.
fn option_schemas(command: &str, names: &[String]) -> Map<String, Value> {
    let cli = Cli::command();
    let schema = |argument: &Arg| {
        let name = argument.get_long()?.to_owned();
        names.contains(&name).then(|| (name, option_schema(argument)))
    };
    arguments_of(&cli, command).filter_map(schema).collect()
}

fn option_schema(argument: &Arg) -> Value {
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let value_is_optional = argument.get_num_args().is_some_and(|number| number.min_values() == 0);
    let value = match argument.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse => json!({ "type": "boolean" }),
        ArgAction::Append => json!({ "$ref": "#/$defs/values" }),
        _ => json!({ "$ref": "#/$defs/value" }),
    };
    let is_flag = value["type"] == "boolean";
    match value_is_optional && !is_flag {
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

/// The schema has all options that the parser accepts.
#[test]
fn no_option_of_a_plan_is_missing() {
    let schema = schema();
    for command in COMMANDS {
        let parsed_command = if command == "tune" { "tune cyclic" } else { command };
        let properties = schema["$defs"][command]["properties"].as_object().unwrap();
        assert!(!properties.is_empty(), "{command}");
        assert_eq!(properties.len(), options_of(parsed_command).len(), "{command}");
        assert!(not_in_tables().iter().all(|name| !properties.contains_key(name)), "{command}");
    }
}
